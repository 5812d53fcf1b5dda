//! Runs a process beside the command for a client.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use lazaret_protocol::PORTER_PATH;
use lazaret_runtime::{EnvName, Process, ProcessControl, Stdin, Terminal, WhenAbandoned};

use super::answer::{refuse, refused, reply};
use super::frame::{Channel, Frame, Kind};
use super::hub::Hub;
use super::live::{Beside, LiveContainer};
use super::message::{Accepted, Exec, Exit, RefusalCode, Refused, Reply, Role, Signal, Size};
use super::standing::Standing;
use super::streams::{CHUNKS, LOST, Release, Scrubbing, copy, end, send, write_stdin};

/// Starts the process, and carries its streams until it has ended or the client is gone.
pub(super) fn serve(
    stream: &UnixStream,
    hub: &Arc<Hub>,
    live: &LiveContainer,
    standing: &Standing,
    exec: Exec,
) -> io::Result<()> {
    let role = exec.role;
    let beside = match beside(exec) {
        Ok(beside) => beside,
        Err(no) => return refuse(stream, no),
    };
    if let Err(no) = hub.exec_begins(role) {
        return refuse(stream, no);
    }
    let _counted = Counted { hub, role };
    let turn = match role {
        Role::Turn | Role::StandingTurn => match Turn::begin(hub) {
            Ok(turn) => Some(turn),
            Err(no) => return refuse(stream, no),
        },
        Role::Any | Role::Porter => None,
    };
    if role == Role::StandingTurn {
        return standing.serve(stream, live, beside);
    }
    let (terminal, when_abandoned) = (beside.terminal, beside.when_abandoned);
    let process = match live.spawn(beside) {
        Ok(process) => process,
        Err(error) => {
            let text = error.to_string();
            return refuse(stream, refused(RefusalCode::Engine, text));
        }
    };
    let accepted = Accepted {
        terminal: terminal != Terminal::None,
        ..Accepted::default()
    };
    reply(stream, Reply::Ok(accepted))?;
    let code = carry(
        stream,
        process,
        when_abandoned,
        Scrubbing {
            release: match terminal {
                Terminal::None => Release::WhenSure,
                Terminal::Allocated(_) => Release::AfterEachChunk,
            },
            patterns: match role {
                Role::Porter => None,
                Role::Any | Role::Turn | Role::StandingTurn => live.patterns.clone(),
            },
        },
        turn,
    )?;
    Frame::json(Kind::Exit, &Exit::of_process(code))?.write_to(&mut &*stream)
}

/// Counts the process, for as long as it is served.
struct Counted<'a> {
    hub: &'a Hub,
    role: Role,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.hub.exec_ended(self.role);
    }
}

/// A turn, which lasts until its process has ended, whether its client is there or not.
struct Turn {
    hub: Arc<Hub>,
    has_ended: AtomicBool,
}

impl Turn {
    fn begin(hub: &Arc<Hub>) -> Result<Arc<Self>, Refused> {
        hub.turn_begins()?;
        Ok(Arc::new(Self {
            hub: Arc::clone(hub),
            has_ended: AtomicBool::new(false),
        }))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.hub.turn_ended();
    }
}

fn beside(exec: Exec) -> Result<Beside, Refused> {
    let invalid = |text: &str| refused(RefusalCode::Invalid, text.to_owned());
    if exec.argv.first().is_none_or(String::is_empty) {
        return Err(invalid("no command"));
    }
    // Its output is shown as it is.
    if exec.role == Role::Porter && exec.argv.first().is_none_or(|word| word != PORTER_PATH) {
        return Err(invalid("this is no porter"));
    }
    let mut env = BTreeMap::new();
    for (name, value) in exec.env {
        let name: EnvName = name
            .parse()
            .map_err(|_| invalid("a variable has no valid name"))?;
        env.insert(name, value);
    }
    Ok(Beside {
        argv: exec.argv,
        env,
        workdir: exec.workdir,
        stdin: match exec.stdin {
            true => Stdin::Piped,
            false => Stdin::Closed,
        },
        terminal: match exec.terminal {
            Some(size) => Terminal::Allocated(size.into()),
            None => Terminal::None,
        },
        when_abandoned: match exec.leave {
            true => WhenAbandoned::Leave,
            false => WhenAbandoned::End,
        },
    })
}

/// Carries the streams. Returns the exit code.
fn carry(
    stream: &UnixStream,
    process: Process,
    when_abandoned: WhenAbandoned,
    scrubbing: Scrubbing,
    turn: Option<Arc<Turn>>,
) -> io::Result<u8> {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = process;
    let control: Arc<dyn ProcessControl> = Arc::from(control);
    // Only as long as the client is there: what is let go of ends.
    let known = Arc::downgrade(&control);
    let out = Arc::new(Mutex::new(stream.try_clone()?));
    let input = stream.try_clone()?;
    // It ends with the connection.
    let heard = turn.clone();
    thread::spawn(move || hear(&input, stdin, &*control, when_abandoned, heard));
    let copy = |from: Box<dyn Read + Send>, channel| {
        let (out, scrubbing) = (Arc::clone(&out), scrubbing.clone());
        thread::spawn(move || {
            copy(from, scrubbing, |bytes| {
                let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                Frame::data(channel, bytes).try_for_each(|frame| frame.write_to(&mut *out))
            })
        })
    };
    let errors = copy(stderr, Channel::Stderr);
    let output = copy(stdout, Channel::Stdout);
    let broken = || io::Error::other("a stream broke off");
    let copied = [output.join(), errors.join()];
    let has_failed = copied.iter().any(|copied| !matches!(copied, Ok(Ok(()))));
    if has_failed && turn.is_none() {
        for copied in copied {
            copied.map_err(|_| broken())??;
        }
    }
    // Also of a turn without a client: the next one waits for its end.
    let code = known.upgrade().and_then(|control| control.wait().ok());
    if let Some(turn) = &turn {
        turn.has_ended.store(true, Ordering::SeqCst);
    }
    let code = code.and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(LOST))
}

/// Passes on what the client sends, until it is gone. A process that does not read its stdin holds
/// neither signals up for long, nor the client's end.
fn hear(
    mut stream: &UnixStream,
    stdin: Option<Box<dyn Write + Send>>,
    control: &dyn ProcessControl,
    when_abandoned: WhenAbandoned,
    turn: Option<Arc<Turn>>,
) {
    let (feed, chunks) = mpsc::sync_channel::<Vec<u8>>(CHUNKS);
    let mut feed = Some(feed);
    let writing = thread::spawn(move || write_stdin(stdin, &chunks));
    while let Ok(Some(frame)) = Frame::read_from(&mut stream) {
        match (frame.kind, frame.channel) {
            (Kind::Data, Channel::Stdin) => {
                if let Some(feed) = &feed
                    && !send(feed, frame.payload, stream)
                {
                    break;
                }
            }
            (Kind::Eof, _) => feed = None,
            (Kind::Signal, _) => {
                if let Ok(Signal { n }) = frame.parse() {
                    let _ended = control.signal(n);
                }
            }
            (Kind::Resize, _) => {
                if let Ok(size) = frame.parse::<Size>() {
                    // One that has just ended has no terminal any more.
                    let _ended = control.resize(size.into());
                }
            }
            _ => break,
        }
    }
    drop(feed);
    if let Some(turn) = turn {
        end(control, || turn.has_ended.load(Ordering::SeqCst));
    } else if when_abandoned == WhenAbandoned::End {
        end(control, || writing.is_finished());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_porter_runs_as_one() {
        let exec = |program: &str, role| Exec {
            argv: vec![program.to_owned()],
            env: BTreeMap::new(),
            workdir: None,
            terminal: None,
            stdin: false,
            leave: false,
            role,
        };
        assert!(beside(exec(PORTER_PATH, Role::Porter)).is_ok());
        assert!(beside(exec("sh", Role::Any)).is_ok());
        let refused = beside(exec("sh", Role::Porter)).err();
        assert_eq!(refused.map(|no| no.code), Some(RefusalCode::Invalid));
    }
}

//! Runs a process beside the command for a client.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_egress::{Patterns, Scrubber};
use lazaret_runtime::{EnvName, Process, ProcessControl, Stdin, Terminal, WhenAbandoned};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::answer::{refuse, refused, reply};
use super::frame::{Channel, Frame, Kind};
use super::hub::Hub;
use super::live::{Beside, LiveContainer};
use super::message::{Accepted, Exec, Exit, RefusalCode, Refused, Reply, Signal, Size};
use crate::engine::signal::{SIGHUP, SIGKILL, SIGTERM};

/// The code of a process that was lost.
const LOST: u8 = 125;

/// Starts the process, and carries its streams until it has ended or the client is gone.
pub(super) fn serve(
    stream: &UnixStream,
    hub: &Arc<Hub>,
    live: &LiveContainer,
    exec: Exec,
) -> io::Result<()> {
    let is_turn = exec.turn;
    let beside = match beside(exec) {
        Ok(beside) => beside,
        Err(no) => return refuse(stream, no),
    };
    if let Err(no) = hub.exec_begins() {
        return refuse(stream, no);
    }
    let _counted = Counted(hub);
    let turn = match is_turn {
        true => match Turn::begin(hub) {
            Ok(turn) => Some(turn),
            Err(no) => return refuse(stream, no),
        },
        false => None,
    };
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
            terminal,
            patterns: live.patterns.clone(),
        },
        turn,
    )?;
    Frame::json(Kind::Exit, &Exit::of_process(code))?.write_to(&mut &*stream)
}

/// Counts the process, for as long as it is served.
struct Counted<'a>(&'a Hub);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.exec_ended();
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

/// What may not be printed, and whether it is printed on a terminal, where each key is seen at once:
/// a secret that comes in pieces is not found there.
#[derive(Debug, Clone)]
struct Scrubbing {
    terminal: Terminal,
    patterns: Option<Patterns>,
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
        thread::spawn(move || copy(from, channel, &out, scrubbing))
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

/// Chunks that wait for a process to read its stdin.
const CHUNKS: usize = 16;

/// Between two looks at a process that does not read, or does not end.
const TICK: Duration = Duration::from_millis(50);

/// Writes what comes to the process, and then the end of its stdin.
fn write_stdin(mut stdin: Option<Box<dyn Write + Send>>, chunks: &Receiver<Vec<u8>>) {
    for chunk in chunks {
        let written =
            (stdin.as_mut()).map(|stdin| stdin.write_all(&chunk).and_then(|()| stdin.flush()));
        if matches!(written, Some(Err(_))) {
            stdin = None;
        }
    }
}

/// Waits until a chunk can be passed on. Returns false if the client is gone meanwhile.
fn send(feed: &SyncSender<Vec<u8>>, mut chunk: Vec<u8>, stream: &UnixStream) -> bool {
    loop {
        match feed.try_send(chunk) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => return true,
            Err(TrySendError::Full(back)) => chunk = back,
        }
        let mut hang_up = [PollFd::new(stream, PollFlags::empty())];
        let limit = Timespec::try_from(TICK).ok();
        if matches!(poll(&mut hang_up, limit.as_ref()), Ok(1..)) {
            return false;
        }
    }
}

/// Ends a process that was not let go of, as its stdin is still being written or its end is waited
/// for.
fn end(control: &dyn ProcessControl, has_ended: impl Fn() -> bool) {
    /// How long it has for each signal.
    const PATIENCE: Duration = Duration::from_secs(5);
    for signal in [SIGHUP, SIGTERM, SIGKILL] {
        if has_ended() {
            return;
        }
        let _ended = control.signal(signal);
        let until = Instant::now() + PATIENCE;
        while !has_ended() && Instant::now() < until {
            thread::sleep(TICK);
        }
    }
}

fn copy(
    mut from: Box<dyn Read + Send>,
    channel: Channel,
    out: &Mutex<UnixStream>,
    scrubbing: Scrubbing,
) -> io::Result<()> {
    let mut scrubber = scrubbing.patterns.map(Scrubber::new);
    let mut buffer = vec![0; 32 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        let mut clean = Vec::new();
        match (&mut scrubber, count) {
            (None, _) => clean.extend(chunk),
            (Some(scrubber), 0) => scrubber.finish(&mut clean),
            (Some(scrubber), _) => {
                scrubber.push(chunk, &mut clean);
                if scrubbing.terminal != Terminal::None {
                    scrubber.finish(&mut clean);
                }
            }
        }
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        for frame in Frame::data(channel, &clean) {
            frame.write_to(&mut *out)?;
        }
        if count == 0 {
            return Ok(());
        }
    }
}

//! `Standing`: a process beside the command that answers one turn after the other.
//!
//! The first turn starts it. A turn ends when its client says so, and the process goes on; what it
//! prints between two turns goes nowhere. If a client goes without that word, the process may still
//! be at work on its request: it is ended, and the next turn starts another one. So no turn gets the
//! answer to an earlier one.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use lazaret_runtime::{EngineError, Process, ProcessControl};

use super::answer::{refuse, refused, reply};
use super::frame::{Channel, Frame, Kind};
use super::live::{Beside, LiveContainer};
use super::message::{Accepted, Exit, RefusalCode, Reply, Signal};
use super::streams::{CHUNKS, LOST, Release, Scrubbing, copy, end, send, write_stdin};

/// The place of the process. A turn has it to itself.
#[derive(Debug, Default)]
pub(super) struct Standing(Mutex<Option<Arc<Stands>>>);

impl Standing {
    /// Takes a turn of the process, which is started if it is not there, or is another one.
    pub(super) fn serve(
        &self,
        stream: &UnixStream,
        live: &LiveContainer,
        beside: Beside,
    ) -> io::Result<()> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = place.take();
        let same = known.filter(|stands| {
            let is_same = stands.argv == beside.argv;
            if !is_same {
                stands.end();
            }
            is_same
        });
        let stands = match same {
            Some(stands) if stands.begin_turn(stream)? => stands,
            _ => match Stands::start(stream, live, beside)? {
                Some(stands) => stands,
                None => return Ok(()),
            },
        };
        let ended = stands.hear(stream);
        // A client that reads no more may hold up what is printed.
        let _gone = stream.shutdown(Shutdown::Both);
        match ended {
            TurnEnd::Answered => {
                stands.printed().client = None;
                *place = Some(stands);
            }
            TurnEnd::Gone => stands.end(),
        }
        Ok(())
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEnd {
    /// The client has its answer.
    Answered,
    /// The client is gone without one.
    Gone,
}

/// The process.
struct Stands {
    argv: Vec<String>,
    /// What it was started with, beside the command's variables.
    env: BTreeMap<String, String>,
    control: Box<dyn ProcessControl>,
    /// What it reads.
    feed: SyncSender<Vec<u8>>,
    printed: Mutex<Printed>,
}

impl std::fmt::Debug for Stands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stands")
            .field("argv", &self.argv)
            .finish_non_exhaustive()
    }
}

/// Where it goes what the process prints.
#[derive(Debug, Default)]
struct Printed {
    /// The client whose turn it is.
    client: Option<UnixStream>,
    /// How the process ended.
    code: Option<u8>,
}

impl Stands {
    /// Starts it for a first turn. Returns `None` if the client was told that it can't be.
    fn start(
        stream: &UnixStream,
        live: &LiveContainer,
        beside: Beside,
    ) -> io::Result<Option<Arc<Self>>> {
        let argv = beside.argv.clone();
        let env = beside.env.iter();
        let env = env.map(|(name, value)| (name.to_string(), value.clone()));
        let env = env.collect();
        let process: Result<Process, EngineError> = live.spawn(beside);
        let process = match process {
            Ok(process) => process,
            Err(error) => {
                refuse(stream, refused(RefusalCode::Engine, error.to_string()))?;
                return Ok(None);
            }
        };
        let (feed, chunks) = mpsc::sync_channel(CHUNKS);
        let stdin = process.stdin;
        thread::spawn(move || write_stdin(stdin, &chunks));
        let stands = Arc::new(Self {
            argv,
            env,
            control: process.control,
            feed,
            printed: Mutex::default(),
        });
        stands.begin_turn(stream)?;
        let scrubbing = Scrubbing {
            release: Release::AfterEachLine,
            patterns: live.patterns.clone(),
        };
        let copying = [
            (process.stdout, Channel::Stdout),
            (process.stderr, Channel::Stderr),
        ]
        .map(|(from, channel)| {
            let (stands, scrubbing) = (Arc::clone(&stands), scrubbing.clone());
            thread::spawn(move || {
                copy(from, scrubbing, |bytes| {
                    stands.print(channel, bytes);
                    Ok(())
                })
            })
        });
        let ending = Arc::clone(&stands);
        thread::spawn(move || {
            let _broken = copying.map(thread::JoinHandle::join);
            let code = ending.control.wait().ok();
            let code = code.and_then(|code| u8::try_from(code).ok());
            ending.ended(code.unwrap_or(LOST));
        });
        Ok(Some(stands))
    }

    fn printed(&self) -> MutexGuard<'_, Printed> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a turn of a client. Returns false if the process has ended.
    fn begin_turn(&self, stream: &UnixStream) -> io::Result<bool> {
        let mut printed = self.printed();
        if printed.code.is_some() {
            return Ok(false);
        }
        let accepted = Accepted {
            env: self.env.clone(),
            ..Accepted::default()
        };
        reply(stream, Reply::Ok(accepted))?;
        printed.client = Some(stream.try_clone()?);
        Ok(true)
    }

    /// Passes on what it prints to the client whose turn it is.
    fn print(&self, channel: Channel, bytes: &[u8]) {
        let mut printed = self.printed();
        if let Some(client) = &mut printed.client {
            let mut frames = Frame::data(channel, bytes);
            // A client that is gone holds the process up no longer.
            if frames.any(|frame| frame.write_to(client).is_err()) {
                printed.client = None;
            }
        }
    }

    fn ended(&self, code: u8) {
        let mut printed = self.printed();
        printed.code = Some(code);
        if let Some(mut client) = printed.client.take()
            && let Ok(frame) = Frame::json(Kind::Exit, &Exit::of_process(code))
        {
            let _gone = frame.write_to(&mut client).and_then(|()| client.flush());
        }
    }

    /// Passes on what the client sends, until it says that its turn is over, or is gone.
    fn hear(&self, mut stream: &UnixStream) -> TurnEnd {
        while let Ok(Some(frame)) = Frame::read_from(&mut stream) {
            match (frame.kind, frame.channel) {
                (Kind::Data, Channel::Stdin) => {
                    if !send(&self.feed, frame.payload, stream) {
                        return TurnEnd::Gone;
                    }
                }
                (Kind::Eof, Channel::Stdin) => return TurnEnd::Answered,
                (Kind::Signal, _) => {
                    if let Ok(Signal { n }) = frame.parse() {
                        let _ended = self.control.signal(n);
                    }
                }
                _ => return TurnEnd::Gone,
            }
        }
        TurnEnd::Gone
    }

    /// Ends it, and waits for that.
    fn end(&self) {
        self.printed().client = None;
        end(&*self.control, || self.printed().code.is_some());
    }
}

//! The channel of PID 1, by which the host starts processes without the engine. The protocol is
//! [`init`](lazaret_protocol::init).
//!
//! PID 1's stdin is one end of a socket pair, and its stdout the other. A host process that may
//! inspect PID 1 takes the other end (`man 2 pidfd_getfd`). The socket has no path, so no process
//! can replace it. If the engine has started the command, the host has not taken that end. A
//! process inside may take it, but PID 1 rejects its request: the process it asks for would escape
//! the limits that `porter run` sets.
//!
//! With the first word PID 1 closes its copy of the host's end. From then on a hang-up says that
//! the launcher is gone. PID 1 gives the streams away before a process reads its spawn message, so
//! it never keeps a descriptor but 0, 1 and 2 open (CON-12).
//!
//! PID 1 never waits for the host: a notice that does not fit into the socket is kept, and until
//! it is sent PID 1 hears no further request. So it keeps one notice for each process and one
//! refusal at most.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, OwnedFd};

use lazaret_protocol::exit;
use lazaret_protocol::init::{InitNotice, InitRequest, LONGEST_WORD, MOST_PROCESSES, Refusal};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
    sockopt,
};
use rustix::process::{Pid, WaitStatus};

use crate::pid1::spawn;
use crate::processes;
use crate::syscall;

/// The channel, and what came in over it.
#[derive(Debug)]
pub(crate) struct Channel {
    state: State,
    processes: Vec<Started>,
    /// What the host is still to be told.
    unsent: VecDeque<InitNotice>,
}

/// Whether the host can be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The host has said nothing yet.
    Open,
    /// Only the host has the other end.
    Taken,
    /// The host had the other end, and hung up.
    HungUp,
    /// There is no channel.
    Shut,
}

/// A process that still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Started {
    id: u32,
    pid: i32,
}

/// What came in: a request of the host's, and its streams.
struct Heard {
    request: InitRequest,
    streams: Vec<OwnedFd>,
}

impl Channel {
    /// Opens it, in place of stdin and stdout. Where that fails, everything comes by the engine.
    pub(crate) fn open() -> Self {
        let opened = || -> io::Result<()> {
            let kind = (AddressFamily::UNIX, SocketType::SEQPACKET);
            let (ours, theirs) = socketpair(kind.0, kind.1, SocketFlags::CLOEXEC, None)?;
            sockopt::set_socket_passcred(&ours, true)?;
            rustix::stdio::dup2_stdin(&ours)?;
            syscall::announce(io::stdin().as_fd())?;
            // Last: where it is, the channel is open.
            Ok(rustix::stdio::dup2_stdout(&theirs)?)
        };
        Self {
            state: match opened() {
                Ok(()) => State::Open,
                Err(_) => State::Shut,
            },
            processes: Vec::new(),
            unsent: VecDeque::new(),
        }
    }

    /// Whether the host had the channel, and is gone.
    pub(crate) fn has_hung_up(&self) -> bool {
        self.state == State::HungUp
    }

    /// Whether the host is still to be told something, and does not listen.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Does what the host asks for, if it asks for anything. Never waits.
    pub(crate) fn look(&mut self) {
        self.send();
        while matches!(self.state, State::Open | State::Taken) && self.unsent.is_empty() {
            match hear() {
                Ok(None) => return,
                Ok(Some(heard)) => {
                    if self.state == State::Open {
                        self.state = State::Taken;
                        // Only the host has the other end now.
                        close(rustix::stdio::dup2_stdout);
                    }
                    self.act(heard);
                }
                // A host whose words make no sense is none.
                Err(_) => self.shut(),
            }
            self.send();
        }
    }

    fn act(&mut self, Heard { request, streams }: Heard) {
        match (request, <[OwnedFd; 3]>::try_from(streams)) {
            (InitRequest::Start { id }, Ok(streams)) => {
                let notice = match self.start(id, streams) {
                    Ok(()) => InitNotice::Started { id },
                    Err(refusal) => InitNotice::Refused { id, refusal },
                };
                self.unsent.push_back(notice);
            }
            (InitRequest::Signal { id, signal }, Err(streams)) if streams.is_empty() => {
                let process = self.processes.iter().find(|process| process.id == id);
                if let Some(process) = process {
                    processes::signal_session(process.pid, signal);
                }
            }
            _ => self.shut(),
        }
    }

    fn start(&mut self, id: u32, streams: [OwnedFd; 3]) -> Result<(), Refusal> {
        if self.processes.len() >= MOST_PROCESSES {
            return Err(Refusal::Full);
        }
        if self.processes.iter().any(|process| process.id == id) {
            return Err(Refusal::Taken);
        }
        let pid = fork(streams).map_err(|_| Refusal::Failed)?;
        self.processes.push(Started { id, pid });
        Ok(())
    }

    /// Says how a process ended, if it is one that came in.
    pub(crate) fn ended(&mut self, pid: Pid, status: WaitStatus) {
        let pid = pid.as_raw_nonzero().get();
        let Some(index) = (self.processes.iter()).position(|process| process.pid == pid) else {
            return;
        };
        let killed = status.terminating_signal().map(|signal| 128 + signal);
        if let Some(code) = status.exit_status().or(killed) {
            let Started { id, .. } = self.processes.swap_remove(index);
            // The kernel keeps eight bits of a code, and its signals end at 64.
            let code = u8::try_from(code).unwrap_or(u8::MAX);
            self.unsent.push_back(InitNotice::Ended { id, code });
        }
    }

    /// Tells the host what it takes without a wait.
    fn send(&mut self) {
        if self.state != State::Taken {
            self.unsent.clear();
            return;
        }
        while let Some(notice) = self.unsent.front() {
            match say(*notice) {
                Ok(()) => drop(self.unsent.pop_front()),
                Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM) => return,
                Err(_) => return self.shut(),
            }
        }
    }

    /// Closes PID 1's ends of the channel, so that the host stops waiting.
    fn shut(&mut self) {
        close(rustix::stdio::dup2_stdin);
        close(rustix::stdio::dup2_stdout);
        self.unsent.clear();
        self.state = match self.state {
            State::Open | State::Shut => State::Shut,
            State::Taken | State::HungUp => State::HungUp,
        };
    }
}

/// Takes what the host says; `None` if it says nothing now.
///
/// # Errors
/// When it has hung up, makes no sense, or is not outside.
fn hear() -> io::Result<Option<Heard>> {
    let mut word = [0; LONGEST_WORD + 1];
    let message = match syscall::receive(io::stdin().as_fd(), &mut word) {
        Ok(message) => message,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        }
    };
    // The sender's pid in PID 1's namespace is 0 if the sender is outside. Only in tests the porter
    // is not PID 1, and every sender has a pid.
    let is_outside = !rustix::process::getpid().is_init() || message.sender == Some(0);
    let request = word.get(..message.length).and_then(InitRequest::parse);
    match request {
        Some(request) if is_outside => Ok(Some(Heard {
            request,
            streams: message.descriptors,
        })),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Starts a process that does what it hears on the first of its streams.
fn fork(streams: [OwnedFd; 3]) -> io::Result<i32> {
    syscall::fork(|| match spawn::become_process(&streams) {
        Ok(never) => match never {},
        Err(error) => {
            crate::report_error(&error.to_string());
            exit::FAILED
        }
    })
}

/// Says a word to the host.
fn say(notice: InitNotice) -> rustix::io::Result<()> {
    let mut nothing = SendAncillaryBuffer::default();
    let notice = notice.to_string();
    let word = [IoSlice::new(notice.as_bytes())];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(io::stdin(), &word, &mut nothing, flags).map(drop)
}

/// Puts nothing in place of a stream.
fn close(replace: impl FnOnce(OwnedFd) -> rustix::io::Result<()>) {
    if let Ok(nothing) = std::fs::File::open("/dev/null") {
        let _left = replace(nothing.into());
    }
}

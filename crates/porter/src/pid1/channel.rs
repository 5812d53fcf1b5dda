//! The channel of PID 1, by which the host starts one process without the engine. The protocol is
//! [`init`](lazaret_protocol::init).
//!
//! PID 1's stdin is one end of a socket pair, and its stdout the other. A host process that may
//! inspect PID 1 takes the other end (`man 2 pidfd_getfd`). The socket has no path, so no process
//! can replace it. If the engine has started the command, the host has not taken that end. A
//! process inside may take it, but PID 1 rejects its request: the process it asks for would escape
//! the limits that `porter run` sets.
//!
//! PID 1 starts one process only, and gives the streams away before that process reads its spawn
//! message. So PID 1 never keeps a descriptor but 0, 1 and 2 open (CON-12).

use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, OwnedFd};

use lazaret_protocol::exit;
use lazaret_protocol::init::{InitNotice, START};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
    sockopt,
};
use rustix::process::{Pid, WaitStatus};

use crate::pid1::spawn;
use crate::syscall;

/// What has come in at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Nothing yet.
    Open,
    /// A process that still runs.
    Taken(i32),
    /// Nothing will any more.
    Shut,
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
            // Last: where it is, the door is open.
            Ok(rustix::stdio::dup2_stdout(&theirs)?)
        };
        match opened() {
            Ok(()) => Self::Open,
            Err(_) => Self::Shut,
        }
    }

    /// Starts what was handed in, if anything was. Never waits.
    pub(crate) fn look(&mut self) {
        if *self != Self::Open {
            return;
        }
        match take() {
            Ok(None) => {}
            Ok(Some(streams)) => match start(streams) {
                Ok(child) => {
                    *self = Self::Taken(child);
                    // Only the host has the other end now.
                    close(rustix::stdio::dup2_stdout);
                    say(InitNotice::Started);
                }
                Err(_) => self.shut(),
            },
            Err(_) => self.shut(),
        }
    }

    /// Says how a process ended, if it is the one that was handed in.
    pub(crate) fn ended(&mut self, pid: Pid, status: WaitStatus) {
        if *self != Self::Taken(pid.as_raw_nonzero().get()) {
            return;
        }
        let killed = status.terminating_signal().map(|signal| 128 + signal);
        if let Some(code) = status.exit_status().or(killed) {
            // The kernel keeps eight bits of a code, and its signals end at 64.
            let code = u8::try_from(code).unwrap_or(u8::MAX);
            say(InitNotice::Ended { code });
            self.shut();
        }
    }

    /// Closes PID 1's ends of the channel, so that the host stops waiting.
    fn shut(&mut self) {
        close(rustix::stdio::dup2_stdin);
        close(rustix::stdio::dup2_stdout);
        *self = Self::Shut;
    }
}

/// Takes the three streams that the host hands in, if it does.
fn take() -> io::Result<Option<[OwnedFd; 3]>> {
    let mut word = [0; START.len() + 1];
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
    match (
        word.get(..message.length),
        <[OwnedFd; 3]>::try_from(message.descriptors),
    ) {
        (Some(START), Ok(streams)) if is_outside => Ok(Some(streams)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Starts a process that does what it hears on the first of its streams.
fn start(streams: [OwnedFd; 3]) -> io::Result<i32> {
    syscall::fork(|| match spawn::become_process(&streams) {
        Ok(never) => match never {},
        Err(error) => {
            crate::report_error(&error.to_string());
            exit::FAILED
        }
    })
}

/// Says a word to the host, which may be gone.
fn say(notice: InitNotice) {
    let mut nothing = SendAncillaryBuffer::default();
    let notice = notice.to_string();
    let word = [IoSlice::new(notice.as_bytes())];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let _unheard = sendmsg(io::stdin(), &word, &mut nothing, flags);
}

/// Puts nothing in place of a stream.
fn close(replace: impl FnOnce(OwnedFd) -> rustix::io::Result<()>) {
    if let Ok(nothing) = std::fs::File::open("/dev/null") {
        let _left = replace(nothing.into());
    }
}

//! `porter rejoin`: hands its stdin and stdout to a seat, and stays until the seat lets go of them.
//!
//! An engine starts it beside the seat, with the streams of a new connection. It reads a
//! [`RejoinRequest`] and sends that with the streams to the seat's socket. The engine ends the
//! streams with this process, so it waits for the end of a pipe that only the seat holds.

use std::io::{self, IoSlice, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::seat::RejoinRequest;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg_addr, socket_with,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::DumpableBehavior;

use super::rejoin_socket::address;
use crate::syscall::BlockedSignals;

/// How long a seat may take until it has opened its socket: a connection can be lost before the seat
/// has begun, and the machine can be busy.
const START: Duration = Duration::from_secs(15);

/// Between two looks for it.
const TICK: Duration = Duration::from_millis(10);

/// Runs the verb.
pub(crate) fn run() -> ExitCode {
    crate::exit_with("rejoin", rejoin())
}

fn rejoin() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // As the seat: SIGTERM for everyone is for the command.
    let _blocked = BlockedSignals::all()?;
    let mut lease = io::PipeReader::from(hand_over(&request()?)?);
    // The seat alone has the streams now.
    let nothing = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    lease.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Reads what the host wants. What follows is for the seat.
fn request() -> io::Result<RejoinRequest> {
    let mut bytes = [0; RejoinRequest::BYTES];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(rustix::stdio::stdin(), rest) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => filled += length,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    RejoinRequest::from_bytes(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Sends the streams to the seat, and returns what ends once it has let go of them.
fn hand_over(request: &RejoinRequest) -> io::Result<std::os::fd::OwnedFd> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let (ended, lease) = pipe_with(PipeFlags::CLOEXEC)?;
    let streams = [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        lease.as_fd(),
    ];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    rights.push(SendAncillaryMessage::ScmRights(&streams));
    let begun = Instant::now();
    loop {
        let sent = sendmsg_addr(
            &socket,
            &address(&request.ticket)?,
            &[IoSlice::new(&request.to_bytes())],
            &mut rights,
            SendFlags::NOSIGNAL,
        );
        match sent {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(Errno::CONNREFUSED) if begun.elapsed() < START => thread::sleep(TICK),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

//! Hands a process to PID 1 over its channel.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::init::{InitNotice, LONGEST_NOTICE, START, SpawnMessage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketType,
    recv, sendmsg, sockopt,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use super::streams::{self, ExitReply};
use crate::{ExecSpec, Process, Stdin};

/// How long a container that was just started may take until its first process is the porter.
const OPENING: Duration = Duration::from_millis(250);

/// How long the first process may take to start another one.
const ANSWER: Duration = Duration::from_secs(2);

/// Between two tries.
const TICK: Duration = Duration::from_millis(1);

/// What a pipe is to hold, in bytes: the most that an unprivileged process may ask for.
const PIPE: usize = 1 << 20;

pub(super) fn start(process: &OwnedFd, spec: &ExecSpec) -> io::Result<Process> {
    let message = message(spec)?.to_bytes();
    let channel = find(process)?;
    let (inside, host) = pipes()?;
    hand_in(&channel, &inside)?;
    drop(inside);
    // Until then the first process has the streams as well.
    await_started(&channel)?;
    let HostPipes {
        mut stdin,
        stdout,
        stderr,
    } = host;
    stdin.write_all(&message)?;
    let stdin = match spec.stdin {
        Stdin::Piped => Some(stdin),
        Stdin::Closed => None,
    };
    Ok(streams::process(
        ExitReply::new(channel),
        stdin,
        stdout,
        stderr,
    ))
}

/// Returns what the process is to become.
fn message(spec: &ExecSpec) -> io::Result<SpawnMessage> {
    let directory = spec.workdir.as_deref().unwrap_or_default();
    let variables = spec
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let message = SpawnMessage::new(directory, &spec.argv, variables);
    message.map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Takes the channel's other end. Once something was handed in there is none any more.
fn find(process: &OwnedFd) -> io::Result<OwnedFd> {
    /// Where the porter's `init` puts it.
    const STDOUT: i32 = 1;
    let give_up = Instant::now() + OPENING;
    loop {
        let found = pidfd_getfd(process, STDOUT, PidfdGetfdFlags::empty())?;
        if is_channel(found.as_fd()) {
            return Ok(found);
        }
        if Instant::now() > give_up {
            return Err(io::ErrorKind::NotConnected.into());
        }
        thread::sleep(TICK);
    }
}

/// Whether it is of the kind that the porter makes: engines connect stdout with pipes, files
/// and terminals.
fn is_channel(found: BorrowedFd<'_>) -> bool {
    sockopt::socket_domain(found) == Ok(AddressFamily::UNIX)
        && sockopt::socket_type(found) == Ok(SocketType::SEQPACKET)
}

/// The ends of the pipes that stay here.
struct HostPipes {
    stdin: File,
    stdout: File,
    stderr: File,
}

fn pipes() -> io::Result<([OwnedFd; 3], HostPipes)> {
    let pipe = || {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // One that stays small is slower, and as good.
        let _small = rustix::pipe::fcntl_setpipe_size(&write, PIPE);
        Ok::<_, Errno>((read, write))
    };
    let (stdin, stdout, stderr) = (pipe()?, pipe()?, pipe_with(PipeFlags::CLOEXEC)?);
    for output in [&stdout.0, &stderr.0] {
        // Of our end alone: no process inside can make us wait.
        rustix::io::ioctl_fionbio(output, true)?;
    }
    let host = HostPipes {
        stdin: stdin.1.into(),
        stdout: stdout.0.into(),
        stderr: stderr.0.into(),
    };
    Ok(([stdin.0, stdout.1, stderr.1], host))
}

fn hand_in(channel: &OwnedFd, streams: &[OwnedFd; 3]) -> io::Result<()> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let streams = streams.each_ref().map(|stream| stream.as_fd());
    control.push(SendAncillaryMessage::ScmRights(&streams));
    let word = [IoSlice::new(START)];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(channel, &word, &mut control, flags)?;
    Ok(())
}

fn await_started(channel: &OwnedFd) -> io::Result<()> {
    let limit = Timespec::try_from(ANSWER).map_err(io::Error::other)?;
    let mut ready = [PollFd::new(channel, PollFlags::IN)];
    while matches!(poll(&mut ready, Some(&limit)), Err(Errno::INTR)) {}
    let mut word = [0; LONGEST_NOTICE];
    let (_, length) = recv(channel, &mut word[..], RecvFlags::DONTWAIT)?;
    match InitNotice::parse(word.get(..length).unwrap_or_default()) {
        Some(InitNotice::Started) => Ok(()),
        _ => Err(io::ErrorKind::ConnectionRefused.into()),
    }
}

//! `porter deflated VERB …`: a verb whose stdin and stdout are compressed on their way.
//!
//! For engines on other machines; the launcher says so, nothing is guessed from the bytes. Each
//! direction is one zlib stream (RFC 1950), flushed whenever the verb pauses: what one side has
//! said the other can read.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::thread;

use lazaret_protocol::{Compressor, Decompressor};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::files::root;

const CHUNK: usize = 64 << 10;

/// Runs `verb` behind a pipe on each side.
pub(crate) fn run(verb: impl FnOnce() -> ExitCode) -> ExitCode {
    let (pipes, packed) = match Pipes::put() {
        Ok(put) => put,
        Err(error) => return crate::exit_with("deflated", Err(error)),
    };
    let Pipes { stdin, stdout } = pipes;
    let (incoming, outgoing) = packed;
    // Not joined: once the verb has ended, no code reads what still arrives.
    thread::spawn(move || inflate(incoming, stdin));
    let out = thread::spawn(move || deflate(stdout, outgoing));
    let code = verb();
    // The other end of the pipe is the last thing that keeps the thread.
    let sent = close_stdout().and_then(|()| {
        let sent = out.join();
        sent.unwrap_or_else(|_| Err(io::Error::other("the compressing thread panicked")))
    });
    match sent {
        Ok(()) => code,
        Err(error) => crate::exit_with("deflated", Err(error)),
    }
}

/// The pipes' ends that are ours.
struct Pipes {
    /// What the verb reads.
    stdin: File,
    /// What the verb has written.
    stdout: File,
}

impl Pipes {
    /// Puts pipes in the places of stdin and stdout, and returns what was there.
    fn put() -> io::Result<(Self, (File, File))> {
        let outside = (root::stdin()?, root::stdout()?);
        let (their_stdin, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::stdio::dup2_stdin(&their_stdin)?;
        rustix::stdio::dup2_stdout(&their_stdout)?;
        let file = |end: OwnedFd| File::from(end);
        let ours = Self {
            stdin: file(stdin),
            stdout: file(stdout),
        };
        Ok((ours, outside))
    }
}

fn close_stdout() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&nowhere)?)
}

/// Ends with either side; a stream that is cut off ends the verb's stdin, and it knows by its
/// own grammar that this is too early.
fn inflate(from: File, mut to: File) {
    drop(copy(Decompressor::new(from), |piece| to.write_all(piece)));
}

fn deflate(from: File, to: File) -> io::Result<()> {
    let mut compressor = Compressor::new(to);
    copy(from, |piece| {
        compressor.write_all(piece)?;
        compressor.flush()
    })?;
    compressor.finish()?.flush()
}

/// Hands over what can be read, as soon as it can.
fn copy(mut from: impl io::Read, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => take(buffer.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

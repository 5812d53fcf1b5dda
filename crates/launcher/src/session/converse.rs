//! Talking with a porter that moves files, and how that ends.

use std::io::{self, Read, Write};
use std::time::Duration;

use lazaret_runtime::{ContainerName, END, Process, ProcessControl};

use super::command::SIGKILL;
use super::complaints::Complaints;
use super::populate::{internal, porter_failed};
use super::site::Site;
use crate::failure::{Failure, FailureKind};
use crate::interrupt::Interrupt;

/// How long a porter may take to end once there is nothing more to say.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is said to a porter.
pub(super) type Said<'a> = &'a mut (dyn Write + Send);

/// What it answers.
pub(super) type Answers<'a> = &'a mut (dyn Read + Send);

/// A verb of the porter's, and the container that it works in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verb<'a> {
    pub(super) name: &'a str,
    pub(super) container: &'a ContainerName,
}

/// Talks with a porter that ends when everything was said.
///
/// # Errors
/// What went wrong first, in the words of whoever knows.
pub(super) fn to_the_end<T>(
    site: &Site<'_>,
    verb: Verb<'_>,
    process: Process,
    talk: impl FnOnce(Said<'_>, Answers<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut lines = Lines::of(process, site)?;
    let complaints = Complaints::of(lines.stderr);
    let talked = talk(&mut lines.said, &mut *lines.stdout);
    drop((lines.said, lines.stdout));
    let ended = verb.last_words(site, &complaints);
    // What broke off because of a signal is nobody's failure.
    site.interrupt.check()?;
    match talked {
        Ok(talked) => match lines.control.wait()? {
            0 => Ok(talked),
            code => Err(porter_failed(verb.name, code, ended.words())),
        },
        Err(failure) => Err(verb.cause(failure, &ended, &*lines.control)),
    }
}

/// Talks with a porter that has more to do afterwards, and returns it.
///
/// # Errors
/// As [`to_the_end`]; the process has ended then, or ends with its container.
pub(super) fn go_on<T>(
    site: &Site<'_>,
    verb: Verb<'_>,
    process: Process,
    talk: impl FnOnce(Said<'_>, Answers<'_>) -> Result<T, Failure>,
) -> Result<(T, Process), Failure> {
    let mut lines = Lines::of(process, site)?;
    let talked = talk(&mut lines.said, &mut *lines.stdout);
    site.interrupt.check()?;
    match talked {
        Ok(talked) => Ok((talked, lines.into_process())),
        Err(failure) if failure.kind != FailureKind::Transfer => Err(failure),
        Err(failure) => {
            let complaints = Complaints::of(lines.stderr);
            // One that still hears it ends well: then we know better what went wrong.
            drop(lines.said.write_all(END).and_then(|()| lines.said.flush()));
            drop((lines.said, lines.stdout));
            let ended = verb.last_words(site, &complaints);
            site.interrupt.check()?;
            Err(verb.cause(failure, &ended, &*lines.control))
        }
    }
}

/// What a talk goes over: a signal ends it where something is said.
struct Lines<'a> {
    said: Interruptible<'a, Box<dyn Write + Send>>,
    stdout: Box<dyn Read + Send>,
    stderr: Box<dyn Read + Send>,
    control: Box<dyn ProcessControl>,
}

impl<'a> Lines<'a> {
    fn of(process: Process, site: &Site<'a>) -> Result<Self, Failure> {
        let stdin = process.stdin;
        let inner = stdin.ok_or_else(|| internal("the porter has no stdin"))?;
        let interrupt = site.interrupt;
        Ok(Self {
            said: Interruptible { inner, interrupt },
            stdout: process.stdout,
            stderr: process.stderr,
            control: process.control,
        })
    }

    fn into_process(self) -> Process {
        Process {
            stdin: Some(self.said.inner),
            stdout: self.stdout,
            stderr: self.stderr,
            control: self.control,
        }
    }
}

/// How a porter ended, and what it complained of.
enum Ended {
    ByItself(Vec<u8>),
    /// It did not, and its container was killed.
    Killed(Vec<u8>),
}

impl Ended {
    fn words(&self) -> &[u8] {
        match self {
            Self::ByItself(words) | Self::Killed(words) => words,
        }
    }
}

impl Verb<'_> {
    /// Waits until a porter has ended. One that waits for more ends when it hears that there
    /// is none, or is ended: closing one direction of a connection does not arrive reliably.
    fn last_words(&self, site: &Site<'_>, complaints: &Complaints) -> Ended {
        match complaints.within(LAST_WORDS) {
            Ok(words) => Ended::ByItself(words),
            Err(_) => {
                drop(site.engine.signal_container(self.container, SIGKILL));
                Ended::Killed(complaints.within(LAST_WORDS).unwrap_or_default())
            }
        }
    }

    /// Says why a talk broke off. When both ends failed, we know why, unless we only met a
    /// closed pipe: then the porter does, or an engine that can't say how it ended.
    fn cause(&self, failure: Failure, ended: &Ended, control: &dyn ProcessControl) -> Failure {
        let Ended::ByItself(words) = ended else {
            return failure;
        };
        if failure.kind != FailureKind::Transfer {
            return failure;
        }
        match control.wait() {
            Ok(0) => failure,
            Ok(code) => porter_failed(self.name, code, words),
            Err(lost) => lost.into(),
        }
    }
}

/// Fails as soon as the user wants an end, so that a long copy needs no other check.
struct Interruptible<'a, W> {
    inner: W,
    interrupt: &'a Interrupt,
}

impl<W: Write> Write for Interruptible<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupt.check().map_err(io::Error::other)?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

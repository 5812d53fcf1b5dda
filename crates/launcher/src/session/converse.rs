//! Talking with a porter that moves files, and how that ends.

use std::io::{Read, Write};
use std::time::Duration;

use lazaret_runtime::{ContainerName, END, Process, ProcessControl};

use super::command::SIGKILL;
use super::complaints::Complaints;
use super::populate::{Interruptible, internal, porter_failed};
use super::site::Site;
use crate::failure::{Failure, FailureKind};

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
    let Lines {
        mut said,
        mut stdout,
        stderr,
        control,
    } = Lines::of(process, site)?;
    let complaints = Complaints::of(stderr);
    let talked = talk(&mut said, &mut *stdout);
    drop((said, stdout));
    let complaints = verb.last_words(site, &complaints);
    // What broke off because of a signal is nobody's failure.
    site.interrupt.check()?;
    match talked {
        Ok(talked) => match control.wait()? {
            0 => Ok(talked),
            code => Err(porter_failed(verb.name, code, &complaints)),
        },
        Err(failure) => Err(verb.cause(failure, &complaints, &*control)),
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
    let Lines {
        mut said,
        mut stdout,
        stderr,
        control,
    } = Lines::of(process, site)?;
    let talked = talk(&mut said, &mut *stdout);
    site.interrupt.check()?;
    match talked {
        Ok(talked) => {
            let process = Process {
                stdin: Some(said.inner),
                stdout,
                stderr,
                control,
            };
            Ok((talked, process))
        }
        Err(failure) if failure.kind != FailureKind::Transfer => Err(failure),
        Err(failure) => {
            let complaints = Complaints::of(stderr);
            // One that still hears it ends well: then we know better what went wrong.
            drop(said.write_all(END).and_then(|()| said.flush()));
            drop((said, stdout));
            let complaints = verb.last_words(site, &complaints);
            site.interrupt.check()?;
            Err(verb.cause(failure, &complaints, &*control))
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
}

impl Verb<'_> {
    /// Returns what a porter complained of, once it has ended. One that waits for more ends
    /// when it hears that there is none, or is ended: closing one direction of a connection
    /// does not arrive reliably.
    fn last_words(&self, site: &Site<'_>, complaints: &Complaints) -> Vec<u8> {
        complaints.within(LAST_WORDS).unwrap_or_else(|_| {
            drop(site.engine.signal_container(self.container, SIGKILL));
            complaints.within(LAST_WORDS).unwrap_or_default()
        })
    }

    /// Says why a talk broke off. When both ends failed, we know why, unless we only met a
    /// closed pipe.
    fn cause(&self, failure: Failure, complaints: &[u8], control: &dyn ProcessControl) -> Failure {
        if failure.kind != FailureKind::Transfer {
            return failure;
        }
        match control.wait() {
            Ok(code) if code != 0 => porter_failed(self.name, code, complaints),
            _ => failure,
        }
    }
}

//! Runs git on a session's volume, in a container without a network that mounts the volume
//! read-only.
//!
//! git works in a repository of its own on the container's tmpfs, which borrows the objects of
//! the copy's. So it reads nothing that the agent could configure: no `config` with its
//! programs, filters and extensions, no replace refs, grafts or remote to fetch from. An agent
//! that could exploit git there has that container: no more than its own had.
//!
//! What arrives is as hostile as everything of the volume's: the caller checks it.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use lazaret_image_builder::Pinned;
use lazaret_runtime::{
    ContainerLease, ContainerName, EngineError, ExecSpec, HardenedSpec, Process, Stdin,
    Unenforceable,
};
use lazaret_tree::escape;

use crate::cancel::Interrupted;
use crate::commits::capped::{Capped, End};
use crate::context::SessionContext;
use crate::engine::signal::SIGKILL;
use crate::lifecycle::verify::{VerifyError, verify_controls};
use crate::porter::conversation::StderrTail;
use crate::store::record::Record;

/// How long a git that wrote everything may take to end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How the lines begin that say why git failed: git's, the script's and the porter's.
const SPEAKERS: [&str; 3] = ["fatal: ", "pack: ", "porter: "];

/// What git finds in its environment.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("GIT_DIR", "/tmp/repository"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
];

/// A script that runs git.
#[derive(Debug)]
pub(super) struct GitScript<'a> {
    /// What bash runs.
    pub(super) text: &'a str,
    /// Its arguments.
    pub(super) arguments: &'a [&'a str],
    /// Its input. It ends with an empty line, since the end of a stream does not arrive reliably.
    /// A script that reads nothing has an empty one: it may end before anything could be written.
    pub(super) input: &'a str,
    /// The most bytes that it may print.
    pub(super) max_bytes: u64,
    /// How long it may take; the consumer's time counts.
    pub(super) timeout: Duration,
}

/// Why git did not do its work. The volume is as it was.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A control of the container is not in force; git was not started.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The engine gave git no input.
    #[error("git has no stdin")]
    NoStdin,
    /// The connection to git broke.
    #[error("cannot pack the commits: the stream to the container broke")]
    Stream(#[source] io::Error),
    /// What git printed is larger than it may be.
    #[error("cannot pack the commits: the pack is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// git was not done in time.
    #[error("cannot pack the commits: git took longer than {} s", limit.as_secs())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// git failed.
    #[error("cannot pack the commits: git ended with {code}: {last_line}")]
    Git {
        /// The exit code; 128 + n for a signal.
        code: i32,
        /// Its complaint, escaped.
        last_line: String,
    },
}

/// Runs a script, and has `consume` read what it prints while it is printed. What `consume`
/// returns counts only if all of this succeeds: output that was cut off is never taken for a
/// whole one. `consume` need not read to the end. `image` is the one that has git, `base`.
///
/// # Errors
/// Why git did not do its work; or `consume`'s own error, where that stopped reading because of
/// it.
pub(super) fn run<T, E: From<PackError>>(
    cx: &SessionContext<'_>,
    record: &Record,
    image: &Pinned,
    script: &GitScript<'_>,
    consume: impl FnOnce(&mut dyn Read) -> Result<T, E>,
) -> Result<T, E> {
    let spec = cx.packer_spec(record, image).map_err(PackError::from)?;
    let name = &spec.spec().name;
    // An earlier try may have left one behind.
    cx.engine.remove_container(name).map_err(PackError::from)?;
    let lease = ContainerLease::create(&cx.engine, &spec).map_err(PackError::from)?;
    let guard = cx.kill_on_cancel(name);
    let done = match start(cx, &spec, script) {
        Ok(git) => git.read(cx, script, consume),
        Err(error) => Err(error.into()),
    };
    drop(guard);
    // Not in the background: the next one needs the name.
    drop(lease);
    // After a signal, the interrupt is the cause to report.
    cx.cancel.check().map_err(PackError::from)?;
    done
}

/// A git that works.
struct RunningGit<'a> {
    container: &'a ContainerName,
    started: Instant,
    process: Process,
}

/// Starts the container, proves its controls, and starts git.
fn start<'a>(
    cx: &SessionContext<'_>,
    spec: &'a HardenedSpec,
    script: &GitScript<'_>,
) -> Result<RunningGit<'a>, PackError> {
    let container = &spec.spec().name;
    cx.engine.start_container(container)?;
    verify_controls(&*cx.engine, spec, cx.events)?;
    // Before the process: the deadline inside is never earlier.
    let started = Instant::now();
    let process = cx.spawn_first(&cx.spawner(container), &exec(spec, script))?;
    Ok(RunningGit {
        container,
        started,
        process,
    })
}

impl RunningGit<'_> {
    fn read<T, E: From<PackError>>(
        self,
        cx: &SessionContext<'_>,
        script: &GitScript<'_>,
        consume: impl FnOnce(&mut dyn Read) -> Result<T, E>,
    ) -> Result<T, E> {
        let Process {
            stdin,
            stdout,
            stderr,
            control,
        } = self.process;
        let stderr_tail = StderrTail::of(stderr);
        // git reads all of it before it writes anything.
        let asked = ask(stdin.ok_or(PackError::NoStdin)?, script);
        let mut printed = Capped::new(stdout, script.max_bytes);
        let consumed = consume(&mut printed);
        if consumed.is_ok() {
            // How that ends is known below.
            drop(io::copy(&mut printed, &mut io::sink()));
        }
        let end = printed.into_end();
        let kill = || drop(cx.engine.signal_container(self.container, SIGKILL));
        if !matches!(end, Some(End::Whole)) {
            kill();
        }
        let said = stderr_tail.within(LAST_WORDS).unwrap_or_else(|_| {
            kill();
            stderr_tail.within(LAST_WORDS).unwrap_or_default()
        });
        let code = control.wait();
        let failure = match (end, code) {
            // The consumer has given up, and knows why.
            (None, _) => return consumed,
            (Some(End::TooLarge), _) => {
                let limit = script.max_bytes;
                return Err(PackError::TooLarge { limit }.into());
            }
            (Some(End::Whole), Ok(0)) => match asked {
                Ok(()) => return consumed,
                // git may have read less than was asked for.
                Err(error) => PackError::Stream(error),
            },
            (Some(End::Whole), Ok(code)) => PackError::Git {
                code,
                last_line: last_line(&said),
            },
            (Some(End::Whole), Err(error)) => error.into(),
            (Some(End::Broken(error)), _) => PackError::Stream(error),
        };
        Err(match self.started.elapsed() >= script.timeout {
            true => PackError::TimedOut {
                limit: script.timeout,
            },
            false => failure,
        }
        .into())
    }
}

fn ask(mut stdin: Box<dyn Write + Send>, script: &GitScript<'_>) -> io::Result<()> {
    if script.input.is_empty() {
        return Ok(());
    }
    stdin.write_all(script.input.as_bytes())?;
    stdin.flush()
}

/// Returns the process that runs the script. PID 1 ends it when its time is up.
fn exec(spec: &HardenedSpec, script: &GitScript<'_>) -> ExecSpec {
    let shell = ["/bin/bash", "-o", "pipefail", "-c", script.text, "pack"];
    let words = shell.iter().chain(script.arguments);
    let command: Vec<String> = words.map(|word| (*word).to_owned()).collect();
    let argv = spec.timed_argv(&command, Some(script.timeout));
    let variable = |(name, value): (&str, &str)| match name.parse() {
        Ok(name) => (name, value.to_owned()),
        Err(error) => unreachable!("the names of git's variables are valid: {error}"),
    };
    ExecSpec {
        env: ENVIRONMENT.map(variable).into(),
        ..ExecSpec::new(argv, Stdin::Piped)
    }
}

/// Returns the line that says why git failed, escaped.
fn last_line(said: &[u8]) -> String {
    let words = String::from_utf8_lossy(said);
    let mut lines = words.trim().lines().rev();
    let last = lines.clone().next().unwrap_or_default();
    // An engine may add words of its own, about streams that broke because git ended.
    let is_ours = |line: &&str| SPEAKERS.iter().any(|speaker| line.starts_with(speaker));
    match lines.find(is_ours).unwrap_or(last) {
        "" => "it said nothing".to_owned(),
        line => escape(line.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stdin of a process that has ended.
    struct Ended;

    impl Write for Ended {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_script_that_reads_nothing_may_end_before_it_is_asked() {
        let asked = |input| {
            let script = GitScript {
                text: "",
                arguments: &[],
                input,
                max_bytes: 0,
                timeout: Duration::ZERO,
            };
            ask(Box::new(Ended), &script).is_ok()
        };
        assert!(asked(""));
        assert!(!asked("\n"));
    }

    #[test]
    fn the_complaint_is_gits_own_and_escaped() {
        let said = b"error: a\nfatal: bad \x1b[2J line\nread unixpacket: connection reset\n";
        assert_eq!(last_line(said), "fatal: bad \\u{1b}[2J line");
        let said = b"pack: line 1: cd: no\nError: read unixpacket: connection reset\n";
        assert_eq!(last_line(said), "pack: line 1: cd: no");
        assert_eq!(last_line(b"Killed\n"), "Killed");
        assert_eq!(last_line(b"\n"), "it said nothing");
    }
}

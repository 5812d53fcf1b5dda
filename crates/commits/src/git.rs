//! `Git`: the user's git, run so that nothing but its arguments says what it does (GIT-23,
//! GIT-24).
//!
//! It has an empty home, no system configuration, no attributes of the machine, and an
//! environment of ours. Hooks, fsmonitor, maintenance and replace refs are off. The repository
//! that it works in is one of ours, so no configuration of the user's or an agent's is read.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lazaret_tree::escape;

use crate::limits::ProcessLimits;
use crate::programs::OutsidePath;

/// How often a wish for an end is looked for while git runs.
const TICK: Duration = Duration::from_millis(50);

/// What comes before every command: programs that git would run by itself are none.
const NEUTRAL: &[&str] = &[
    "--no-replace-objects",
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// What comes before a command that is bounded: windows into packs, and what is held of large
/// files, fit the address space of [`ProcessLimits::HOSTILE`].
const BOUNDED: &[&str] = &[
    "-c",
    "core.bigFileThreshold=16m",
    "-c",
    "core.packedGitWindowSize=16m",
    "-c",
    "core.packedGitLimit=128m",
    "-c",
    "pack.threads=1",
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// Whether an end is wanted.
pub type IsCancelled<'a> = &'a dyn Fn() -> bool;

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It could not be started or waited for.
    #[error("git can't be run")]
    Run(#[source] io::Error),
    /// The user wants an end.
    #[error("interrupted")]
    Cancelled,
    /// It failed.
    #[error("git can't {doing}: {words}")]
    Failed {
        /// What it was to do.
        doing: &'static str,
        /// The last thing that it said, escaped.
        words: String,
    },
}

/// The program.
#[derive(Debug, Clone)]
pub struct Git {
    path: PathBuf,
}

/// One command, before it runs.
#[derive(Debug)]
#[must_use]
pub struct GitCall {
    program: PathBuf,
    dir: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    limits: Option<ProcessLimits>,
}

/// A command that answers while it is asked.
#[derive(Debug)]
pub(crate) struct Dialogue {
    pub(crate) handle: duct::Handle,
    pub(crate) ask: PipeWriter,
    pub(crate) answer: PipeReader,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Git {
    /// Looks for `git` in the absolute directories of `search_path`. It skips those in
    /// `workspace`: an agent could have put a program there.
    pub fn find(search_path: &OsStr, workspace: &Path) -> Option<Self> {
        let path = OutsidePath::of(search_path, workspace).find("git")?;
        Some(Self { path })
    }

    /// Prepares a command on the repository `dir`, in it.
    pub fn call(&self, dir: &Path, arguments: &[&str]) -> GitCall {
        let environment = ENVIRONMENT.iter();
        let call = GitCall {
            program: self.path.clone(),
            dir: dir.to_owned(),
            arguments: NEUTRAL.iter().map(Into::into).collect(),
            environment: environment
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            limits: None,
        };
        call.env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_DIR", dir)
            .args(arguments)
    }

    /// Prepares a command in `dir` that has the user's variables, but for those by which git
    /// takes another repository, configuration or program. It reads the user's configuration.
    pub(crate) fn call_as_user(
        &self,
        dir: &Path,
        variables: &[(OsString, OsString)],
        arguments: &[&str],
    ) -> GitCall {
        let is_git = |name: &OsStr| name.as_encoded_bytes().starts_with(b"GIT_");
        let kept = variables.iter().filter(|(name, _)| !is_git(name));
        GitCall {
            program: self.path.clone(),
            dir: dir.to_owned(),
            arguments: NEUTRAL.iter().map(Into::into).collect(),
            environment: kept.cloned().collect(),
            limits: None,
        }
        .env("GIT_TERMINAL_PROMPT", "0")
        .args(arguments)
    }
}

impl GitCall {
    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.retain(|(other, _)| other != name);
        self.environment.push((name.into(), value.as_ref().into()));
        self
    }

    /// Bounds what the process may take.
    pub fn limits(mut self, limits: ProcessLimits) -> Self {
        self.limits = Some(limits);
        let words = BOUNDED.iter().map(OsString::from);
        self.arguments.splice(0..0, words);
        self
    }

    /// Runs it to its end. `stdin` is read on this thread: what ends its source ends it too.
    ///
    /// # Errors
    /// When it can't be run, or an end is wanted; not when it fails.
    pub fn run(
        self,
        stdin: &mut dyn Read,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Ended, GitError> {
        let (theirs, mut ours) = io::pipe().map_err(GitError::Run)?;
        let limits = self.limits;
        let running = self
            .command()
            .stdin_file(theirs)
            .stdout_capture()
            .stderr_capture()
            .start()
            .map_err(GitError::Run)?;
        let ended = bound(&running, limits).and_then(|()| {
            match io::copy(stdin, &mut ours) {
                // It may end without reading everything, and says why.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(GitError::Run(error));
                }
                _ => drop(ours),
            }
            wait(&running, is_cancelled)
        });
        if ended.is_err() {
            drop(running.kill());
        }
        ended
    }

    /// Starts a command that answers while it is asked. It says nothing on its standard error.
    pub(crate) fn converse(self) -> Result<Dialogue, GitError> {
        let (stdin, ask) = io::pipe().map_err(GitError::Run)?;
        let (answer, stdout) = io::pipe().map_err(GitError::Run)?;
        let limits = self.limits;
        let handle = self
            .command()
            .stdin_file(stdin)
            .stdout_file(stdout)
            .stderr_null()
            .start()
            .map_err(GitError::Run)?;
        if let Err(error) = bound(&handle, limits) {
            drop(handle.kill());
            return Err(error);
        }
        Ok(Dialogue {
            handle,
            ask,
            answer,
        })
    }

    fn command(self) -> duct::Expression {
        duct::cmd(self.program, self.arguments)
            .full_env(self.environment)
            .dir(self.dir)
            .unchecked()
    }
}

/// Sets limits. They hold before the process gets a byte of input.
fn bound(process: &duct::Handle, limits: Option<ProcessLimits>) -> Result<(), GitError> {
    let Some(limits) = limits else {
        return Ok(());
    };
    let mut ids = process.pids().into_iter();
    ids.try_for_each(|id| limits.set(id)).map_err(GitError::Run)
}

fn wait(process: &duct::Handle, is_cancelled: IsCancelled<'_>) -> Result<Ended, GitError> {
    loop {
        if let Some(output) = process.wait_timeout(TICK).map_err(GitError::Run)? {
            return Ok(Ended {
                code: output.status.code(),
                stdout: output.stdout.clone(),
                stderr: output.stderr.clone(),
            });
        }
        if is_cancelled() {
            return Err(GitError::Cancelled);
        }
    }
}

impl Ended {
    /// Whether it succeeded.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns what it printed, final line feeds less.
    ///
    /// # Errors
    /// When it failed, with the last thing that it said.
    pub fn text(self, doing: &'static str) -> Result<String, GitError> {
        if self.is_success() {
            let text = String::from_utf8_lossy(&self.stdout);
            return Ok(text.trim_end_matches('\n').to_owned());
        }
        Err(self.failed(doing))
    }

    /// Returns the first line in which it names an error, escaped; `None` if there is none.
    pub(crate) fn error_line(&self) -> Option<String> {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let mut lines = stderr
            .lines()
            .filter_map(|line| line.strip_prefix("error: "));
        lines.next().map(|line| escape(line.as_bytes()))
    }

    /// Says that it failed.
    pub fn failed(&self, doing: &'static str) -> GitError {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let last = stderr.lines().rev().find(|line| !line.is_empty());
        let words = match (last, self.code) {
            (Some(last), _) => last,
            (None, None) => "a signal ended it, as a limit on time or memory does",
            (None, Some(_)) => "it said nothing",
        };
        GitError::Failed {
            doing,
            words: escape(words.as_bytes()),
        }
    }
}

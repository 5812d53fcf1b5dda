//! The user's git, run so that nothing but its arguments says what it does.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};
use lazaret_session::cancel::Cancel;

/// How often the launcher checks for an interrupt while git runs.
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

/// The program.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Program {
    /// Looks for `git` in the absolute directories of `PATH`. It skips those in the workspace:
    /// an agent could have put a program there.
    pub(super) fn find(env: &Environment, workspace: &WorkspaceDir) -> Option<Self> {
        let path = env.for_detection().path?;
        std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute())
            .filter_map(|dir| std::fs::canonicalize(dir.join("git")).ok())
            .find(|git| !git.starts_with(workspace.path()) && is_program(git))
            .map(|path| Self { path })
    }

    /// Runs a command on the repository `dir`, in it, with an empty home.
    pub(super) fn run(
        &self,
        dir: &Path,
        index: Option<&Path>,
        arguments: &[&str],
        stdin: &str,
        cancel: &Cancel,
    ) -> Result<Ended, Failure> {
        let mut environment: Vec<(OsString, OsString)> = [
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
            ("GIT_ALLOW_PROTOCOL", "none"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
        environment.push(("GIT_DIR".into(), dir.into()));
        if let Some(index) = index {
            environment.push(("GIT_INDEX_FILE".into(), index.into()));
        }
        let command = [NEUTRAL, arguments].concat();
        let running = duct::cmd(&self.path, command)
            .full_env(environment)
            .dir(dir)
            .stdin_bytes(stdin)
            .stdout_capture()
            .stderr_capture()
            .unchecked()
            .start()
            .or_fail(FailureKind::Workspace, "git can't be run")?;
        loop {
            let ended = running.wait_timeout(TICK);
            let ended = ended.or_fail(FailureKind::Workspace, "git can't be waited for")?;
            if let Some(output) = ended {
                return Ok(Ended {
                    code: output.status.code(),
                    stdout: output.stdout.clone(),
                    stderr: output.stderr.clone(),
                });
            }
            if let Err(interrupted) = cancel.check() {
                // What it has written lies in a directory that is removed.
                drop(running.kill());
                return Err(interrupted.into());
            }
        }
    }
}

impl Ended {
    /// Returns what it printed, a final line feed less.
    ///
    /// # Errors
    /// When it failed, with the last thing that it said.
    pub(super) fn text(self, doing: &str) -> Result<String, Failure> {
        if self.code == Some(0) {
            let text = String::from_utf8_lossy(&self.stdout);
            return Ok(text.trim_end_matches('\n').to_owned());
        }
        let stderr = String::from_utf8_lossy(&self.stderr);
        let last = stderr.lines().rev().find(|line| !line.is_empty());
        let words = escape(last.unwrap_or("it said nothing").as_bytes()).to_string();
        Err(Failure::message(
            FailureKind::Workspace,
            format!("git can't {doing}: {words}"),
        ))
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

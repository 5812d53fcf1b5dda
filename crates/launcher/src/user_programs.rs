//! `UserPrograms`: the user's own git and tools, with the user's environment and configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use lazaret_commits::programs::OutsidePath;
use lazaret_session::cancel::Cancel;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// How often the launcher checks for an interrupt while a program runs.
const TICK: Duration = Duration::from_millis(50);

/// Variables that name another repository than that of the directory git runs in.
const OTHER_REPOSITORY: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];

/// The programs of the user's `PATH`, without directories in the workspace and relative ones.
#[derive(Debug)]
pub(crate) struct UserPrograms<'a> {
    workspace: &'a Path,
    path: OutsidePath,
    environment: Vec<(OsString, OsString)>,
    cancel: &'a Cancel,
}

/// The user's git, in the workspace.
#[derive(Debug)]
pub(crate) struct UserGit<'a> {
    programs: &'a UserPrograms<'a>,
    git: PathBuf,
}

impl<'a> UserPrograms<'a> {
    pub(crate) fn of(env: &Environment, workspace: &'a WorkspaceDir, cancel: &'a Cancel) -> Self {
        let workspace = workspace.path();
        let search_path = env.for_detection().path.unwrap_or_default();
        let path = OutsidePath::of(&search_path, workspace);
        let mut environment: Vec<(OsString, OsString)> = (env.variables.iter())
            .filter(|(name, _)| !OTHER_REPOSITORY.contains(&&***name) && *name != "PATH")
            .map(|(name, value)| (name.into(), value.clone()))
            .collect();
        // Parts of a path that was split can be joined.
        let joined = std::env::join_paths(path.dirs()).unwrap_or_default();
        environment.push(("PATH".into(), joined));
        Self {
            workspace,
            path,
            environment,
            cancel,
        }
    }

    /// Looks for a program.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        self.path.find(name)
    }

    /// Finds git.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn git(&'a self) -> Result<UserGit<'a>, Failure> {
        let git = self.find("git").ok_or_else(|| {
            let text = "branches are pushed by git, and there is none on this machine";
            Failure::message(FailureKind::Workspace, text).hinted("Install git.")
        })?;
        let programs = self;
        Ok(UserGit { programs, git })
    }

    /// Prepares a program that runs in `dir`.
    pub(crate) fn expression<A: Into<OsString>>(
        &self,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        dir: &Path,
    ) -> duct::Expression {
        duct::cmd(program, arguments)
            .full_env(self.environment.iter().cloned())
            .dir(dir)
            .unchecked()
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// When it can't be run, or the user interrupts it; not when it fails.
    pub(crate) fn run(&self, program: &duct::Expression, name: &str) -> Result<Output, Failure> {
        let cannot = format!("cannot run {name}");
        let running = program.start().or_fail(FailureKind::Workspace, &cannot)?;
        loop {
            let ended = running.wait_timeout(TICK);
            if let Some(output) = ended.or_fail(FailureKind::Workspace, &cannot)? {
                return Ok(output.clone());
            }
            if let Err(interrupted) = self.cancel.check() {
                // It may have ended by the same signal.
                drop(running.kill());
                return Err(interrupted.into());
            }
        }
    }

    /// Returns what a program of the user's gets: the user's variables, with a `PATH` that leads
    /// into no workspace.
    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.workspace
    }
}

impl UserGit<'_> {
    /// Returns what a command prints, final line feeds less; `None` if it fails.
    ///
    /// # Errors
    /// When git can't be run.
    pub(crate) fn answer(&self, arguments: &[&str]) -> Result<Option<String>, Failure> {
        let output = self.captured(arguments)?;
        Ok(output.status.success().then(|| text(&output.stdout)))
    }

    /// Returns what a command prints, final line feeds less.
    ///
    /// # Errors
    /// When it fails, with the last line of its complaint.
    pub(crate) fn text(&self, doing: &str, arguments: &[&str]) -> Result<String, Failure> {
        let output = self.captured(arguments)?;
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let complaint = text(&output.stderr);
        let last = complaint.lines().last().unwrap_or("git says nothing");
        let words = format!("git cannot {doing}: {}", escape(last.as_bytes()));
        Err(Failure::message(FailureKind::Workspace, words))
    }

    fn captured(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let git = self.expression(arguments);
        let git = git.stdin_null().stdout_capture().stderr_capture();
        self.programs.run(&git, "git")
    }

    /// Pushes the branch `from` as `to`, never by force. Git asks for passwords at the user's
    /// terminal.
    ///
    /// # Errors
    /// When the push fails.
    pub(crate) fn push(&self, remote: &str, from: &str, to: &str) -> Result<(), Failure> {
        let refspec = format!("refs/heads/{from}:refs/heads/{to}");
        let git = self.expression(&["push", "--", remote, &refspec]);
        // What comes on our standard output is the verb's.
        let output = self.programs.run(&git.stdout_to_stderr(), "git")?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let text = format!(
                    "cannot push {from} to {remote}: git push failed ({})",
                    output.status
                );
                Err(Failure::message(FailureKind::Refused, text)
                    .hinted("No request was opened. Run the same command again."))
            }
        }
    }

    fn expression(&self, arguments: &[&str]) -> duct::Expression {
        let programs = self.programs;
        programs.expression(&self.git, arguments, programs.workspace)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\n')
        .to_owned()
}

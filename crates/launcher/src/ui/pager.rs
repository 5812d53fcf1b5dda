//! The user's pager, for text that may be longer than the screen.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::Path;

use lazaret_commits::programs::OutsidePath;

use super::{OutputFormat, Results, Ui};
use crate::environment::{Environment, StreamKind};
use crate::failure::{Failure, FailureKind, OrFail as _};

/// What shows text where `PAGER` is not set.
const DEFAULT: &str = "less";

/// Variables that a pager gets unless the user has set them, as from git: `less` keeps colours,
/// leaves the text on the screen, and ends by itself if it fits there.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// How a POSIX shell ends if there is no such program.
const NOT_FOUND: i32 = 127;

/// A pager and its surroundings.
#[derive(Debug)]
pub(super) struct Pager {
    /// A command of the shell.
    command: String,
    search_path: OsString,
    variables: Vec<(OsString, OsString)>,
}

impl Pager {
    /// Returns the pager of the user's environment; none if it is to be `cat`, or nothing.
    pub(super) fn of(env: &Environment) -> Option<Self> {
        let set = env.variables.get("PAGER").map(|value| value.to_str());
        let command = match set {
            Some(set) => set?.trim(),
            None => DEFAULT,
        };
        if matches!(command, "" | "cat") {
            return None;
        }
        let own = env.variables.iter();
        let own = own.map(|(name, value)| (OsString::from(name), value.clone()));
        let defaults = DEFAULTS.iter().filter(|(name, _)| env.os(name).is_none());
        let defaults = defaults.map(|(name, value)| (name.into(), value.into()));
        Some(Self {
            command: command.to_owned(),
            search_path: env.os("PATH").map(OsStr::to_owned).unwrap_or_default(),
            variables: own.chain(defaults).collect(),
        })
    }

    /// Shows a file from its beginning. No program of the workspace is run.
    fn show(&self, text: &File, workspace: &Path) -> io::Result<PagerEnd> {
        let dirs = OutsidePath::of(&self.search_path, workspace);
        let path = std::env::join_paths(dirs.dirs()).unwrap_or_default();
        let variables = self.variables.iter().filter(|(name, _)| name != "PATH");
        let variables = variables.cloned().chain([("PATH".into(), path)]);
        let ended = duct::cmd("/bin/sh", ["-c", &self.command])
            .full_env(variables)
            .stdin_file(text.try_clone()?)
            .unchecked()
            .run()?;
        Ok(match ended.status.code() {
            Some(NOT_FOUND) => PagerEnd::NotFound,
            _ => PagerEnd::Shown,
        })
    }
}

/// What became of a write into the text for the pager.
///
/// # Errors
/// There is no room for it.
pub fn written<T>(result: io::Result<T>) -> Result<T, Failure> {
    result.or_fail(FailureKind::State, "cannot keep the text for the pager")
}

enum PagerEnd {
    Shown,
    NotFound,
}

impl Ui {
    /// Prints results for people, through the user's pager where a person sits at a terminal.
    /// Untrusted parts must be escaped.
    ///
    /// # Errors
    /// Those of `write`, and when there is no room for the text.
    pub fn page(
        &self,
        workspace: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(pager) = self.0.pager.as_ref().filter(|_| self.can_page()) else {
            let mut out = BufWriter::with_capacity(64 << 10, Results(self));
            write(&mut out)?;
            // `Results` takes everything; what its stream refuses is remembered there.
            drop(out.flush());
            return Ok(());
        };
        let mut out = BufWriter::with_capacity(64 << 10, written(tempfile::tempfile())?);
        write(&mut out)?;
        let mut file = written(out.into_inner().map_err(|error| error.into_error()))?;
        written(file.rewind())?;
        match pager.show(&file, workspace) {
            Ok(PagerEnd::Shown) => Ok(()),
            Ok(PagerEnd::NotFound) | Err(_) => {
                written(file.rewind())?;
                self.results(|out| io::copy(&mut file, out).map(drop));
                Ok(())
            }
        }
    }

    fn can_page(&self) -> bool {
        let is_terminal = self.0.streams.stdout == StreamKind::Terminal;
        is_terminal && self.can_ask() && self.format() == OutputFormat::Text
    }
}

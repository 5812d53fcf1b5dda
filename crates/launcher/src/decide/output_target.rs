//! Where a report goes: stdout, or a file that appears whole or not at all.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lazaret_gate::export::Form;
use lazaret_gate::export::file::{self, FileError, IfExists};
use lazaret_tree::escape;

use crate::failure::{Failure, FailureKind};
use crate::ui::{Output, OutputFormat, Ui};

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputTarget {
    /// `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// Joins what was asked for with the current directory. With `--json`, stdout is taken.
///
/// # Errors
/// When two reports would go to the same place.
pub fn choose<'a>(
    asked: impl IntoIterator<Item = (Form, &'a Option<OutputTarget>)>,
    cwd: &Path,
    format: OutputFormat,
) -> Result<Vec<(Form, OutputTarget)>, Failure> {
    let mut places: Vec<(Form, OutputTarget)> = Vec::new();
    for (form, place) in asked {
        let Some(place) = place.clone() else { continue };
        let place = place.below(cwd);
        let is_taken = format == OutputFormat::Json && place == OutputTarget::Stdout;
        if is_taken || places.iter().any(|(_, other)| *other == place) {
            let text = "two reports can't go to the same place";
            return Err(Failure::message(FailureKind::Usage, text));
        }
        places.push((form, place));
    }
    Ok(places)
}

impl FromStr for OutputTarget {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "-" => Self::Stdout,
            path => Self::File(path.into()),
        })
    }
}

impl OutputTarget {
    /// Returns the file below `cwd`.
    #[must_use]
    pub fn below(self, cwd: &Path) -> Self {
        match self {
            Self::Stdout => Self::Stdout,
            Self::File(path) => Self::File(cwd.join(path)),
        }
    }

    /// Looks whether a report could go there, before anything is computed.
    ///
    /// # Errors
    /// As [`file::check`].
    pub fn check(&self, if_exists: IfExists) -> Result<(), FileError> {
        match self {
            Self::Stdout => Ok(()),
            Self::File(path) => file::check(path, if_exists),
        }
    }

    /// Writes a report. A file appears whole or not at all.
    ///
    /// # Errors
    /// As [`file::write`].
    pub fn write<T, E>(
        &self,
        if_exists: IfExists,
        ui: &Ui,
        write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<FileError>,
    {
        let Self::File(path) = self else {
            let mut out = BufWriter::with_capacity(64 << 10, ui.writer(Output::Stdout));
            let written = write(&mut out)?;
            // The sink remembers what went wrong, and `main` says so.
            drop(out.flush());
            return Ok(written);
        };
        file::write(path, if_exists, write)
    }

    /// Names the place for people, escaped.
    pub fn describe(&self) -> String {
        match self {
            Self::Stdout => "stdout".to_owned(),
            Self::File(path) => escape(path.as_os_str().as_encoded_bytes()),
        }
    }
}

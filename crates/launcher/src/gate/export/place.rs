//! Where a report goes: stdout, or a file that appears whole or not at all.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lazaret_tree::{escape, is_git_name};

use super::Form;
use crate::failure::{Failure, FailureKind};
use crate::ui::{Output, OutputFormat, Ui};

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the report is not written.
    Keep,
    /// The report replaces it.
    Replace,
}

/// Joins what was asked for with the current directory. With `--json`, stdout is taken.
///
/// # Errors
/// When two reports would go to the same place.
pub fn choose<'a>(
    asked: impl IntoIterator<Item = (Form, &'a Option<Place>)>,
    cwd: &Path,
    format: OutputFormat,
) -> Result<Vec<(Form, Place)>, Failure> {
    let mut places: Vec<(Form, Place)> = Vec::new();
    for (form, place) in asked {
        let Some(place) = place.clone() else { continue };
        let place = place.below(cwd);
        let is_taken = format == OutputFormat::Json && place == Place::Stdout;
        if is_taken || places.iter().any(|(_, other)| *other == place) {
            let text = "two reports can't go to the same place";
            return Err(Failure::message(FailureKind::Usage, text));
        }
        places.push((form, place));
    }
    Ok(places)
}

impl FromStr for Place {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "-" => Self::Stdout,
            path => Self::File(path.into()),
        })
    }
}

impl Place {
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
    /// When the file exists and is to be kept, is no regular file, lies below a `.git`, or in
    /// a directory that does not exist.
    pub fn check(&self, existing: Existing) -> Result<(), Failure> {
        let Self::File(path) = self else {
            return Ok(());
        };
        let shown = path.display();
        let refuse =
            |reason: &str| Failure::message(FailureKind::Refused, format!("{shown} {reason}"));
        let Some(name) = path.file_name() else {
            return Err(refuse("names no file"));
        };
        // Links on the way are the user's own, but what they lead to counts.
        let parent = fs::canonicalize(parent(path)).map_err(|error| {
            Failure::new(FailureKind::Refused, error).context(format!(
                "{shown} can't be written: its directory is not there"
            ))
        })?;
        let below_git = parent
            .iter()
            .chain([name])
            .any(|component| is_git_name(&component.to_string_lossy()));
        if below_git {
            return Err(refuse(
                "lies in a repository's .git, where nothing is written",
            ));
        }
        match fs::symlink_metadata(path) {
            Err(_) => Ok(()),
            Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
                Err(refuse("is there and is no regular file"))
            }
            Ok(_) => match existing {
                Existing::Replace => Ok(()),
                Existing::Keep => Err(refuse("exists already").hinted("--force replaces it.")),
            },
        }
    }

    /// Writes a report. A file gets its name only once all of it is on the disk; a link that
    /// has the name is replaced, not followed.
    ///
    /// # Errors
    /// What [`Place::check`] says, what `write` says, or the disk.
    pub fn write<T>(
        &self,
        existing: Existing,
        ui: &Ui,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Self::File(path) = self else {
            let mut out = BufWriter::with_capacity(64 << 10, ui.writer(Output::Stdout));
            let written = write(&mut out)?;
            // The sink remembers what went wrong, and `main` says so.
            drop(out.flush());
            return Ok(written);
        };
        self.check(existing)?;
        let failed = |error: io::Error| {
            Failure::new(FailureKind::State, error)
                .context(format!("{} can't be written", path.display()))
        };
        // As any file of the user's, less the umask; a temporary file is private otherwise.
        let mut staged = tempfile::Builder::new()
            .prefix(".lazaret-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(parent(path))
            .map_err(failed)?;
        let written = {
            let mut out = BufWriter::with_capacity(64 << 10, staged.as_file_mut());
            let written = write(&mut out)?;
            out.flush().map_err(failed)?;
            written
        };
        staged.as_file().sync_all().map_err(failed)?;
        match existing {
            Existing::Keep => staged.persist_noclobber(path),
            Existing::Replace => staged.persist(path),
        }
        .map_err(|error| failed(error.error))?;
        Ok(written)
    }

    /// Names the place for people, escaped.
    pub fn describe(&self) -> String {
        match self {
            Self::Stdout => "stdout".to_owned(),
            Self::File(path) => escape(path.as_os_str().as_encoded_bytes()),
        }
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

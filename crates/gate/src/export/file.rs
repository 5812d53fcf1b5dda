//! A report in a file, which appears whole or not at all.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lazaret_tree::is_git_name;

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// It stays, and the report is not written.
    Keep,
    /// The report replaces it.
    Replace,
}

/// Why a report can't go to a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path ends without a name.
    #[error("{} names no file", .path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// The directory that it would lie in can't be found.
    #[error("{} can't be written: its directory is not there", .path.display())]
    NoDirectory {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It lies below a `.git`.
    #[error("{} lies in a repository's .git, where nothing is written", .path.display())]
    InGit {
        /// The path.
        path: PathBuf,
    },
    /// Something else has its name.
    #[error("{} is there and is no regular file", .path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// It is to be kept.
    #[error("{} exists already", .path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The disk refuses.
    #[error("{} can't be written", .path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Looks whether a report could go there, before anything is computed.
///
/// # Errors
/// When the file exists and is to be kept, is no regular file, lies below a `.git`, or in
/// a directory that does not exist.
pub fn check(path: &Path, if_exists: IfExists) -> Result<(), FileError> {
    let owned = || path.to_owned();
    let Some(name) = path.file_name() else {
        return Err(FileError::NoName { path: owned() });
    };
    // Links on the way are the user's own, but what they lead to counts.
    let parent = fs::canonicalize(parent(path)).map_err(|source| FileError::NoDirectory {
        path: owned(),
        source,
    })?;
    let below_git = parent
        .iter()
        .chain([name])
        .any(|component| is_git_name(&component.to_string_lossy()));
    if below_git {
        return Err(FileError::InGit { path: owned() });
    }
    match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
            Err(FileError::NotRegular { path: owned() })
        }
        Ok(_) => match if_exists {
            IfExists::Replace => Ok(()),
            IfExists::Keep => Err(FileError::Exists { path: owned() }),
        },
    }
}

/// Writes a report. A file gets its name only once all of it is on the disk; a link that
/// has the name is replaced, not followed.
///
/// # Errors
/// What [`check`] says, what `write` says, or the disk.
pub fn write<T, E: From<FileError>>(
    path: &Path,
    if_exists: IfExists,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    check(path, if_exists)?;
    let failed = |source: io::Error| FileError::Write {
        path: path.to_owned(),
        source,
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
    match if_exists {
        IfExists::Keep => staged.persist_noclobber(path),
        IfExists::Replace => staged.persist(path),
    }
    .map_err(|error| failed(error.error))?;
    Ok(written)
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

//! `PathError`: an I/O error that says which path it is about.

use std::io;
use std::path::{Path, PathBuf};

/// An I/O error with the path it happened at.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}", path = .path.display())]
pub struct PathError {
    /// The path, as far as it was known when the call failed.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// Adds the path to the error of a fallible I/O call.
pub trait AtPath<T> {
    /// Names `path` in the error.
    ///
    /// # Errors
    /// The same error, as a [`PathError`].
    fn at(self, path: impl AsRef<Path>) -> Result<T, PathError>;
}

impl<T, E: Into<io::Error>> AtPath<T> for Result<T, E> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, PathError> {
        self.map_err(|error| PathError {
            path: path.as_ref().to_path_buf(),
            source: error.into(),
        })
    }
}

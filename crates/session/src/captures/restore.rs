//! Makes a capture a session again.

use std::fs;
use std::io;

use lazaret_runtime::SessionId;
use lazaret_tree::PathError;

use super::{Capture, CaptureError};
use crate::store::{Store, StoreError};

/// Makes a capture a session of its name, in which waits what waited. It has no volume.
///
/// # Errors
/// [`CaptureError::NotFound`], [`StoreError::Exists`], or the disk's.
pub fn restore(store: &Store, id: &SessionId) -> Result<(), CaptureError> {
    let capture = Capture::open(store, id)?;
    let path = store.session_path(id);
    // rename() replaces an empty directory at most, and a session is never empty.
    match fs::rename(capture.dir.path(), &path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
            ) =>
        {
            Err(StoreError::Exists { id: id.clone() }.into())
        }
        Err(source) => Err(PathError { path, source }.into()),
        Ok(()) => Ok(()),
    }
}

//! What the workspace has now at the paths of changes, to be shown before an apply.

use std::borrow::Borrow;
use std::os::fd::{AsFd as _, BorrowedFd};

use lazaret_tree::{AtPath as _, Change, Entry, PathError, RelPath};
use rustix::io::Errno;

use super::conflict::{ConflictKind, State, entry_of, is, open_parent, survey};
use super::ops::{HostOps, Ops};
use crate::WorkspaceDir;

/// How the host is at the path of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostState {
    /// As the change expects it.
    Expected,
    /// As it would be after the change: there is nothing to do (APP-09).
    Already,
    /// Neither; nothing is applied over it.
    Conflict(ConflictKind),
}

/// What is found at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryAt {
    /// Nothing.
    Nothing,
    /// Something that a tree can hold.
    Entry(Entry),
    /// A FIFO, a device, a link whose target no tree can hold; or it lies below a link or
    /// on another file system.
    Other,
}

/// Compares the host's state with what each change starts from. One answer for each
/// change; these are in path order.
///
/// # Errors
/// When the workspace can't be read.
pub fn host_states(
    workspace: &WorkspaceDir,
    changes: &[impl Borrow<Change>],
) -> Result<Vec<HostState>, PathError> {
    let states = survey(&HostOps::new(), workspace.as_fd(), changes)?;
    let host_state = |state| match state {
        State::Before(_) => HostState::Expected,
        State::After => HostState::Already,
        State::Conflict(kind) => HostState::Conflict(kind),
    };
    Ok(states.into_iter().map(host_state).collect())
}

/// Looks at one path, without following a link; a file is read and hashed.
///
/// # Errors
/// When it is there and can't be read.
pub fn inspect(workspace: &WorkspaceDir, path: &RelPath) -> Result<EntryAt, PathError> {
    inspect_with(&HostOps::new(), workspace.as_fd(), path)
}

fn inspect_with(ops: &dyn Ops, root: BorrowedFd<'_>, path: &RelPath) -> Result<EntryAt, PathError> {
    let parent = match open_parent(ops, root, path) {
        Ok(parent) => parent,
        Err(error) if is(&error, Errno::NOENT) || is(&error, Errno::NOTDIR) => {
            return Ok(EntryAt::Nothing);
        }
        Err(error) if is(&error, Errno::LOOP) || is(&error, Errno::XDEV) => {
            return Ok(EntryAt::Other);
        }
        Err(error) => return Err(error).at(path.as_str()),
    };
    let stat = match ops.stat_at(parent.as_fd(), path.file_name()) {
        Err(error) if is(&error, Errno::XDEV) => return Ok(EntryAt::Other),
        other => other.at(path.as_str())?,
    };
    let Some(stat) = stat else {
        return Ok(EntryAt::Nothing);
    };
    let entry = entry_of(ops, parent.as_fd(), path, &stat)?;
    Ok(entry.map_or(EntryAt::Other, EntryAt::Entry))
}

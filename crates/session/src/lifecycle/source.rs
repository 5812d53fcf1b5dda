//! `Source`: what of a workspace goes in.

use lazaret_transfer::{FileSelector, WorkspaceDir};

/// What of a workspace goes in.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The workspace.
    pub workspace: &'a WorkspaceDir,
    /// What of it.
    pub selector: &'a FileSelector,
}

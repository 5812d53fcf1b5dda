//! `WriteScope`: what of the copy of its workspace a command may change.

use serde::{Deserialize, Serialize};

/// How far a command reaches in the copy of its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteScope {
    /// Paths from the workspace's root that it may only read, with all below them.
    pub protect: Vec<String>,
    /// The folder that it starts in, from the workspace's root; `None` for the root itself.
    #[serde(default)]
    pub folder: Option<String>,
    /// Whether it may change what lies outside of that folder.
    #[serde(default)]
    pub outside: OutsideFolder,
}

/// What lies outside of the folder that a command starts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutsideFolder {
    /// It is the command's, like the folder.
    #[default]
    Open,
    /// Nothing but what is shared, which is protected; nothing can be made there.
    Closed,
}

impl WriteScope {
    /// Whether anything of the volume is root's while the command runs.
    pub fn is_fenced(&self) -> bool {
        !self.protect.is_empty() || self.outside == OutsideFolder::Closed
    }
}

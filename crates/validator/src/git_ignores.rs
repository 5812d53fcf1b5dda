//! `GitIgnores`: which new paths of a batch git ignores, by what held before the batch.

use std::fmt;

use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use crate::rules::git::ignores::{Ignores, Kind};
use crate::{Contents, GitConfig};

/// The ignore rules of a workspace: its `.gitignore` files as they were sent in, and what the
/// user's git reads beside them. No ignore file of the batch has a say, so a session can't move
/// its changes out of sight.
pub struct GitIgnores<'a> {
    baseline: &'a Tree,
    ignores: Ignores<'a>,
}

impl<'a> GitIgnores<'a> {
    /// Takes the rules; `contents` has the ignore files of `baseline`. A file that can't be read
    /// has no rules.
    pub fn new(baseline: &'a Tree, git: &GitConfig, contents: &'a dyn Contents) -> Self {
        Self {
            baseline,
            ignores: Ignores::new(git, contents),
        }
    }

    /// Returns what git ignores of a path: itself, or the outermost directory above it. In a
    /// repository within the workspace that is nothing, since its rules are others.
    pub fn place(&mut self, path: &RelPath, entry: &Entry) -> Option<RelPathBuf> {
        let baseline = self.baseline;
        let has_git = |dir: &RelPath| {
            let git = dir.join(".git").ok();
            git.is_some_and(|git| baseline.get(&git).is_some())
        };
        if path.ancestors().any(has_git) {
            return None;
        }
        let kind = match entry {
            Entry::Dir => Kind::Dir,
            Entry::File { .. } | Entry::Symlink { .. } => Kind::Other,
        };
        let place = self.ignores.hidden(path, kind, |path| baseline.get(path))?;
        RelPath::new(&place).ok().map(RelPath::to_owned)
    }
}

impl fmt::Debug for GitIgnores<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitIgnores").finish_non_exhaustive()
    }
}

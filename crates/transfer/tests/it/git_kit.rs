//! Copies of repositories.

use std::ops::Deref;

use lazaret_tests::git_world::{self, World};
use lazaret_transfer::{FileSelector, GitMode, SkipReason, Skipped};
use lazaret_tree::escape;

use crate::pack::{packed, selector};

/// A workspace as the command finds it, and what stayed out.
pub(crate) struct Copied {
    copied: git_world::Copied,
    skipped: Vec<Skipped>,
}

/// Copies a workspace as a session would.
#[track_caller]
pub(crate) fn copied(world: &World, workspace: &str, mode: GitMode) -> Copied {
    copied_with(world, workspace, &selector(mode, &[]))
}

#[track_caller]
pub(crate) fn copied_with(world: &World, workspace: &str, selector: &FileSelector) -> Copied {
    let (packed, stream) = packed(&world.path(workspace), selector);
    Copied {
        copied: git_world::Copied::unpack(stream),
        skipped: packed.skipped,
    }
}

impl Copied {
    /// What stayed out that is not a usual part of a repository.
    pub(crate) fn notable(&self) -> Vec<String> {
        let notable = |skip: &&Skipped| skip.reason != SkipReason::GitPart;
        let skipped = self.skipped.iter().filter(notable);
        skipped
            .map(|skip| format!("{} {}", escape(&skip.name), skip.reason.code()))
            .collect()
    }
}

impl Deref for Copied {
    type Target = git_world::Copied;

    fn deref(&self) -> &git_world::Copied {
        &self.copied
    }
}

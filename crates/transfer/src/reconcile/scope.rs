//! `SyncScope`: what takes part in a reconciliation.

use std::collections::BTreeSet;

use lazaret_tree::RelPath;

use crate::{SkipReason, Skipped};

/// Everything but what the host leaves out, and what lies below that.
#[derive(Debug)]
pub(super) struct SyncScope<'a> {
    left_out: BTreeSet<&'a [u8]>,
}

impl<'a> SyncScope<'a> {
    pub(super) fn of(skipped: &'a [Skipped]) -> Self {
        Self {
            left_out: skipped
                .iter()
                // Such a repository goes in, as far as it is here.
                .filter(|skipped| skipped.reason != SkipReason::GitPartial)
                .map(|skipped| &*skipped.name)
                .collect(),
        }
    }

    pub(super) fn has(&self, path: &RelPath) -> bool {
        let out = |path: &RelPath| self.left_out.contains(path.as_str().as_bytes());
        self.left_out.is_empty() || !out(path) && !path.ancestors().any(out)
    }

    /// Whether the repository takes part: parts of it are always left out, and that says
    /// nothing about the whole.
    pub(super) fn has_git(&self) -> bool {
        !self.left_out.contains(&b".git"[..])
    }
}

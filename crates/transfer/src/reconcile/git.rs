//! `.git`, as one thing: half of one repository and half of another is none.
//!
//! Its state is what `HEAD`, `refs/`, `packed-refs` and `reftable/` say, in it and in the
//! repositories of its submodules. Index, logs and
//! loose objects follow from that, or do not count as the agent's work. So they neither keep the
//! host's repository out, nor do they suffice to replace one in which the agent commits. If
//! commits wait in the copy, as after a reset that leaves them to a reflog, its repository stays
//! whatever its state is.

use lazaret_tree::{Entry, RelPath, Tree, is_git, is_git_state, is_git_state_path};

use super::plan_builder::PlanBuilder;
use super::{RepositoryPlan, Sides, SyncConflictKind, replace};
use crate::VolumeState;

/// What the repository of a copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyRepository {
    /// Work of its own, if it moved.
    Own,
    /// Work of its own that waits, whether it moved or not.
    Waiting,
    /// Nothing that the host's repository lacks, or nothing that is to be kept.
    Merged,
}

/// Decides the repository at the root.
pub(super) fn decide(sides: Sides<'_>, repository: CopyRepository, builder: &mut PlanBuilder) {
    let Sides {
        baseline,
        host,
        volume,
    } = sides;
    let Ok(git) = RelPath::new(".git") else {
        return;
    };
    let same = |one: &Tree, other: &Tree| one.below(git).eq(other.below(git));
    if repository != CopyRepository::Merged {
        if same(host, baseline) {
            return;
        }
        let copy = copy(volume);
        let moved = |tree: &Tree| !state(tree).eq(state(baseline));
        let agreed = same(host, &copy) && others(volume).next().is_none();
        let is_own = repository == CopyRepository::Waiting
            || moved(&copy)
            || others(volume).any(is_git_state_path);
        if !agreed && is_own {
            if moved(host) {
                builder.conflict(git, SyncConflictKind::BothChanged);
            }
            return;
        }
    }
    let mut whole = builder.clone();
    replace::decide(sides, &is_git, &mut whole);
    if whole.has_conflict_below(git) {
        return builder.conflict(git, SyncConflictKind::WouldHide);
    }
    whole.repository = RepositoryPlan::BecomesHosts;
    *builder = whole;
}

/// Returns the repository of the volume.
fn copy(volume: &VolumeState) -> Tree {
    let held = volume.iter().filter(|(path, _)| is_git(path));
    held.map(|(path, entry)| (path.to_owned(), entry.clone()))
        .collect()
}

/// Iterates over what lies in the repository of the volume and is not carried.
fn others(volume: &VolumeState) -> impl Iterator<Item = &[u8]> {
    let names = volume.unsupported().map(|(name, _)| name);
    names.filter(|name| *name == b".git" || name.starts_with(b".git/"))
}

/// Iterates over what says where a repository stands.
fn state(tree: &Tree) -> impl Iterator<Item = (&RelPath, &Entry)> {
    tree.iter()
        .filter(|(path, entry)| is_git_state(path, entry))
}

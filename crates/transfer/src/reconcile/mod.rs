//! `reconcile`: baseline, host and volume into what an update of the volume does.
//!
//! B is the baseline, H the host, V the volume; an entry is equal to another when type,
//! mode, contents and link target are.
//!
//! | | under [`AgentChanges::Keep`] |
//! |---|---|
//! | H = B | nothing: what the agent changed is the agent's |
//! | H ≠ B, V = B | H is sent, or removed |
//! | H = V ≠ B | adopted: nothing moves, the baseline takes it over |
//! | all three differ | a [`SyncConflict`]: V stays, and so does B, so that the gate sees both sides |
//!
//! A directory that the host removed and that still holds something in the volume stays,
//! in the baseline too. What the host leaves out takes no part: it neither moves nor goes.
//! `.git` is one thing; `git.rs` has its rules.
//!
//! Nothing here does any I/O.

mod git;
mod host_refs;
mod keep;
mod plan_builder;
mod replace;
mod scope;

use std::collections::BTreeMap;

use lazaret_protocol::{UpdateReceipt, UpdateRequest};
use lazaret_tree::{Entry, RelPathBuf, Tree, is_git};

use crate::{PendingUpdate, VolumeState, Walked};
use git::CopyRepository;
pub use host_refs::{
    HostRefs, PlannedRefs, RefsObstacle, RefsSides, check_copy, has_own_objects, lost_objects,
};
use plan_builder::PlanBuilder;
use scope::SyncScope;

/// What becomes of the agent's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChanges {
    /// They stay, whatever the host did.
    Keep,
    /// They stay, and so does the copy's repository, whatever its refs say: commits wait in it
    /// that no ref may name.
    KeepCommits,
    /// They were discarded: whatever takes part becomes as it is on the host. Caches stay,
    /// and so does what the host leaves out.
    Discard,
}

/// Why a change of the host does not go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncConflictKind {
    /// Both sides changed it, and not to the same.
    BothChanged,
    /// The directory that it would lie in is none in the volume any more.
    NoParent,
    /// Another type would bury what lies below it in the volume.
    WouldHide,
}

/// A path at which host and volume can't be brought together, and everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncConflict {
    /// Where.
    pub path: RelPathBuf,
    /// Why.
    pub kind: SyncConflictKind,
}

/// What becomes of the copy's repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RepositoryPlan {
    /// It stays as it is.
    #[default]
    Stays,
    /// It becomes that of the host.
    BecomesHosts,
}

/// What brings a volume up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// What the porter is to do.
    pub request: UpdateRequest,
    /// What host and volume have in common already, and the baseline had not: in path order.
    pub adopted: Vec<RelPathBuf>,
    /// Directories that the host removed and that are not empty in the volume: in path order.
    pub stays: Vec<RelPathBuf>,
    /// What stays as it is in the volume although the host changed it: in path order.
    pub conflicts: Vec<SyncConflict>,
    /// What the baseline holds once the order is carried out, where it may be something else
    /// than now; `None` is nothing.
    pub baseline_changes: BTreeMap<RelPathBuf, Option<Entry>>,
    /// What becomes of the copy's repository.
    pub repository: RepositoryPlan,
}

/// Decides what an update does. No other process may change the volume meanwhile.
pub fn reconcile(
    baseline: &Tree,
    host: &Walked,
    volume: &VolumeState,
    agent_changes: AgentChanges,
) -> SyncPlan {
    let repository = match agent_changes {
        AgentChanges::Keep => CopyRepository::Own,
        AgentChanges::KeepCommits => CopyRepository::Waiting,
        AgentChanges::Discard => CopyRepository::Merged,
    };
    decide(baseline, host, volume, agent_changes, repository)
}

/// Decides what an update does whose copy follows the host's repository again, since that has
/// everything of it: files as under [`AgentChanges::Keep`], and the host's repository.
pub fn follow(baseline: &Tree, host: &Walked, volume: &VolumeState) -> SyncPlan {
    let (files, repository) = (AgentChanges::Keep, CopyRepository::Merged);
    decide(baseline, host, volume, files, repository)
}

fn decide(
    baseline: &Tree,
    host: &Walked,
    volume: &VolumeState,
    agent_changes: AgentChanges,
    repository: CopyRepository,
) -> SyncPlan {
    let scope = SyncScope::of(&host.skipped);
    let sides = Sides {
        baseline,
        host: &host.tree,
        volume,
    };
    let mut builder = PlanBuilder::default();
    match agent_changes {
        AgentChanges::Keep | AgentChanges::KeepCommits => {
            keep::decide(sides, &scope, &mut builder);
        }
        AgentChanges::Discard => replace::decide(
            sides,
            &|path| scope.has(path) && !is_git(path),
            &mut builder,
        ),
    }
    if scope.has_git() {
        git::decide(sides, repository, &mut builder);
    }
    builder.finish()
}

impl SyncPlan {
    /// What has to be on disk before the order is given.
    pub fn pending_update(&self) -> PendingUpdate {
        let mut pending = PendingUpdate {
            gone: self.request.remove.clone(),
            there: self.request.send.clone(),
        };
        for path in self.adopted.iter().chain(&self.stays) {
            match self.baseline_changes.get(path) {
                Some(Some(entry)) => drop(pending.there.insert(path.clone(), entry.clone())),
                Some(None) | None => pending.gone.push(path.clone()),
            }
        }
        pending.gone.sort_unstable();
        pending.gone.dedup();
        pending
    }

    /// Advances the baseline that the plan was made from to what holds once the porter's
    /// receipt has come.
    pub fn settled(&self, mut baseline: Tree, receipt: &UpdateReceipt) -> Tree {
        for (path, entry) in &self.baseline_changes {
            match entry {
                Some(entry) => drop(baseline.insert(path.clone(), entry.clone())),
                None => drop(baseline.remove(path)),
            }
        }
        for path in &receipt.stayed {
            for path in path.ancestors().chain([&**path]) {
                if baseline.get(path).is_none() {
                    baseline.insert(path.to_owned(), Entry::Dir);
                }
            }
        }
        baseline
    }
}

/// The three trees.
#[derive(Debug, Clone, Copy)]
struct Sides<'a> {
    baseline: &'a Tree,
    host: &'a Tree,
    volume: &'a VolumeState,
}

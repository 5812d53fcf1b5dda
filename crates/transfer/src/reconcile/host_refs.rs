//! The host's branches as refs of a copy that keeps its own repository (GIT-28).
//!
//! They go in as `refs/remotes/host/BRANCH`, beside a pack of what the copy lacks. What the
//! command put at such a path stays.

use std::collections::BTreeMap;

use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use super::{SyncConflictKind, SyncPlan};
use crate::pack::Overlay;
use crate::volume_state::VolumeEntry;
use crate::{ObjectId, VolumeState};

/// Where the refs lie in a copy.
const REFS: &str = ".git/refs/remotes/host";

/// Why no refs can be put into a copy's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefsObstacle {
    /// It keeps refs in tables, which only git writes.
    #[error("its repository keeps refs in tables (reftable)")]
    Tables,
    /// Its history ends elsewhere than that of the host's repository.
    #[error("its history is shallow, and yours ends elsewhere")]
    Shallow,
    /// Something lies where its objects or refs should.
    #[error("its repository has something else where objects or refs lie")]
    InTheWay,
}

/// What of the host's branches goes into a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRefs {
    /// The host's branches by name, and what they name.
    pub branches: BTreeMap<String, ObjectId>,
    /// The branch that the host has checked out, if it is one of them.
    pub head: Option<String>,
    /// The host's commit, if `HEAD` is on no branch.
    pub detached: Option<ObjectId>,
}

/// What became of the host's refs in a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedRefs {
    /// Branches whose refs are sent, by name.
    pub sent: Vec<String>,
    /// Branches of whose refs the command has made its own: they stay.
    pub stay: Vec<String>,
}

/// Looks whether refs and packs can be put into the repository of `volume`.
///
/// # Errors
/// Why not.
pub fn check_copy(host: &Tree, baseline: &Tree, volume: &VolumeState) -> Result<(), RefsObstacle> {
    let at =
        |path: &str| RelPath::new(path).map_or(VolumeEntry::Unsupported, |path| volume.at(path));
    let sent = |tree: &Tree| {
        RelPath::new(".git/shallow")
            .ok()
            .and_then(|path| tree.get(path).cloned())
    };
    if at(".git/reftable") != VolumeEntry::Absent {
        return Err(RefsObstacle::Tables);
    }
    let held = match at(".git/shallow") {
        VolumeEntry::Absent => None,
        VolumeEntry::Known(entry) => Some(entry.clone()),
        VolumeEntry::Cache | VolumeEntry::Unsupported => return Err(RefsObstacle::Shallow),
    };
    if sent(host) != held || sent(baseline) != held {
        return Err(RefsObstacle::Shallow);
    }
    let is_dir = |path| matches!(at(path), VolumeEntry::Known(Entry::Dir));
    match [".git", ".git/objects", ".git/refs"]
        .into_iter()
        .all(is_dir)
    {
        true => Ok(()),
        false => Err(RefsObstacle::InTheWay),
    }
}

/// Returns true if a copy lacks objects that were sent to it and has no pack of its own, as after
/// `rm -rf .git; git init`.
pub fn lost_objects(baseline: &Tree, volume: &VolumeState) -> bool {
    let (Ok(objects), Ok(packs)) = (
        RelPath::new(".git/objects"),
        RelPath::new(".git/objects/pack"),
    ) else {
        return true;
    };
    let mut held = volume.below(packs);
    let has_own_pack = held.any(|(path, _)| baseline.get(path).is_none());
    let mut sent = baseline.below(objects);
    !has_own_pack && sent.any(|(path, _)| volume.get(path).is_none())
}

/// Whether git made objects in the copy: each that it did not get is a file that was not sent.
pub fn has_own_objects(baseline: &Tree, volume: &VolumeState) -> bool {
    let Ok(objects) = RelPath::new(".git/objects") else {
        return true;
    };
    let mut files = volume
        .below(objects)
        .filter(|(_, entry)| **entry != Entry::Dir);
    files.any(|(path, _)| baseline.get(path).is_none())
}

/// Returns the path of the ref of a branch; `None` if no path can be made of its name.
fn ref_path(branch: &str) -> Option<RelPathBuf> {
    RelPath::new(REFS).ok()?.join(branch).ok()
}

impl HostRefs {
    /// Leaves out branches that stand where they stood when all of the repository was sent, and
    /// that have no ref in the copy: it has them under their own names. What is checked out stays
    /// in.
    pub fn keep_news(&mut self, sent: &dyn Fn(&ObjectId) -> bool, volume: &VolumeState) {
        let head = self.head.clone();
        self.branches.retain(|branch, id| {
            let there = ref_path(branch).is_some_and(|path| volume.get(&path).is_some());
            !sent(id) || there || head.as_ref() == Some(branch)
        });
    }
}

impl SyncPlan {
    /// Whether the copy keeps its own repository although the host's moved.
    pub fn keeps_repository(&self) -> bool {
        let mut conflicts = self.conflicts.iter();
        conflicts.any(|conflict| {
            conflict.path.as_str() == ".git" && conflict.kind == SyncConflictKind::BothChanged
        })
    }

    /// Adds files to what is sent: the pack, which lies in `overlay` already, and the refs, which
    /// are added to it. The repository is no conflict any more.
    ///
    /// # Errors
    /// When something of the command's lies where the pack would: the plan is as it was.
    pub fn add_host_refs(
        &mut self,
        refs: &HostRefs,
        overlay: &mut Overlay,
        sides: RefsSides<'_>,
    ) -> Result<PlannedRefs, RefsObstacle> {
        let mut adding = Adding {
            sides,
            added: BTreeMap::new(),
        };
        let packs = overlay.tree().clone();
        for (path, entry) in packs.iter() {
            if !adding.put(path, entry) {
                return Err(RefsObstacle::InTheWay);
            }
        }
        let mut planned = PlannedRefs::default();
        let branches = refs.branches.iter();
        let mut wanted: Vec<(&str, String)> = branches
            .map(|(name, id)| (&**name, format!("{id}\n")))
            .collect();
        match (&refs.head, &refs.detached) {
            (Some(head), _) => wanted.push(("HEAD", format!("ref: refs/remotes/host/{head}\n"))),
            (None, Some(id)) => wanted.push(("HEAD", format!("{id}\n"))),
            (None, None) => {}
        }
        let mut stale: BTreeMap<RelPathBuf, ()> = adding.stale();
        for (name, text) in wanted {
            let Some(path) = ref_path(name) else {
                planned.stay.push(name.to_owned());
                continue;
            };
            stale.remove(&path);
            let entry = overlay.entry_of(text.as_bytes());
            match adding.put(&path, &entry) {
                true if adding.added.contains_key(&path) => {
                    overlay.add_text(path, text.into_bytes());
                    planned.sent.push(name.to_owned());
                }
                true => {}
                false => planned.stay.push(name.to_owned()),
            }
        }
        for (path, entry) in adding.added {
            self.baseline_changes
                .insert(path.clone(), Some(entry.clone()));
            self.request.send.insert(path, entry);
        }
        for path in stale.into_keys() {
            self.baseline_changes.insert(path.clone(), None);
            self.request.remove.push(path);
        }
        self.request.remove.sort_unstable();
        self.conflicts
            .retain(|conflict| conflict.path.as_str() != ".git");
        Ok(planned)
    }
}

/// What refs are held against.
#[derive(Debug, Clone, Copy)]
pub struct RefsSides<'a> {
    /// What workspace and volume last had in common.
    pub baseline: &'a Tree,
    /// What the workspace holds.
    pub host: &'a Tree,
    /// What the volume holds.
    pub volume: &'a VolumeState,
}

/// Files that are being added to a plan.
struct Adding<'a> {
    sides: RefsSides<'a>,
    added: BTreeMap<RelPathBuf, Entry>,
}

impl Adding<'_> {
    /// Adds a file, and the directories above it that are missing, unless it is there. Returns
    /// false if something of the command's is in the way.
    fn put(&mut self, path: &RelPath, entry: &Entry) -> bool {
        let mut missing = Vec::new();
        for above in path.ancestors() {
            match (self.sides.volume.at(above), self.added.get(above)) {
                (_, Some(Entry::Dir)) | (VolumeEntry::Known(Entry::Dir), None) => {}
                (VolumeEntry::Absent, None) => missing.push(above.to_owned()),
                _ => return false,
            }
        }
        match self.sides.volume.at(path) {
            VolumeEntry::Known(held) if held == entry => return true,
            VolumeEntry::Absent => {}
            // What was sent before is replaced.
            VolumeEntry::Known(held @ Entry::File { .. })
                if self.sides.baseline.get(path) == Some(held) => {}
            _ => return false,
        }
        let dirs = missing.into_iter().map(|dir| (dir, Entry::Dir));
        self.added.extend(dirs);
        self.added.insert(path.to_owned(), entry.clone());
        true
    }

    /// Lists refs that were sent, and that the command has left as they were.
    fn stale(&self) -> BTreeMap<RelPathBuf, ()> {
        let RefsSides {
            baseline,
            host,
            volume,
        } = self.sides;
        let Ok(refs) = RelPath::new(REFS) else {
            return BTreeMap::new();
        };
        let sent = baseline.below(refs).filter(|(path, entry)| {
            **entry != Entry::Dir && volume.get(path) == Some(entry) && host.get(path).is_none()
        });
        sent.map(|(path, _)| (path.to_owned(), ())).collect()
    }
}

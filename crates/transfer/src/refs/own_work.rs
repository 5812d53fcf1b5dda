//! `OwnWork`: what a copy's repository names that it did not get from the host.
//!
//! [`new_refs`](super::new_refs) lists what the user's repository lacks. Here it does not matter
//! whether it was landed since: a copy can follow the host's repository only if the host's
//! branches reach all of it (GIT-28), and that is asked of the host's git when the copy is
//! brought up to date.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_protocol::{FormatTag, RecordError, RecordReader, RecordWriter};
use lazaret_tree::{Digest, Entry, FieldHasher, RelPath, Tree};

use super::repository::Repository;
use super::{MOST_STEPS, MOST_TEXTS, NewRefKind, ObjectId, Sides, Texts, Tips};
use crate::VolumeState;
use crate::volume_state::VolumeEntry;

const MAGIC: FormatTag = *b"lzown  1";

/// What there is while a merge, a rebase or a bisection is under way, and what belongs to other
/// working trees and repositories: a copy that has any of it keeps its repository.
const IN_PROGRESS: [&str; 8] = [
    "BISECT_LOG",
    "CHERRY_PICK_HEAD",
    "MERGE_HEAD",
    "REVERT_HEAD",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
    "worktrees",
];

/// What the repository of a copy names of its own, as it was when it was collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnWork {
    /// Of everything in `.git` that is not as it was sent.
    state: Digest,
    /// What its changed refs name.
    pub tips: Tips,
    /// The commit that is checked out, if `HEAD` or its branch is not as it was sent.
    pub head: Option<ObjectId>,
    /// What its reflogs and its index name and was made inside.
    pub held: Tips,
}

/// Lists what the repository in `volume` names of its own. `None` if that can't be told: a file
/// of git's can't be read, a repository of a submodule moved, or a merge or rebase is under way.
/// The arguments are those of [`new_refs`](super::new_refs).
pub fn own_work(
    baseline: &Tree,
    volume: &VolumeState,
    tips: &Tips,
    texts: &Texts<'_>,
) -> Option<OwnWork> {
    let git = RelPath::new(".git").ok()?;
    let (room, steps) = (Cell::new(MOST_TEXTS), Cell::new(MOST_STEPS));
    let sides = Sides {
        baseline,
        volume,
        tips,
        texts,
        room: &room,
        steps: &steps,
    };
    let is_there = |name: &str| {
        let path = git.join(name);
        path.is_ok_and(|path| volume.at(&path) != VolumeEntry::Absent)
    };
    if IN_PROGRESS.iter().any(|name| is_there(name)) || !modules_stand(baseline, volume) {
        return None;
    }
    let mut repository = Repository::at(git, sides)?;
    repository.find_odd();
    let refs = repository.changed_refs();
    let heads = repository.changed_heads();
    let detached = heads.iter().find(|(kind, ..)| *kind == NewRefKind::Head);
    let head = match detached {
        Some((.., id)) => Some(*id),
        None => checked_out(baseline, volume, &refs)?,
    };
    let held = repository.held()?;
    if !repository.take_unreadable().is_empty() {
        return None;
    }
    Some(OwnWork {
        state: state(baseline, volume),
        tips: refs.into_values().flatten().chain(head).collect(),
        head,
        held: held.into_iter().collect(),
    })
}

impl OwnWork {
    /// Returns true if the copy's repository is still what it was when this was found.
    pub fn is_of(&self, baseline: &Tree, volume: &VolumeState) -> bool {
        self.state == state(baseline, volume)
    }

    /// Writes it as one checked, versioned list; see [`messages`](lazaret_protocol::messages).
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        frame.tag(b's')?.bytes(self.state.as_bytes())?;
        for (tag, ids) in [(b't', self.tips.ids()), (b'o', self.held.ids())] {
            for id in ids {
                frame.tag(tag)?.bytes(id.as_bytes())?;
            }
        }
        if let Some(head) = &self.head {
            frame.tag(b'h')?.bytes(head.as_bytes())?;
        }
        frame.finish()
    }

    /// Reads what [`OwnWork::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, or of another version.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let malformed = RecordError::Malformed { what: "an id" };
        let mut frame = RecordReader::new(input, MAGIC, "list of a copy's own work of version 1")?;
        let (mut state, mut head) = (None, None);
        let (mut tips, mut held) = (Vec::new(), Vec::new());
        while let Some(tag) = frame.tag()? {
            let bytes = frame.bytes()?;
            let id = ObjectId::from_bytes(bytes);
            match (tag, id) {
                (b's', _) => state = <[u8; 32]>::try_from(bytes).ok().map(Digest::from),
                (b't', Some(id)) => tips.push(id),
                (b'o', Some(id)) => held.push(id),
                (b'h', Some(id)) => head = Some(id),
                _ => return Err(malformed),
            }
        }
        Ok(Self {
            state: state.ok_or(malformed)?,
            tips: tips.into_iter().collect(),
            head,
            held: held.into_iter().collect(),
        })
    }
}

/// Returns the commit of the branch that `HEAD` names, if that branch is not as it was sent. The
/// outer `None` says that `HEAD` was changed to name something else.
fn checked_out(
    baseline: &Tree,
    volume: &VolumeState,
    refs: &BTreeMap<Vec<u8>, Option<ObjectId>>,
) -> Option<Option<ObjectId>> {
    let path = RelPath::new(".git/HEAD").ok()?;
    let Some(Entry::File { digest, .. }) = volume.get(path) else {
        return None;
    };
    let names = |name: &[u8]| Digest::of(&[b"ref: ", name, b"\n"].concat()) == *digest;
    let mut named = refs.iter().filter(|(name, _)| names(name));
    match named.next().and_then(|(_, id)| *id) {
        Some(id) => Some(Some(id)),
        None => (volume.get(path) == baseline.get(path)).then_some(None),
    }
}

/// Whether the repositories of submodules are as they were sent.
fn modules_stand(baseline: &Tree, volume: &VolumeState) -> bool {
    let Ok(modules) = RelPath::new(".git/modules") else {
        return false;
    };
    let is_state = |(path, entry): &(&RelPath, &Entry)| lazaret_tree::is_git_state(path, entry);
    volume.unsupported_below(modules).next().is_none()
        && (volume.below(modules).filter(is_state)).eq(baseline.below(modules).filter(is_state))
}

/// Returns a digest of everything in `.git` that is not as it was sent.
fn state(baseline: &Tree, volume: &VolumeState) -> Digest {
    let mut hasher = FieldHasher::default();
    let Ok(git) = RelPath::new(".git") else {
        return hasher.finish();
    };
    let mut field = |kind: &[u8], name: &[u8], what: &[u8]| {
        for bytes in [kind, name, what] {
            hasher.field(bytes);
        }
    };
    for (path, entry) in volume.below(git) {
        if baseline.get(path) != Some(entry) {
            field(
                b"there",
                path.as_str().as_bytes(),
                format!("{entry:?}").as_bytes(),
            );
        }
    }
    for (path, _) in baseline.below(git) {
        if volume.get(path).is_none() {
            field(b"gone", path.as_str().as_bytes(), b"");
        }
    }
    for (name, kind) in volume.unsupported_below(git) {
        field(b"odd", name, format!("{kind:?}").as_bytes());
    }
    hasher.finish()
}

//! `Objects`: which objects of a repository were made inside, by where their files lie.
//!
//! What git makes is a file of its own at first, named by the object. So one that lies in the
//! volume and was not sent in was made inside; one that lies nowhere is in a pack that was sent
//! in, or it is missing. Only where there are packs that were not sent in, because a process
//! repacked or fetched, that can't be told.

use std::cell::OnceCell;

use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use super::{ObjectId, Tips};
use crate::VolumeState;
use crate::volume_state::VolumeEntry;

/// Where an object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was sent in, or it is nowhere.
    Sent,
    /// It was made inside.
    Inside,
    /// It may have been made inside.
    Unclear,
}

/// The objects of one repository.
pub(super) struct Objects<'a> {
    /// The directory `objects`.
    dir: RelPathBuf,
    baseline: &'a Tree,
    volume: &'a VolumeState,
    tips: &'a Tips,
    /// Whether objects may lie where they have no file of their own.
    is_opaque: OnceCell<bool>,
}

impl<'a> Objects<'a> {
    pub(super) fn of(
        dir: RelPathBuf,
        baseline: &'a Tree,
        volume: &'a VolumeState,
        tips: &'a Tips,
    ) -> Self {
        Self {
            dir,
            baseline,
            volume,
            tips,
            is_opaque: OnceCell::new(),
        }
    }

    /// Says where an object comes from.
    pub(super) fn origin(&self, id: &ObjectId) -> Origin {
        if id.is_zero() || self.tips.has(id) {
            return Origin::Sent;
        }
        let hex = id.to_string();
        let (shard, rest) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        let Ok(path) = self.dir.join(&format!("{shard}/{rest}")) else {
            return Origin::Unclear;
        };
        if self.baseline.get(&path).is_some() {
            return Origin::Sent;
        }
        if !matches!(self.volume.at(&path), VolumeEntry::Absent) {
            return Origin::Inside;
        }
        let is_plain = path.parent().is_none_or(|shard| self.is_plain(shard));
        match is_plain && !*self.is_opaque.get_or_init(|| self.hides_any()) {
            true => Origin::Sent,
            false => Origin::Unclear,
        }
    }

    /// Whether a directory is one, or is not there.
    fn is_plain(&self, dir: &RelPath) -> bool {
        matches!(
            self.volume.at(dir),
            VolumeEntry::Absent | VolumeEntry::Known(Entry::Dir)
        )
    }

    fn hides_any(&self) -> bool {
        let is_elsewhere = |name: &str| match self.dir.join(name) {
            Ok(path) => !matches!(self.volume.at(&path), VolumeEntry::Absent),
            Err(_) => true,
        };
        let is_odd = |name: &str| match self.dir.join(name) {
            Ok(path) => !self.is_plain(&path),
            Err(_) => true,
        };
        !self.is_plain(&self.dir)
            || is_odd("pack")
            || is_odd("info")
            || is_elsewhere("info/alternates")
            || is_elsewhere("info/http-alternates")
            || self.volume.unsupported_below(&self.dir).next().is_some()
            || self.has_new_pack()
    }

    fn has_new_pack(&self) -> bool {
        let Ok(packs) = self.dir.join("pack") else {
            return true;
        };
        let mut held = self.volume.below(&packs);
        held.any(|(path, entry)| self.baseline.get(path) != Some(entry))
    }
}

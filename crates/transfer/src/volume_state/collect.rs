//! A state as the gate sees it.

use std::collections::BTreeSet;

use lazaret_protocol::{FoundKind, Wanted};
use lazaret_tree::{
    Adjustment, Ascending, Entry, LinkTarget, RejectedEntry, RelPath, Tree, finding_code,
};

use super::{Origin, VolumeState};
use crate::{Collection, SkipReason, Skipped};

impl VolumeState {
    /// Returns what the volume holds, as far as lazaret carries it. What stays behind, and
    /// everything below it, is as it was in the baseline.
    pub fn collect(&self, baseline: &Tree) -> Collection {
        let mut collection = Collection {
            tree: self.tree(),
            refusals: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        for (path, known) in &self.known {
            if let Origin::Found { links } = known.origin {
                let (name, mode) = (path.as_str().as_bytes(), known.identity.mode);
                collection.notes.extend(special(name, mode));
                collection
                    .notes
                    .extend((links > 1).then(|| linked(name, links)));
            }
        }
        for (name, kind) in &self.unsupported {
            match RelPath::from_bytes(name) {
                Err(error) => collection.refusals.push(RejectedEntry::new(
                    &**name,
                    error.code(),
                    error.to_string(),
                )),
                Ok(path) => {
                    collection.restore(baseline, path);
                    match refusal(name, kind) {
                        Some(refusal) => collection.refusals.push(refusal),
                        None => collection.left_out.push(Skipped {
                            name: name.clone(),
                            reason: SkipReason::Cache,
                            bytes: None,
                        }),
                    }
                }
            }
        }
        collection
    }

    /// Returns what of `baseline` the volume has differently, or no longer.
    pub fn replaced(&self, baseline: &Tree) -> Tree {
        let mut known = Ascending::over(self.iter());
        let replaced = baseline
            .entries()
            .filter(|(path, entry)| known.get(path) != Some(entry));
        replaced
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect()
    }

    /// Lists the files that have to be fetched: changed against `baseline`, be it
    /// their mode alone, [covered](Wanted::covers), and each content once.
    ///
    /// The bytes of a file that only became executable are fetched, too: what is
    /// applied comes from the session, never from a workspace that can change.
    pub fn wanted(&self, baseline: &Tree) -> Vec<Wanted> {
        let mut digests = BTreeSet::new();
        let mut wanted = Vec::new();
        let mut old = Ascending::over(baseline.iter());
        for (path, known) in &self.known {
            let Entry::File { digest, size, .. } = &known.entry else {
                continue;
            };
            let is_old = old.get(path) == Some(&known.entry);
            if is_old || !Wanted::covers(path, *size) || !digests.insert(*digest) {
                continue;
            }
            wanted.push(Wanted {
                path: path.clone(),
                identity: known.identity,
                digest: Some(*digest),
            });
        }
        wanted
    }
}

/// Setgid and sticky directories are common; nothing of them is kept.
fn special(name: &[u8], mode: u32) -> Option<Adjustment> {
    let special = mode & 0o7000;
    (special != 0).then(|| Adjustment {
        name: name.to_vec(),
        code: finding_code::MODE_SPECIAL,
        reason: format!("the mode bits {special:04o} are dropped"),
    })
}

fn linked(name: &[u8], links: u32) -> Adjustment {
    Adjustment {
        name: name.to_vec(),
        code: finding_code::LINK_HARD,
        reason: format!("one of {links} names of a file; becomes a copy"),
    }
}

/// Returns why something at a good path stays behind; `None` for a cache.
fn refusal(name: &[u8], kind: &FoundKind) -> Option<RejectedEntry> {
    match kind {
        FoundKind::Special(odd) => Some(RejectedEntry::new(
            name.to_vec(),
            odd.code(),
            odd.describe(),
        )),
        FoundKind::Symlink { target, .. } => {
            let error = LinkTarget::from_bytes(target).err()?;
            Some(RejectedEntry::new(name, error.code(), error.to_string()))
        }
        FoundKind::Cache | FoundKind::BadName | FoundKind::Dir { .. } | FoundKind::File { .. } => {
            None
        }
    }
}

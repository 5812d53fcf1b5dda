//! `Collection`: what came out of a session, before its contents are fetched.

use lazaret_protocol::Wanted;
use lazaret_tree::{Adjustment, Entry, RejectedEntry, RelPath, RelPathBuf, Tree, escape};

use crate::Skipped;

/// What the volume holds now, as far as lazaret carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// What lies in the volume and is carried. What stays behind, and
    /// everything below it, is as it was in the baseline: what cannot be carried
    /// is neither a change nor a deletion.
    pub tree: Tree,
    /// What lies in the volume and is not carried.
    pub refusals: Vec<RejectedEntry>,
    /// Cache directories that appeared: as on the way in, they stay where they are.
    pub left_out: Vec<Skipped>,
    /// What was made safe: `mode.special`, `link.hard`.
    pub notes: Vec<Adjustment>,
}

impl Collection {
    /// Takes `path` and everything below it out: it is as it was in the baseline, and nothing is
    /// said of it. If the volume has no directory to hold it any more, it is gone with that.
    pub fn leave_out(&mut self, baseline: &Tree, path: &RelPath) {
        let found: Vec<RelPathBuf> = (self.tree.below(path))
            .map(|(path, _)| path.to_owned())
            .collect();
        for path in found {
            self.tree.remove(&path);
        }
        let has_place = |parent: &RelPath| matches!(self.tree.get(parent), Some(Entry::Dir));
        if path.parent().is_none_or(has_place) {
            self.restore(baseline, path);
        }
        let is_other = |name: &[u8]| {
            let rest = name.strip_prefix(path.as_str().as_bytes());
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.refusals.retain(|refusal| is_other(&refusal.name));
        self.left_out.retain(|skipped| is_other(&skipped.name));
        self.notes.retain(|note| is_other(&note.name));
    }

    /// Puts a path that stays behind back as it was, with what lay below it.
    pub(crate) fn restore(&mut self, baseline: &Tree, path: &RelPath) {
        // What lies above it in the volume is a directory, or the survey contradicts itself;
        // in the baseline it may have been nothing, and then nothing is put back.
        for (other, entry) in baseline.below(path) {
            self.tree.insert(other.to_owned(), entry.clone());
        }
    }
}

/// A blob that did not arrive as it was announced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: what was sent is not what was surveyed", escape(.path.as_str().as_bytes()))]
pub struct SurveyMismatch {
    /// Where.
    pub path: RelPathBuf,
}

/// Compares what arrived with what was asked for.
///
/// # Errors
/// The first file that is missing, or has other bytes.
pub fn verify_received(wanted: &[Wanted], arrived: &Tree) -> Result<(), SurveyMismatch> {
    for Wanted {
        path,
        identity,
        digest,
    } in wanted
    {
        match arrived.get(path) {
            Some(Entry::File {
                size,
                digest: arrived,
                ..
            }) if *size == identity.size && digest.is_none_or(|digest| digest == *arrived) => {}
            _ => return Err(SurveyMismatch { path: path.clone() }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lazaret_tree::{Adjustment, Digest, Mode, RejectedEntry, finding_code};

    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        let entry = |path: &str| match path.strip_suffix('/') {
            Some(dir) => (dir.parse().unwrap(), Entry::Dir),
            None => {
                let digest = Digest::of(path.as_bytes());
                let (mode, size) = (Mode::Plain, 1);
                (path.parse().unwrap(), Entry::File { mode, size, digest })
            }
        };
        paths.iter().map(|path| entry(path)).collect()
    }

    #[track_caller]
    fn left(baseline: &[&str], volume: &[&str], path: &str) -> String {
        let mut collection = Collection {
            tree: tree(volume),
            refusals: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        let path: RelPathBuf = path.parse().unwrap();
        collection.leave_out(&tree(baseline), &path);
        let left = collection.tree.iter().map(|(path, _)| path.as_str());
        left.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_left_out_is_as_it_was() {
        for (baseline, volume, path, expected) in [
            (&["a"][..], &["a", "p"][..], "p", "a"),
            (&["a", "p"], &["a"], "p", "a p"),
            (&["p"], &["p/", "p/x"], "p", "p"),
            (&["p/", "p/x"], &["p"], "p", "p p/x"),
            (&[], &["d/", "d/p", "d/p2"], "d/p", "d d/p2"),
            (&["d/", "d/p"], &["d/"], "d/p", "d d/p"),
            // The directory was removed, or became a file: that is a change.
            (&["d/", "d/p"], &[], "d/p", ""),
            (&["d/", "d/p"], &["d"], "d/p", "d"),
        ] {
            assert_eq!(left(baseline, volume, path), expected, "{volume:?}");
        }
    }

    #[test]
    fn nothing_is_said_of_what_is_left_out() {
        let refused = |name: &str| RejectedEntry::new(name, finding_code::TYPE_FIFO, "a FIFO");
        let noted = |name: &str| Adjustment {
            name: name.into(),
            code: finding_code::LINK_HARD,
            reason: "linked".to_owned(),
        };
        let mut collection = Collection {
            tree: Tree::new(),
            refusals: ["p", "p/x", "pp"].map(refused).into(),
            left_out: Vec::new(),
            notes: ["p", "q"].map(noted).into(),
        };
        collection.leave_out(&Tree::new(), RelPath::new("p").unwrap());
        let refused = collection.refusals.iter().map(|one| &one.name[..]);
        assert_eq!(refused.collect::<Vec<_>>(), [b"pp"]);
        let noted = collection.notes.iter().map(|one| &one.name[..]);
        assert_eq!(noted.collect::<Vec<_>>(), [b"q"]);
    }
}

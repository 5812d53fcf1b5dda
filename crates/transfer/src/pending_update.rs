//! `PendingUpdate`: what an update is about to do, on disk before it does it.
//!
//! The porter may be killed after any rename, and the host at any time. What had arrived by
//! then is the host's edit, not the agent's; with the baseline of before it would look like
//! the agent's. So the host writes down what is to be, and when it comes back and finds just
//! that in the volume, it counts as sent.

use std::io::{self, Read, Write};

use lazaret_protocol::{Bare, FormatTag, RecordError, RecordReader, RecordWriter};
use lazaret_tree::{RelPathBuf, Tree, is_git, is_git_state};

use crate::VolumeState;
use crate::volume_state::VolumeEntry;

const MAGIC: FormatTag = *b"lzintn 1";

/// What will be in the volume once an update is through.
///
/// It is written before the order is given, and removed once the baseline that follows from
/// the receipt is on disk. If it is found later, [`PendingUpdate::fold_into_baseline`] comes before anything else
/// that moves the baseline; the folded baseline is stored, and then the intent goes, or is
/// replaced by the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingUpdate {
    /// What will not be there, or was not there for a moment; in path order.
    pub gone: Vec<RelPathBuf>,
    /// What will be there: a part of a tree, to which the parents may be missing.
    pub there: Tree,
}

impl PendingUpdate {
    /// Takes into the baseline what had been done when the update ended, given what the
    /// volume holds now.
    ///
    /// What the agent changed after that, and before this, is the agent's; unless it put
    /// back exactly what had been there before the update, which can't be told from an
    /// update that did not come so far.
    pub fn fold_into_baseline(&self, mut baseline: Tree, volume: &VolumeState) -> Tree {
        if self.has_broken_git(&baseline, volume) {
            // Half of the host's repository is not the agent's work: the next update replaces it.
            let old: Vec<_> = baseline.iter().map(|(path, _)| path.to_owned()).collect();
            for path in old.iter().filter(|path| is_git(path)) {
                baseline.remove(path);
            }
            for (path, entry) in volume.iter().filter(|(path, _)| is_git(path)) {
                baseline.insert(path.to_owned(), entry.clone());
            }
        }
        for path in &self.gone {
            if volume.at(path) == VolumeEntry::Absent {
                baseline.remove(path);
            }
        }
        for (path, entry) in self.there.iter() {
            if volume.at(path) == VolumeEntry::Known(entry) {
                baseline.insert(path.to_owned(), entry.clone());
            }
        }
        baseline
    }

    /// Whether a repository was being replaced, the update did not come to its end, and the
    /// agent has not moved the repository since.
    fn has_broken_git(&self, baseline: &Tree, volume: &VolumeState) -> bool {
        let mut there = self.there.iter().filter(|(path, _)| is_git(path));
        let mut gone = self.gone.iter().filter(|path| is_git(path));
        let is_whole = there.all(|(path, entry)| volume.at(path) == VolumeEntry::Known(entry))
            && gone.all(|path| {
                self.there.get(path).is_some() || volume.at(path) == VolumeEntry::Absent
            });
        let mut state = volume
            .iter()
            .filter(|(path, entry)| is_git_state(path, entry));
        let is_known = state.all(|(path, entry)| {
            baseline.get(path) == Some(entry) || self.there.get(path) == Some(entry)
        });
        !is_whole && is_known
    }

    /// Writes the intent as one checked, versioned list; see [`messages`](lazaret_protocol::messages).
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        for path in &self.gone {
            frame.record(path, &Bare::<b'g'>)?;
        }
        for (path, entry) in self.there.iter() {
            frame.record(path, entry)?;
        }
        frame.finish()
    }

    /// Reads what [`PendingUpdate::write_to`] wrote.
    ///
    /// # Errors
    /// When it is cut off, changed, of another version, or not in path order.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, RecordError> {
        let mut frame = RecordReader::new(input, MAGIC, "intent of version 1")?;
        let gone = frame.list::<Bare<b'g'>>();
        let gone = gone.map(|record| Ok(record?.0));
        let gone = gone.collect::<Result<_, RecordError>>()?;
        let there = frame.list().collect::<Result<_, _>>()?;
        frame.finish()?;
        Ok(Self { gone, there })
    }
}

//! `Moves`: files that were renamed, also where they changed on the way (SUS-39).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use lazaret_tree::{Change, Entry, RelPath};

use crate::rules::Context;
use crate::rules::content::file_pair::{FileSide, lines, read};
use crate::rules::names::fold::skeleton;

/// The most files that are compared, and the most bytes of one.
const MOST_FILES: usize = 256;
const MOST_BYTES: u64 = 256 << 10;
/// Lines that are shorter are in any file.
const SHORTEST: usize = 4;

/// The new files of a batch, by their names and by their lines.
pub(in crate::rules) struct Moves<'a> {
    context: &'a Context<'a>,
    /// The largest new file of each name.
    names: HashMap<String, u64>,
    key: RandomState,
    /// For each line, the files that have it.
    lines: HashMap<u64, Vec<usize>>,
    /// How many files were compared with.
    files: usize,
}

impl<'a> Moves<'a> {
    /// Reads the new files of a batch.
    pub(in crate::rules) fn of(context: &'a Context<'a>) -> Self {
        let mut moves = Self {
            context,
            names: HashMap::new(),
            key: RandomState::new(),
            lines: HashMap::new(),
            files: 0,
        };
        let new = context
            .changes
            .iter()
            .filter(|change| change.before.is_none() && !context.is_git(&change.path));
        for change in new {
            let Some(entry @ Entry::File { size, .. }) = &change.after else {
                continue;
            };
            let largest = moves.names.entry(name(&change.path)).or_default();
            *largest = (*largest).max(*size);
            if moves.files < MOST_FILES
                && let Some(found) = moves.lines_of(entry)
            {
                for line in found {
                    moves.lines.entry(line).or_default().push(moves.files);
                }
                moves.files += 1;
            }
        }
        moves
    }

    /// Whether a deleted file is elsewhere now: under its name and not much smaller, or as
    /// most of the lines of another file. One that grew is still the same.
    pub(in crate::rules) fn has(&self, deleted: &Change) -> bool {
        let Some(entry @ Entry::File { size, .. }) = &deleted.before else {
            return false;
        };
        let same_name = self.names.get(&name(&deleted.path));
        let lines = match self.lines_of(entry) {
            Some(lines) if !lines.is_empty() => lines,
            // Without its contents the name has to do.
            _ => return same_name.is_some_and(|new| *new >= size / 2),
        };
        let mut common = vec![0_usize; self.files];
        for file in lines
            .iter()
            .filter_map(|line| self.lines.get(line))
            .flatten()
        {
            if let Some(count) = common.get_mut(*file) {
                *count += 1;
            }
        }
        let most = common.into_iter().max().unwrap_or_default();
        // As a review would say: half of it, or a third under the same name.
        most * 2 > lines.len() || (same_name.is_some() && most * 3 > lines.len())
    }

    /// Returns the lines of a text that tell it from others, each once.
    fn lines_of(&self, entry: &Entry) -> Option<HashSet<u64>> {
        let Entry::File { size, .. } = entry else {
            return None;
        };
        if *size > MOST_BYTES {
            return None;
        }
        let side = read(Some(entry), self.context.contents);
        let (FileSide::Bytes(bytes) | FileSide::Utf16(bytes)) = side else {
            return None;
        };
        let lines = lines(&bytes).map(|(_, line)| line.trim_ascii());
        let telling = lines.filter(|line| line.len() >= SHORTEST);
        Some(telling.map(|line| self.key.hash_one(line)).collect())
    }
}

fn name(path: &RelPath) -> String {
    skeleton(path.file_name()).into_owned()
}

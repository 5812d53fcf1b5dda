//! Work that would be lost (SUS-36): much of the tree gone or emptied, and what git has no
//! copy of put back or deleted, as `git stash -u` or `git reset --hard` do.

use std::collections::{BTreeMap, HashSet};

use ignore::gitignore::Gitignore;
use lazaret_tree::{Change, Digest, Entry, RelPath, RelPathBuf};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::{FileSide, read};
use crate::rules::git::hidden::ignored_by;
use crate::rules::{Context, FilePair};
use crate::{BlobId, Severity};

/// In a small tree a few files are a large part.
const FEWEST: usize = 8;

/// Says that more than a quarter of the files are deleted or emptied.
pub(in crate::rules) fn many(context: &Context<'_>, report: &mut FindingBuffer) {
    let may_be_lost = |change: &&Change| {
        let (Some(Entry::File { size, .. }), after) = (&change.before, &change.after) else {
            return false;
        };
        let is_gone = match after {
            Some(Entry::File { size: now, .. }) => *size > 0 && *now == 0,
            None | Some(Entry::Dir | Entry::Symlink { .. }) => true,
        };
        is_gone && !context.is_git(&change.path)
    };
    if context.changes.iter().filter(may_be_lost).count() < FEWEST {
        return;
    }
    let brought: HashSet<&Digest> = context.changes.iter().filter_map(brought).collect();
    let lost = context.changes.iter().filter(may_be_lost).filter(|change| {
        let moved =
            |entry: &Entry| matches!(entry, Entry::File { digest, .. } if brought.contains(digest));
        change.after.is_some() || !change.before.as_ref().is_some_and(moved)
    });
    let mut lost = lost.map(|change| &change.path);
    let Some(first) = lost.next() else { return };
    let count = 1 + lost.count();
    if count < FEWEST {
        return;
    }
    let files = context
        .baseline
        .iter()
        .filter(|(path, entry)| matches!(entry, Entry::File { .. }) && !context.is_git(path));
    let all = files.count();
    if count.saturating_mul(4) > all {
        let message = format!("{count} of {all} files are deleted or emptied, this one with them");
        report.path(first, Severity::Warn, codes::DELETED_MANY, message);
    }
}

fn brought(change: &Change) -> Option<&Digest> {
    match &change.after {
        Some(Entry::File { digest, .. }) => Some(digest),
        _ => None,
    }
}

/// Says that a file is deleted which git does not know, and does not ignore.
pub(in crate::rules) fn untracked(context: &Context<'_>, report: &mut FindingBuffer) {
    let Some(index) = &context.policy.index else {
        return;
    };
    let brought: HashSet<&Digest> = context.changes.iter().filter_map(brought).collect();
    let mut ignores = Ignores::new(context);
    // By the topmost directory that went with them, or by themselves.
    let mut lost: BTreeMap<&RelPath, usize> = BTreeMap::new();
    for change in context.changes {
        let path = &change.path;
        let (Some(Entry::File { size, digest, .. }), None) = (&change.before, &change.after) else {
            continue;
        };
        let is_kept = *size == 0 || brought.contains(digest) || index.blob(path).is_some();
        if is_kept || context.is_git(path) || ignores.cover(path) {
            continue;
        }
        let gone = |above: &&RelPath| {
            let change = context.changes.get(above);
            change.is_some_and(|change| change.after.is_none())
        };
        let top = path.ancestors().filter(gone).last().unwrap_or(path);
        *lost.entry(top).or_default() += 1;
    }
    for (path, count) in lost {
        let message = match context.baseline.get(path) {
            Some(Entry::Dir) => format!("was deleted, with {count} files that git has no copy of"),
            _ => "was deleted, and git has no copy of it".to_owned(),
        };
        report.path(path, Severity::Warn, codes::UNCOMMITTED_DELETED, message);
    }
}

/// Says that what was changed and not committed is as in git's index again.
pub(in crate::rules) fn reverted(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let path = pair.path();
    let known = context.policy.index.as_ref();
    let Some(blob) = known.and_then(|index| index.blob(path)) else {
        return;
    };
    if pair.change().before.is_none() {
        return;
    }
    if pair.after().bytes().map(BlobId::of) == Some(blob) {
        let message = "is as it was committed or staged again: the changes since are gone, and git has no copy of them";
        report.path(path, Severity::Warn, codes::UNCOMMITTED_REVERTED, message);
    }
}

/// The `.gitignore` files from before, as far as their contents can be had.
struct Ignores<'a> {
    context: &'a Context<'a>,
    known: BTreeMap<Option<RelPathBuf>, Option<Gitignore>>,
}

impl<'a> Ignores<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            known: BTreeMap::new(),
        }
    }

    /// Whether git ignores a file: the deepest rule that says something decides.
    fn cover(&mut self, path: &RelPath) -> bool {
        let directories = path.ancestors().map(Some).chain([None]);
        for directory in directories {
            let context = self.context;
            let owned = directory.map(RelPath::to_owned);
            let rules = self.known.entry(owned).or_insert_with(|| {
                let file = match directory {
                    Some(directory) => format!("{directory}/.gitignore"),
                    None => ".gitignore".to_owned(),
                };
                let file = file.parse::<RelPathBuf>().ok()?;
                match read(context.baseline.get(&file), context.contents) {
                    FileSide::Bytes(bytes) | FileSide::Utf16(bytes) => ignored_by(&bytes),
                    FileSide::Absent | FileSide::TooLarge | FileSide::Unreadable(_) => None,
                }
            });
            let inside = match directory {
                Some(directory) => path.as_str().get(directory.as_str().len() + 1..),
                None => Some(path.as_str()),
            };
            let (Some(rules), Some(inside)) = (rules, inside) else {
                continue;
            };
            let found = rules.matched_path_or_any_parents(inside, false);
            if !found.is_none() {
                return found.is_ignore();
            }
        }
        false
    }
}

//! Deletions that a person should know of: tests, and what git ignores (AUD-03).
//!
//! What is deleted among the suspect files is said by the rule for those.

use std::collections::{BTreeMap, HashSet};

use lazaret_tree::{Change, Digest, Entry, RelPath};

use crate::Severity;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::rules::deletions::code::{DeletedCode, is_code};
use crate::rules::deletions::moves::Moves;
use crate::rules::deletions::replaced::Replacements;
use crate::rules::deletions::test_files::is_test;
use crate::rules::git::names::GitFile;

pub(in crate::rules) fn check(context: &Context<'_>, report: &mut FindingBuffer) {
    let deleted = |change: &&Change| change.after.is_none() && !context.is_git(&change.path);
    let mut deletions = context.changes.iter().filter(deleted).peekable();
    if deletions.peek().is_none() {
        return;
    }
    let brought: HashSet<&Digest> = context.changes.iter().filter_map(brings).collect();
    let mut moves = None;
    let mut code = None;
    let mut replacements = None;
    let is_gone = |path: &RelPath| {
        let change = context.changes.get(path);
        change.is_some_and(|change| change.after.is_none())
    };
    // By the topmost directory that went with them, or by themselves.
    let mut tests: BTreeMap<&RelPath, Tests> = BTreeMap::new();
    for change in deletions {
        let path = &change.path;
        if GitFile::Ignore.is(path.file_name()) && !path.parent().is_some_and(is_gone) {
            let message = "was deleted: git will show, and `git add` take, what it hid";
            report.path(path, Severity::Warn, codes::DELETED_IGNORE_FILE, message);
        }
        let Some(entry @ Entry::File { size, digest, .. }) = &change.before else {
            continue;
        };
        // What is elsewhere now was moved, and what was empty tested nothing.
        if *size == 0 || brought.contains(digest) || !is_test(path, entry) {
            continue;
        }
        let moves = moves.get_or_insert_with(|| Moves::of(context));
        if moves.has(change) {
            continue;
        }
        let code = code.get_or_insert_with(|| DeletedCode::of(context, &brought, moves));
        let top = path.ancestors().filter(|above| is_gone(above)).last();
        let found = tests.entry(top.unwrap_or(path)).or_default();
        found.all += 1;
        if is_code(path) && !code.has(path, top) {
            let replacements = replacements.get_or_insert_with(|| Replacements::of(context));
            match replacements.take(change) {
                true => found.replaced += 1,
                false => found.alone += 1,
            }
        }
    }
    for (path, found) in tests {
        let Tests {
            all,
            alone,
            replaced,
        } = found;
        let message = match context.baseline.get(path) {
            Some(Entry::Dir) => format!("was deleted, with {all} tests or parts of them"),
            _ if replaced > 0 => {
                "was deleted: a test, and one with a similar name is new beside it".to_owned()
            }
            _ if alone == 0 && is_code(path) => {
                "was deleted: a test, with what it tests".to_owned()
            }
            _ => "was deleted: a test, by its name".to_owned(),
        };
        let severity = if alone > 0 {
            Severity::Warn
        } else {
            Severity::Note
        };
        report.path(path, severity, codes::DELETED_TEST, message);
    }
}

/// The tests that went with one directory, or the one that went by itself.
#[derive(Default)]
struct Tests {
    all: usize,
    /// Those whose code stays, and that no other test replaces.
    alone: usize,
    /// Those that another test replaces.
    replaced: usize,
}

/// The contents that a change brings to where no file was.
fn brings(change: &Change) -> Option<&Digest> {
    match (&change.before, &change.after) {
        (None, Some(Entry::File { digest, .. })) => Some(digest),
        _ => None,
    }
}

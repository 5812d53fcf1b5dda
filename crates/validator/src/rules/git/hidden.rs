//! `.gitignore`: a change that hides other files of the batch from `git status` (GIT-14).

use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use lazaret_tree::{Change, Entry, RelPath, escape};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::git::names::GitFile;
use crate::rules::{Context, FilePair};
use crate::{Destination, Severity};

/// Ignore files with more lines are not matched, but said: patterns cost memory (AUD-04).
const MOST_LINES: usize = 4096;
const MOST_BYTES: usize = 256 << 10;
/// How many files are named.
const MOST_NAMES: usize = 3;

pub(in crate::rules) fn check(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let path = pair.path();
    // Elsewhere git reads this one name only, and there are hundreds of others.
    let is_read = match context.policy.destination {
        Destination::Folds => GitFile::Ignore.is(path.file_name()),
        Destination::Distinguishes => path.file_name() == ".gitignore",
    };
    if !is_read {
        return;
    }
    let after = pair.after().bytes().unwrap_or_default();
    let before = pair.before().bytes().unwrap_or_default();
    let dir = path.parent();
    let (Some(now), Some(then)) = (ignored_by(after), ignored_by(before)) else {
        let message = "too long to be understood; it may hide files of this batch from git";
        report.path(path, Severity::Warn, codes::GIT_IGNORE_HIDES, message);
        return;
    };
    let mut names = Vec::new();
    let mut count = 0_usize;
    for change in below(context, dir) {
        let is_dir = match &change.after {
            None | Some(Entry::Dir) => continue,
            Some(Entry::File { .. } | Entry::Symlink { .. }) => false,
        };
        let inside = match dir {
            Some(dir) => change.path.as_str().get(dir.as_str().len() + 1..),
            None => Some(change.path.as_str()),
        };
        let Some(inside) = inside else { continue };
        let hides = |rules: &Gitignore| {
            let found = rules.matched_path_or_any_parents(inside, is_dir);
            found.is_ignore()
        };
        if !context.is_git(&change.path) && hides(&now) && !hides(&then) {
            count += 1;
            if names.len() < MOST_NAMES {
                names.push(format!("`{}`", escape(change.path.as_str().as_bytes())));
            }
        }
    }
    if count > 0 {
        let (names, more) = (names.join(", "), count - names.len());
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let files = if count == 1 { "file" } else { "files" };
        let message = format!("hides {count} {files} of this batch from git: {names}{more}");
        report.path(path, Severity::Warn, codes::GIT_IGNORE_HIDES, message);
    }
}

/// Compiles an ignore file as git reads it: a line that is no pattern is no rule.
pub(in crate::rules) fn ignored_by(bytes: &[u8]) -> Option<Gitignore> {
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    if bytes.len() > MOST_BYTES || lines > MOST_LINES {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // A line that is no pattern could hide nothing.
        builder.add_line(None, line).ok();
    }
    builder.build().ok()
}

/// The changes below a directory, or all of them.
fn below<'a>(context: &Context<'a>, dir: Option<&'a RelPath>) -> &'a [Arc<Change>] {
    let all = context.changes.as_slice();
    let Some(dir) = dir else { return all };
    let start = all.partition_point(|change| *change.path < *dir);
    let rest = all.get(start..).unwrap_or_default();
    let end = rest.partition_point(|change| change.path.starts_with(dir));
    rest.get(..end).unwrap_or_default()
}

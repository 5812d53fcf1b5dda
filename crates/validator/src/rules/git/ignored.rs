//! New files that git ignores, which `git status` will never show (SUS-34), and packages
//! where none belong.
//!
//! The ignore files of the baseline and those of the batch count alike: of a batch any part
//! may be applied, and an earlier batch may have brought the rule that hides a file of this
//! one.

use std::collections::BTreeMap;

use lazaret_tree::{Change, Entry, RelPath, RelPathBuf, escape};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::rules::git::ignores::{Ignores, Kind};
use crate::rules::names::fold::skeleton;
use crate::{Finding, Severity, Subject};

/// How many files or directories are named.
const MOST_NAMED: usize = 8;

/// What is loaded because it is there, though a review can't read it.
const LOADED: &[&str] = &[
    "class", "dll", "dylib", "exe", "jar", "node", "pth", "pyc", "pyd", "pyo", "so",
];

/// New files that one rule hides: a directory with all in it, or one file.
struct Hidden<'a> {
    first: &'a RelPathBuf,
    count: usize,
    severity: Severity,
}

pub(in crate::rules) fn check(context: &Context<'_>, report: &mut FindingBuffer) {
    let is_new = |change: &&Change| {
        let is_file = !matches!(change.after, None | Some(Entry::Dir));
        change.before.is_none() && is_file && !context.is_git(&change.path)
    };
    let mut new = context.changes.iter().filter(is_new).peekable();
    if new.peek().is_none() {
        return;
    }
    let ignores = || Ignores::new(&context.policy.git, context.contents);
    let mut before = ignores();
    // Without a change of an ignore file both are the same.
    let mut changed = context.changes.iter();
    let changed = changed.any(|change| change.path.file_name() == ".gitignore");
    let mut after = changed.then(ignores);
    let mut hidden: BTreeMap<String, Hidden<'_>> = BTreeMap::new();
    for change in new {
        let path = &change.path;
        let mut found = before.hidden(path, Kind::Other, |path| context.baseline.get(path));
        if let (None, Some(after)) = (&found, &mut after) {
            let now = after.hidden(path, Kind::Other, |path| context.collected.get(path));
            // What a changed ignore file hides is said of that file (GIT-14).
            found = now.filter(|_| !is_below_changed(context, path));
        }
        let Some(place) = found else { continue };
        let group = hidden.entry(place).or_insert(Hidden {
            first: path,
            count: 0,
            severity: Severity::Note,
        });
        group.count += 1;
        group.severity = group.severity.max(severity(change));
    }
    put(hidden, report);
    if before.is_partial() || after.is_some_and(|after| after.is_partial()) {
        report.push(Finding {
            code: codes::GIT_IGNORED.id,
            severity: Severity::Note,
            subject: Subject::Batch,
            line: None,
            message: "an ignore file can't be read, so git may ignore new files of this batch"
                .into(),
            hint: None,
            allowed: false,
        });
    }
}

fn put(hidden: BTreeMap<String, Hidden<'_>>, report: &mut FindingBuffer) {
    let mut hidden: Vec<_> = hidden.into_iter().collect();
    hidden.sort_by_key(|(_, group)| std::cmp::Reverse(group.severity));
    let (named, more) = hidden.split_at(hidden.len().min(MOST_NAMED));
    for (place, group) in named {
        let message = match group.count {
            1 => "git ignores it, so `git status` does not show it".to_owned(),
            count => {
                let place = escape(place.as_bytes());
                format!(
                    "git ignores `{place}`, so `git status` shows none of its {count} new files"
                )
            }
        };
        report.path(group.first, group.severity, codes::GIT_IGNORED, message);
    }
    if let Some((_, group)) = more.first() {
        let count: usize = more.iter().map(|(_, group)| group.count).sum();
        let message = format!("git ignores it, and {} more new files", count - 1);
        report.path(group.first, group.severity, codes::GIT_IGNORED, message);
    }
}

/// How much a hidden file matters: what is loaded by being there is seen by nothing else.
fn severity(change: &Change) -> Severity {
    let name = skeleton(change.path.file_name());
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_loaded = extension.is_some_and(|extension| LOADED.contains(&extension));
    match &change.after {
        Some(Entry::File { .. }) if is_loaded => Severity::Warn,
        _ => Severity::Note,
    }
}

/// Whether an ignore file that the batch brings or changes lies in a directory above.
fn is_below_changed(context: &Context<'_>, path: &RelPath) -> bool {
    let is_changed = |file: &RelPath| {
        let change = context.changes.get(file);
        change.is_some_and(|change| matches!(change.after, Some(Entry::File { .. })))
    };
    let at_the_root = RelPath::new(".gitignore").is_ok_and(is_changed);
    let mut files = path.ancestors().map(|dir| dir.join(".gitignore"));
    at_the_root || files.any(|file| file.is_ok_and(|file| is_changed(&file)))
}

/// New packages in a `node_modules` with no `package.json` beside it: Node finds them before
/// those that were installed.
pub(in crate::rules) fn packages(context: &Context<'_>, report: &mut FindingBuffer) {
    let mut said: Option<RelPathBuf> = None;
    for change in context.changes {
        let path = &change.path;
        let is_file = !matches!(change.after, None | Some(Entry::Dir));
        if change.before.is_some() || !is_file || context.is_git(path) {
            continue;
        }
        let dirs: Vec<&RelPath> = path.ancestors().collect();
        let is_modules = |dir: &&&RelPath| skeleton(dir.file_name()) == "node_modules";
        let Some(dir) = dirs.iter().rev().find(is_modules) else {
            continue;
        };
        let manifest = match dir.parent() {
            Some(parent) => parent.join("package.json"),
            None => "package.json".parse(),
        };
        let has_manifest = manifest.is_ok_and(|file| context.baseline.get(&file).is_some());
        if has_manifest || context.baseline.get(dir).is_some() {
            continue;
        }
        if said.as_deref() == Some(*dir) {
            continue;
        }
        let shown = escape(dir.as_str().as_bytes());
        let message = format!(
            "`{shown}` has no `package.json` beside it, and Node finds what is in it before any \
             installed package"
        );
        report.path(path, Severity::Warn, codes::SUSPECT_NODE_MODULES, message);
        said = Some((*dir).to_owned());
    }
}

//! Names: invisible characters, what other systems make of them, collisions,
//! protected paths (TAR-43 to TAR-45, TAR-47, GIT-07, GIT-08).

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use lazaret_tree::{Change, RelPath, RelPathBuf, escape, is_git_name, is_invisible, is_reserved};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::rules::names::fold::fold;
use crate::{Destination, Severity};

/// Device names of Windows, which swallow whatever is written to them.
const RESERVED: &[&str] = &[
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

pub(in crate::rules) fn names(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    if context.is_git(path) || change.after.is_none() {
        return;
    }
    let name = path.file_name();
    if name != ".git" && is_git_name(name) {
        let message = "some file system takes this name for `.git`";
        report.block(path, codes::GIT_ALIAS, message);
        return;
    }
    // A component is judged where it appears: what lies below goes with it. A name that
    // was there before is none of the agent's doing (TAR-52).
    if change.before.is_some() {
        return;
    }
    if !name.is_ascii() {
        invisible(path, report);
    }
    if name.contains(['\\', ':']) {
        let message = "`\\` and `:` separate paths, drives or streams on other systems";
        report.block(path, codes::NAME_PORTABILITY, message);
    } else if is_unportable(name) {
        let message = "the name can't be used on Windows";
        report.path(path, Severity::Warn, codes::NAME_RESERVED, message);
    }
}

/// Characters of a name that are not seen, or reorder others (CVE-2021-42574).
fn invisible(path: &RelPathBuf, report: &mut FindingBuffer) {
    let name = path.file_name();
    if name.chars().any(|c| is_invisible(c) && !is_selector(c)) {
        let message = "the name has characters that are not seen or reorder others";
        report.block(path, codes::NAME_INVISIBLE, message);
    } else if name.chars().any(is_selector) {
        let message = "the name has a variation selector, which is not seen by itself";
        report.path(path, Severity::Warn, codes::NAME_INVISIBLE, message);
    }
}

/// Text or picture: what follows many an emoji.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Names that Windows cuts or takes for a device.
fn is_unportable(name: &str) -> bool {
    let stem = fold(name.split('.').next().unwrap_or(name).trim_end());
    RESERVED.contains(&&*stem) || name.ends_with(['.', ' '])
}

/// Names that no transaction writes, since it stages under such a name (APP-29).
pub(in crate::rules) fn reserved(_: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    if is_reserved(&change.path) {
        let message = "lazaret keeps such names in the workspace's root for itself";
        report.block(&change.path, codes::PATH_RESERVED, message);
    }
}

pub(in crate::rules) fn protected(
    context: &Context<'_>,
    change: &Change,
    report: &mut FindingBuffer,
) {
    if let Some(protected) = context.policy.protected_by(&change.path) {
        let protected = escape(protected.as_str().as_bytes());
        let message = format!("`{protected}` is protected by the profile");
        report.block(&change.path, codes::PATH_PROTECTED, message);
    }
}

/// Finds paths that a destination which folds case or normalisation takes for one.
pub(in crate::rules) fn collisions(context: &Context<'_>, report: &mut FindingBuffer) {
    // Only what appears can collide anew, so only that is kept by its folded name.
    // A hash stands for the name: the names alone may be more than all else in memory.
    let key = RandomState::new();
    let folded = |path: &RelPath| key.hash_one(fold(path.as_str()));
    let mut groups: HashMap<u64, Group<'_>> = HashMap::new();
    for change in context.changes {
        let appears = change.before.is_none() && change.after.is_some();
        if appears && !context.is_git(&change.path) {
            groups.entry(folded(&change.path)).or_default();
        }
    }
    if groups.is_empty() {
        return;
    }
    let same = |one: &RelPath, other: &RelPath| fold(one.as_str()) == fold(other.as_str());
    for (path, _) in context.collected.entries() {
        if let Some(group) = groups.get_mut(&folded(path)) {
            match group.first {
                None => group.first = Some(path),
                Some(first) if same(first, path) => group.others.push(path),
                Some(_) => {}
            }
        }
    }
    let severity = match context.policy.destination {
        Destination::Folds => Severity::Block,
        Destination::Distinguishes => Severity::Warn,
    };
    let appears = |path: &RelPath| {
        let change = context.changes.get(path);
        change.is_some_and(|change| change.before.is_none())
    };
    for Group { first, others } in groups.values() {
        let Some(first) = first else { continue };
        for path in others.iter().chain([first]).filter(|path| appears(path)) {
            let other = if path == first {
                others.first()
            } else {
                Some(first)
            };
            let Some(other) = other else { continue };
            let other = escape(other.as_str().as_bytes());
            let message = format!("where names fold, this is the same file as `{other}`");
            report.path(*path, severity, codes::NAME_COLLISION, message);
        }
    }
}

/// Paths of the collected tree that fold to the same name; hardly ever more than one.
#[derive(Default)]
struct Group<'a> {
    first: Option<&'a RelPathBuf>,
    others: Vec<&'a RelPathBuf>,
}

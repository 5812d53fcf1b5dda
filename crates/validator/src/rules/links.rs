//! Symbolic links: where they lead, found out in the collected tree and never on
//! a disk (TAR-06 to TAR-09).

use std::collections::BTreeSet;

use lazaret_transfer::{Change, Entry, LinkTarget, RelPath, RelPathBuf, escape, is_git_name};

use super::Context;
use crate::report::Report;

/// How many links one target may lead through, as in Linux.
const MAX_LINKS: usize = 40;

/// Where a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    /// To something in the tree, or to where something could be.
    Inside,
    /// To an absolute path.
    Absolute,
    /// Above the root.
    Outside,
    /// Nowhere, in circles.
    Loop,
    /// Into `.git`.
    Git,
}

pub(super) fn check(context: &Context<'_>, change: &Change, report: &mut Report) {
    let path = &change.path;
    let Some(Entry::Symlink { target }) = &change.after else {
        return;
    };
    if context.is_git(path) {
        return;
    }
    let shown = escape(target.as_str().as_bytes());
    let (leads, _) = follow(|path| context.collected.get(path), path, target);
    let (code, message) = match leads {
        Leads::Inside => return,
        Leads::Absolute => (
            "link.absolute",
            format!("leads to the absolute path `{shown}`"),
        ),
        Leads::Outside => (
            "link.escape",
            format!("`{shown}` leads out of the workspace"),
        ),
        Leads::Loop => ("link.loop", format!("`{shown}` leads in circles")),
        Leads::Git => ("link.git", format!("`{shown}` leads into `.git`")),
    };
    report.block(path, code, message);
}

/// Finds links that were there, led inside, and no longer do, because what they
/// lead through was changed: `x -> a/..` stays as it is, and `a` becomes `-> .`, or
/// `a -> deep/er` becomes a directory.
pub(super) fn redirected(context: &Context<'_>, report: &mut Report) {
    let is_link = |entry: &Option<Entry>| matches!(entry, Some(Entry::Symlink { .. }));
    let mut changes = context.changes.iter();
    if !changes.any(|change| is_link(&change.before) || is_link(&change.after)) {
        return;
    }
    for (path, entry) in context.baseline.iter() {
        let Entry::Symlink { target } = entry else {
            continue;
        };
        if context.is_git(path) || context.collected.get(path) != Some(entry) {
            continue;
        }
        let (leads, through) = follow(|path| context.collected.get(path), path, target);
        let (led, before) = follow(|path| context.baseline.get(path), path, target);
        if leads == Leads::Inside || led != Leads::Inside {
            continue;
        }
        let shown = escape(path.as_str().as_bytes());
        let links: BTreeSet<RelPathBuf> = through.into_iter().chain(before).collect();
        for link in links {
            if context.changes.get(&link).is_some() {
                let message = format!("makes `{shown}` lead out of the workspace or in circles");
                report.block(&link, "link.redirect", message);
            }
        }
    }
}

/// Walks a target through the tree, and says through which links.
fn follow<'t>(
    entry: impl Fn(&RelPath) -> Option<&'t Entry>,
    link: &RelPath,
    target: &LinkTarget,
) -> (Leads, Vec<RelPathBuf>) {
    let mut through = Vec::new();
    if target.as_str().starts_with('/') {
        return (Leads::Absolute, through);
    }
    let parent = link.parent().map(RelPath::as_str).unwrap_or_default();
    let mut at: Vec<String> = split(parent).map(str::to_owned).collect();
    let mut rest: Vec<String> = split(target.as_str()).rev().map(str::to_owned).collect();
    while let Some(component) = rest.pop() {
        if component == ".." {
            if at.pop().is_none() {
                return (Leads::Outside, through);
            }
            continue;
        }
        if is_git_name(&component) {
            return (Leads::Git, through);
        }
        at.push(component);
        let here = at.join("/");
        let Ok(here) = RelPath::new(&here) else {
            continue;
        };
        let Some(Entry::Symlink { target }) = entry(here) else {
            continue;
        };
        through.push(here.to_owned());
        if here == link || through.len() >= MAX_LINKS {
            return (Leads::Loop, through);
        }
        if target.as_str().starts_with('/') {
            return (Leads::Outside, through);
        }
        at.pop();
        rest.extend(split(target.as_str()).rev().map(str::to_owned));
    }
    (Leads::Inside, through)
}

/// The components that matter: `a//./b` is `a/b`.
fn split(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/')
        .filter(|component| !component.is_empty() && *component != ".")
}

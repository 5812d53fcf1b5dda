//! Symbolic links: where they lead, found out in the collected tree and never on
//! a disk (TAR-06 to TAR-09).

use std::collections::BTreeSet;

use lazaret_tree::{Change, Entry, LinkTarget, RelPath, RelPathBuf, escape, is_git_name};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;

/// How many links one target may lead through, as in Linux.
const MAX_LINKS: usize = 40;

/// Where a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum LinkTargetCheck {
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

pub(in crate::rules) fn check(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    let Some(Entry::Symlink { target }) = &change.after else {
        return;
    };
    if context.is_git(path) {
        return;
    }
    let shown = escape(target.as_str().as_bytes());
    let followed = follow(|path| context.collected.get(path), path, target, None);
    let (code, message) = match followed.leads {
        LinkTargetCheck::Inside => return,
        LinkTargetCheck::Absolute => (
            codes::LINK_ABSOLUTE,
            format!("leads to the absolute path `{shown}`"),
        ),
        LinkTargetCheck::Outside => (
            codes::LINK_ESCAPE,
            format!("`{shown}` leads out of the workspace"),
        ),
        LinkTargetCheck::Loop => (codes::LINK_LOOP, format!("`{shown}` leads in circles")),
        LinkTargetCheck::Git => (codes::LINK_GIT, format!("`{shown}` leads into `.git`")),
    };
    report.block(path, code, message);
}

/// Finds links that were there, led inside, and no longer do, because what they
/// lead through was changed: `x -> a/..` stays as it is, and `a` becomes `-> .`, or
/// `a -> deep/er` becomes a directory.
pub(in crate::rules) fn redirected(context: &Context<'_>, report: &mut FindingBuffer) {
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
        let now = follow(|path| context.collected.get(path), path, target, None);
        let then = follow(|path| context.baseline.get(path), path, target, None);
        if now.leads == LinkTargetCheck::Inside || then.leads != LinkTargetCheck::Inside {
            continue;
        }
        let shown = escape(path.as_str().as_bytes());
        let links: BTreeSet<RelPathBuf> = now.through.into_iter().chain(then.through).collect();
        for link in links {
            if context.changes.get(&link).is_some() {
                let message = format!("makes `{shown}` lead out of the workspace or in circles");
                report.block(&link, codes::LINK_REDIRECT, message);
            }
        }
    }
}

/// What became of a target that was walked through a tree.
#[derive(Debug)]
pub(in crate::rules) struct Followed {
    pub(in crate::rules) leads: LinkTargetCheck,
    /// Where it ends, no link on the way any more; the root is the empty text. It means
    /// something only of one that leads inside.
    pub(in crate::rules) end: String,
    /// The links that it leads through, itself not among them.
    pub(in crate::rules) through: Vec<RelPathBuf>,
}

/// Walks a target through the tree. With `root`, the absolute path of the workspace, a target
/// may name the workspace from outside of it; without, what leaves it is gone.
pub(in crate::rules) fn follow<'t>(
    entry: impl Fn(&RelPath) -> Option<&'t Entry>,
    link: &RelPath,
    target: &LinkTarget,
    root: Option<&str>,
) -> Followed {
    let parent = link.parent().map(RelPath::as_str).unwrap_or_default();
    let mut walk = Walk {
        root: root.map(|root| split(root).collect()),
        outside: None,
        at: split(parent).map(str::to_owned).collect(),
        rest: Vec::new(),
        through: Vec::new(),
    };
    let leads = match walk.enter(target) {
        Ok(()) => walk.walk(entry, link),
        Err(Gone) => LinkTargetCheck::Absolute,
    };
    Followed {
        leads,
        end: walk.at.join("/"),
        through: walk.through,
    }
}

/// A target leaves the workspace for good.
struct Gone;

struct Walk<'r> {
    /// The components of the workspace's own path, if it is known.
    root: Option<Vec<&'r str>>,
    /// Where it is outside of the workspace.
    outside: Option<Vec<String>>,
    /// Where it is inside.
    at: Vec<String>,
    /// What is still to be walked, the next component last.
    rest: Vec<String>,
    through: Vec<RelPathBuf>,
}

impl Walk<'_> {
    /// Goes on with the target of a link in the directory that was reached.
    fn enter(&mut self, target: &LinkTarget) -> Result<(), Gone> {
        if target.as_str().starts_with('/') {
            if self.root.is_none() {
                return Err(Gone);
            }
            self.at.clear();
            self.outside = Some(Vec::new());
        }
        let components = split(target.as_str()).rev();
        self.rest.extend(components.map(str::to_owned));
        Ok(())
    }

    fn walk<'t>(
        &mut self,
        entry: impl Fn(&RelPath) -> Option<&'t Entry>,
        link: &RelPath,
    ) -> LinkTargetCheck {
        while let Some(component) = self.rest.pop() {
            if self.outside.is_some() {
                self.step_outside(component);
                continue;
            }
            if component == ".." {
                if self.at.pop().is_none() && self.leave().is_err() {
                    return LinkTargetCheck::Outside;
                }
                continue;
            }
            if is_git_name(&component) {
                return LinkTargetCheck::Git;
            }
            self.at.push(component);
            let here = self.at.join("/");
            let Ok(here) = RelPath::new(&here) else {
                continue;
            };
            let Some(Entry::Symlink { target }) = entry(here) else {
                continue;
            };
            self.through.push(here.to_owned());
            if here == link || self.through.len() >= MAX_LINKS {
                return LinkTargetCheck::Loop;
            }
            self.at.pop();
            if self.enter(target).is_err() {
                return LinkTargetCheck::Outside;
            }
        }
        match self.outside {
            Some(_) => LinkTargetCheck::Outside,
            None => LinkTargetCheck::Inside,
        }
    }

    /// Steps from the root to the directory above it.
    fn leave(&mut self) -> Result<(), Gone> {
        let (_, above) = self
            .root
            .as_ref()
            .and_then(|root| root.split_last())
            .ok_or(Gone)?;
        self.outside = Some(above.iter().copied().map(str::to_owned).collect());
        Ok(())
    }

    /// Steps through a directory that no tree shows, until it is the workspace again.
    fn step_outside(&mut self, component: String) {
        let Some(outside) = &mut self.outside else {
            return;
        };
        match &*component {
            ".." => drop(outside.pop()),
            _ => outside.push(component),
        }
        if self.root.as_ref().is_some_and(|root| root == outside) {
            self.outside = None;
        }
    }
}

/// The components that matter: `a//./b` is `a/b`.
fn split(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/')
        .filter(|component| !component.is_empty() && *component != ".")
}

//! `Names`: by which other names links lead to a path (SUS-30).
//!
//! Links of the baseline and of what came out count alike: of a batch any part may be
//! applied. They are followed in these trees and never on a disk.

use std::collections::{HashMap, HashSet, VecDeque};

use lazaret_tree::{Entry, RelPath, RelPathBuf};

use crate::rules::Context;
use crate::rules::links::targets::{LinkTargetCheck, follow};

/// The most names of one path. A path with more is not judged by all of them.
pub(crate) const MOST_NAMES: usize = 256;

/// The links, by where they lead.
pub(crate) struct Names<'a> {
    /// By a path; the root is the empty text.
    links: HashMap<String, Vec<Link<'a>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link<'a> {
    path: &'a RelPathBuf,
    reach: Reach,
}

/// What of a place a link gives another name to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The place, and everything below it.
    All,
    /// The place alone: it is itself a link that this one leads through.
    Itself,
}

/// Another name of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub(crate) path: RelPathBuf,
    /// The link that it begins with.
    pub(crate) link: &'a RelPathBuf,
}

/// There are more names than are judged, or longer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany;

impl<'a> Names<'a> {
    /// Follows all links of the baseline and of what came out.
    pub(crate) fn of(context: &Context<'a>) -> Self {
        let mut names = Self {
            links: HashMap::new(),
        };
        for (path, entry) in context.baseline.entries() {
            if matches!(entry, Entry::Symlink { .. }) {
                names.add(context, path, entry);
            }
        }
        for change in context.changes {
            if let Some(entry @ Entry::Symlink { .. }) = &change.after {
                names.add(context, &change.path, entry);
            }
        }
        names
    }

    /// Adds where a link leads in each of both trees.
    fn add(&mut self, context: &Context<'a>, path: &'a RelPathBuf, entry: &'a Entry) {
        let Entry::Symlink { target } = entry else {
            return;
        };
        if context.is_git(path) {
            return;
        }
        let root = context.policy.root.as_deref();
        let before = follow(|path| context.baseline.get(path), path, target, root);
        let after = follow(|path| context.collected.get(path), path, target, root);
        for followed in [before, after] {
            for through in followed.through {
                self.insert(through.as_str().to_owned(), path, Reach::Itself);
            }
            if followed.leads == LinkTargetCheck::Inside {
                self.insert(followed.end, path, Reach::All);
            }
        }
    }

    fn insert(&mut self, place: String, path: &'a RelPathBuf, reach: Reach) {
        let link = Link { path, reach };
        let links = self.links.entry(place).or_default();
        // Both trees mostly say the same, one after the other.
        if links.last() != Some(&link) && links.iter().rev().nth(1) != Some(&link) {
            links.push(link);
        }
    }

    /// Whether there is no link at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether any link gives a path another name.
    pub(crate) fn has(&self, path: &RelPath) -> bool {
        !self.is_empty() && self.leading(path.as_str()).next().is_some()
    }

    /// Finds every other name of a path. A link counts once on the way to a name, so links in
    /// circles give no endless ones.
    ///
    /// # Errors
    /// When there are more than [`MOST_NAMES`], or one is longer than a path may be.
    pub(crate) fn leading_to(&self, path: &RelPath) -> Result<Vec<Name<'a>>, TooMany> {
        let mut found: Vec<Name<'a>> = Vec::new();
        let mut seen: HashSet<String> = HashSet::from([path.as_str().to_owned()]);
        let mut open: VecDeque<(String, Vec<&RelPathBuf>)> =
            VecDeque::from([(path.as_str().to_owned(), Vec::new())]);
        while let Some((name, used)) = open.pop_front() {
            for (link, rest) in self.leading(&name) {
                if used.contains(&link.path) {
                    continue;
                }
                let other = match rest {
                    "" => link.path.as_str().to_owned(),
                    rest => format!("{}/{rest}", link.path.as_str()),
                };
                if !seen.insert(other.clone()) {
                    continue;
                }
                let path = other.parse().map_err(|_| TooMany)?;
                if found.len() == MOST_NAMES {
                    return Err(TooMany);
                }
                found.push(Name {
                    path,
                    link: link.path,
                });
                let mut used = used.clone();
                used.push(link.path);
                open.push_back((other, used));
            }
        }
        Ok(found)
    }

    /// Iterates over the links to a path or to a directory above it, each with the rest of
    /// the path behind it.
    fn leading<'n>(&'n self, name: &'n str) -> impl Iterator<Item = (Link<'a>, &'n str)> {
        let ends = name.match_indices('/').map(|(at, _)| at);
        let ends = [0].into_iter().chain(ends).chain([name.len()]);
        ends.flat_map(move |end| {
            let links = self.links.get(&name[..end]).into_iter().flatten();
            let links = links.filter(move |link| link.reach == Reach::All || end == name.len());
            links.map(move |link| (*link, name[end..].trim_start_matches('/')))
        })
    }
}

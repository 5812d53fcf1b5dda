//! `Renames`: which changes of a batch bring to one path what others take away from another.
//!
//! A batch is the difference of two trees, so a rename is two changes: a file leaves one path,
//! and the same bytes arrive at another. Equal contents pair them, one to one, as
//! `git diff --find-renames=100%` does; of several candidates those whose paths end alike come
//! first. Whether a file may be executed is not compared.
//!
//! Empty files and directories are all alike. They are paired only by the directories that
//! other pairs show to be renamed: with `pkg/a.py` gone to `lib/a.py`, an empty
//! `pkg/__init__.py` went to `lib/__init__.py`.
//!
//! A file that stays where it is and gets other contents takes nothing away, unless what it
//! gets was moved over it: `mv b c; mv a b` moves two files.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::{Change, Digest, Entry, LinkTarget, MAX_DEPTH, RelPath};

/// How many renamed directories are tried for an entry that has no contents.
const MOST_TRIED: usize = 8;

/// How often a class of equal contents is looked at, for each change, until all that is left
/// of a batch counts as half a rename.
const ROUNDS: usize = 64;

/// The renames of a batch. Changes are named by their index in it.
#[derive(Debug, Default)]
pub struct Renames {
    classes: Vec<Class>,
    /// From arrivals to their class, in order.
    class_of: Vec<(usize, usize)>,
}

/// Changes with the same contents.
#[derive(Debug)]
struct Class {
    /// What takes the contents away, in path order.
    departures: Vec<usize>,
    /// What brings them, in path order.
    arrivals: Vec<usize>,
    /// Each index at most once on either side.
    pairs: Vec<Pair>,
}

/// A rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The change that takes the contents away.
    pub from: usize,
    /// The change that brings them.
    pub to: usize,
}

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out.
    Happens,
    /// It is carried out by itself: the user chose it, whatever becomes of its other half.
    Chosen,
    /// It is not carried out.
    Stays,
}

/// What tells one file, or one link, from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content<'a> {
    File(&'a Digest),
    Link(&'a LinkTarget),
}

fn content(entry: Option<&Entry>) -> Option<Content<'_>> {
    match entry? {
        Entry::File { size: 0, .. } | Entry::Dir => None,
        Entry::File { digest, .. } => Some(Content::File(digest)),
        Entry::Symlink { target } => Some(Content::Link(target)),
    }
}

/// What has no contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hollow {
    Dir,
    EmptyFile,
}

fn hollow(entry: Option<&Entry>) -> Option<Hollow> {
    match entry? {
        Entry::Dir => Some(Hollow::Dir),
        Entry::File { size: 0, .. } => Some(Hollow::EmptyFile),
        Entry::File { .. } | Entry::Symlink { .. } => None,
    }
}

impl Renames {
    /// Finds the renames of `changes`, which are in path order.
    pub fn of(changes: &[impl Borrow<Change>]) -> Self {
        let change = |index: usize| changes[index].borrow();
        let old = |index: usize| content(change(index).before.as_ref());
        let new = |index: usize| content(change(index).after.as_ref());
        // Both lists by contents, and in path order among the same. Most batches end here, and
        // large ones have no room to spare.
        let count = u32::try_from(changes.len()).unwrap_or(u32::MAX);
        let mut left: Vec<u32> = (0..count)
            .filter(|&at| old(at as usize).is_some() && old(at as usize) != new(at as usize))
            .collect();
        left.sort_by(|&a, &b| old(a as usize).cmp(&old(b as usize)));
        let was_there = |content| {
            let found = left.binary_search_by(|&at| old(at as usize).cmp(&content));
            found.is_ok()
        };
        let mut arrivals: Vec<usize> = (0..count as usize)
            .filter(|&index| new(index).is_some() && old(index) != new(index))
            .filter(|&index| was_there(new(index)))
            .collect();
        if arrivals.is_empty() {
            return Self::default();
        }
        arrivals.sort_by(|&a, &b| new(a).cmp(&new(b)));
        let leaves = |&index: &usize| {
            new(index).is_none() || was_there(new(index)) || is_retyped(change(index))
        };
        let left = left.iter().map(|&at| at as usize);
        let departures: Vec<usize> = left.filter(leaves).collect();
        let mut renames = Self::default();
        let mut rest = &departures[..];
        for arrivals in arrivals.chunk_by(|&a, &b| new(a) == new(b)) {
            let content = new(arrivals[0]);
            let start = rest.partition_point(|&index| old(index) < content);
            rest = &rest[start..];
            let end = rest.partition_point(|&index| old(index) == content);
            let (departures, behind) = rest.split_at(end);
            rest = behind;
            if !departures.is_empty() {
                let path = |index: usize| &*change(index).path;
                renames.push(Class {
                    pairs: pair(departures, arrivals, path),
                    departures: departures.to_vec(),
                    arrivals: arrivals.to_vec(),
                });
            }
        }
        renames.imply(changes);
        renames.class_of.sort_unstable();
        renames
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns the change that takes away what change `to` brings: its other half, or, of what
    /// was copied too, the first that had it.
    pub fn source(&self, to: usize) -> Option<usize> {
        self.classes_of(to).find_map(|class| {
            let pair = class.pairs.iter().find(|pair| pair.to == to);
            pair.map(|pair| pair.from)
                .or(class.departures.first().copied())
        })
    }

    /// Iterates over the pairs.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.classes
            .iter()
            .flat_map(|class| class.pairs.iter().copied())
    }

    /// Finds what would be half a rename: a change that takes contents away while all that
    /// brings them stays. Its fate is to stay then, and it is returned with the change that it
    /// waits for.
    ///
    /// Contents that arrive somewhere are not lost, so as many may go as arrive.
    pub fn hold(&self, fates: &mut [Fate]) -> Vec<Pair> {
        let mut held = Vec::new();
        let mut queue: VecDeque<usize> = (0..self.classes.len()).collect();
        let mut budget = ROUNDS * (fates.len() + self.classes.len());
        while let Some(number) = queue.pop_front() {
            let class = &self.classes[number];
            let cost = class.arrivals.len() + class.departures.len();
            let newly = match budget.checked_sub(cost) {
                Some(left) => {
                    budget = left;
                    class.halves(fates)
                }
                // Thousands of files moved over one another: no more time is spent on them.
                None => class.all(fates),
            };
            for pair in newly {
                fates[pair.from] = Fate::Stays;
                held.push(pair);
                // It may be what something else waits for.
                let start = self.class_of.partition_point(|(to, _)| *to < pair.from);
                let classes = self.class_of[start..].iter();
                let classes = classes.take_while(|(to, _)| *to == pair.from);
                queue.extend(classes.map(|(_, class)| *class));
            }
        }
        held
    }

    fn push(&mut self, class: Class) {
        let number = self.classes.len();
        let to = class.arrivals.iter().map(|&to| (to, number));
        self.class_of.extend(to);
        self.classes.push(class);
    }

    fn classes_of(&self, to: usize) -> impl Iterator<Item = &Class> {
        let start = self.class_of.partition_point(|(other, _)| *other < to);
        let classes = self.class_of[start..].iter();
        let classes = classes.take_while(move |(other, _)| *other == to);
        classes.map(|(_, class)| &self.classes[*class])
    }

    /// Pairs what has no contents by the directories that were renamed.
    fn imply(&mut self, changes: &[impl Borrow<Change>]) {
        let change = |index: usize| changes[index].borrow();
        let mut renamed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for pair in self.pairs() {
            let (from, to) = (&change(pair.from).path, &change(pair.to).path);
            if let Some((from, to)) = renamed_dirs(from, to) {
                let olds = renamed.entry(to).or_default();
                if olds.len() < MOST_TRIED && !olds.contains(&from) {
                    olds.push(from);
                }
            }
        }
        if renamed.is_empty() {
            return;
        }
        let mut implied = Vec::new();
        for (to, arrival) in changes.iter().map(Borrow::borrow).enumerate() {
            let Some(kind) = hollow(arrival.after.as_ref()) else {
                continue;
            };
            if hollow(arrival.before.as_ref()) == Some(kind) {
                continue;
            }
            let path = arrival.path.as_str();
            let above = arrival.path.ancestors().map(RelPath::as_str);
            let dirs = [path].into_iter().chain(above).chain([""]);
            let from = dirs.into_iter().find_map(|dir| {
                let below = path.strip_prefix(dir)?.trim_start_matches('/');
                let olds = renamed.get(dir)?.iter();
                olds.copied().find_map(|old| {
                    let old = match (old, below) {
                        ("", below) => below.to_owned(),
                        (old, "") => old.to_owned(),
                        (old, below) => format!("{old}/{below}"),
                    };
                    let old = RelPath::new(&old).ok()?;
                    let found = changes.binary_search_by(|other| (*other.borrow().path).cmp(old));
                    let found = found.ok()?;
                    let Change { before, after, .. } = change(found);
                    let leaves = hollow(before.as_ref()) == Some(kind)
                        && hollow(after.as_ref()) != Some(kind);
                    leaves.then_some(found)
                })
            });
            implied.extend(from.map(|from| Pair { from, to }));
        }
        for pair in implied {
            self.push(Class {
                departures: vec![pair.from],
                arrivals: vec![pair.to],
                pairs: vec![pair],
            });
        }
    }
}

impl Class {
    /// What of it is half a rename.
    fn halves(&self, fates: &[Fate]) -> Vec<Pair> {
        let stays = |index: usize| fates[index] == Fate::Stays;
        let happening = self.arrivals.iter().filter(|&&to| !stays(to)).count();
        // So many places lose the contents without another that gets them. What stays for
        // another reason, and what the user chose, need no other place.
        let leaving = self.departures.iter().filter(|&&from| !stays(from));
        let chosen = self
            .departures
            .iter()
            .filter(|&&from| fates[from] == Fate::Chosen);
        let leaving = leaving.count() - chosen.count();
        let lost = leaving.saturating_sub(happening);
        let of_staying = |pair: &&Pair| stays(pair.to) && fates[pair.from] == Fate::Happens;
        let halves: Vec<Pair> = self.pairs.iter().filter(of_staying).copied().collect();
        halves.into_iter().take(lost).collect()
    }

    /// All that leaves.
    fn all(&self, fates: &[Fate]) -> Vec<Pair> {
        let leaving = self.departures.iter().copied();
        let leaving = leaving.filter(|&from| fates[from] == Fate::Happens);
        let to = self.arrivals.first().copied();
        leaving
            .filter_map(|from| Some(Pair { from, to: to? }))
            .collect()
    }
}

/// Whether a file has become a link, or the reverse.
fn is_retyped(Change { before, after, .. }: &Change) -> bool {
    let is_file = |entry: &Option<Entry>| matches!(entry, Some(Entry::File { .. }));
    is_file(before) != is_file(after)
}

/// Pairs changes of equal contents, those first whose paths have the most last components in
/// common, and else in path order.
fn pair<'a>(
    departures: &[usize],
    arrivals: &[usize],
    path: impl Fn(usize) -> &'a RelPath,
) -> Vec<Pair> {
    if let ([from], [to]) = (departures, arrivals) {
        return vec![Pair {
            from: *from,
            to: *to,
        }];
    }
    let depth = |indices: &[usize]| {
        let depths = indices
            .iter()
            .map(|&index| path(index).components().count());
        depths.max().unwrap_or(0)
    };
    let most = depth(departures).min(depth(arrivals)).min(MAX_DEPTH);
    let (mut departures, mut arrivals) = (departures.to_vec(), arrivals.to_vec());
    let mut pairs = Vec::new();
    for count in (0..=most).rev() {
        // The last of each list is the first in path order.
        let mut by_end: HashMap<&str, Vec<usize>> = HashMap::new();
        for &from in departures.iter().rev() {
            if let Some(end) = end(path(from), count) {
                by_end.entry(end).or_default().push(from);
            }
        }
        if by_end.is_empty() {
            continue;
        }
        arrivals.retain(|&to| {
            let from = end(path(to), count).and_then(|end| by_end.get_mut(end)?.pop());
            pairs.extend(from.map(|from| Pair { from, to }));
            from.is_none()
        });
        let paired: HashSet<usize> = pairs.iter().map(|pair: &Pair| pair.from).collect();
        departures.retain(|from| !paired.contains(from));
        if departures.is_empty() || arrivals.is_empty() {
            break;
        }
    }
    pairs
}

/// Returns the last `count` components; nothing of a path that has fewer.
fn end(path: &RelPath, count: usize) -> Option<&str> {
    let text = path.as_str();
    match count {
        0 => Some(""),
        count => match text.rmatch_indices('/').nth(count - 1) {
            Some((at, _)) => text.get(at + 1..),
            None => (path.components().count() == count).then_some(text),
        },
    }
}

/// Returns which directory became which by a rename of something in it that kept its name; the
/// root is empty.
fn renamed_dirs<'a>(from: &'a RelPath, to: &'a RelPath) -> Option<(&'a str, &'a str)> {
    let alike = from.components().rev().zip(to.components().rev());
    let count = alike.take_while(|(one, other)| one == other).count();
    let head = |path: &'a RelPath| {
        let end = end(path, count)?;
        let head = path.as_str().strip_suffix(end)?;
        Some(head.strip_suffix('/').unwrap_or(head))
    };
    (count > 0).then_some(())?;
    Some((head(from)?, head(to)?))
}

//! `Unlanded`: commits, stashes and tags in the copy of a session that its workspace has not.
//!
//! The gate applies files, never what lies in `.git`. So what was committed inside would go with
//! the volume, and nothing would say so: as long as there is any of it, the session waits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use lazaret_transfer::{Count, NewRef, NewRefKind, NewRefs};
use lazaret_tree::escape;
use serde::{Deserialize, Serialize};

use super::format::{count, elide};

/// How many are named on one line.
const MOST_NAMED: usize = 6;
/// The widest that a name gets there.
const MOST_COLUMNS: usize = 48;

/// What the repositories of a copy hold and those of its workspace do not, by what names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unlanded(Vec<UnlandedRef>);

/// One thing that names commits made inside. All texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnlandedRef {
    /// What it is.
    pub kind: UnlandedKind,
    /// Its name; null for what there is once in a repository.
    pub name: Option<String>,
    /// Where the repository lies: `.git`, or a directory in `.git/modules`.
    pub repository: String,
    /// How many commits or stashes; null where nothing tells.
    pub count: Option<u64>,
    /// Whether there may be more than `count`, or fewer.
    pub exact: Exactness,
    /// The object that it names.
    pub tip: Option<String>,
    /// The subject of the newest commit.
    pub subject: Option<String>,
    /// Of the stash, its entries, the newest first; of a reflog, the commits that nothing else
    /// names. At most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<String>,
}

/// What names commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnlandedKind {
    /// A detached `HEAD`.
    Head,
    /// The detached `HEAD` of a linked worktree.
    Worktree,
    /// A branch.
    Branch,
    /// A tag.
    Tag,
    /// The stash; `count` is that of its entries.
    Stash,
    /// Another ref, by its full name.
    Ref,
    /// Commits that nothing names but a reflog.
    Reflog,
    /// A file of git's that can't be read; `name` is its path.
    Unreadable,
    /// What is not listed, since there is too much; `count` says how much.
    More,
}

/// How well a number is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// It is the number.
    #[default]
    Exactly,
    /// There may be more.
    AtLeast,
    /// There may be fewer.
    AtMost,
}

impl Unlanded {
    /// Nothing.
    pub const NONE: Self = Self(Vec::new());

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes what names an object among `landed`, which the user's repositories have now: by
    /// where the repository lies inside, escaped. Entries of a stash or a reflog are removed one
    /// by one.
    pub fn remove_landed(&mut self, landed: &BTreeMap<String, BTreeSet<String>>) {
        self.0.retain_mut(|one| {
            let Some(landed) = landed.get(&one.repository) else {
                return true;
            };
            if one.logged.is_empty() {
                return !one.tip.as_ref().is_some_and(|tip| landed.contains(tip));
            }
            let before = one.logged.len() as u64;
            one.logged.retain(|id| !landed.contains(id));
            let removed = before - one.logged.len() as u64;
            one.count = one.count.map(|count| count.saturating_sub(removed));
            one.count != Some(0)
        });
    }

    /// Iterates over all of it.
    pub fn iter(&self) -> impl Iterator<Item = &UnlandedRef> {
        self.0.iter()
    }
}

impl From<NewRefs> for Unlanded {
    fn from(found: NewRefs) -> Self {
        let mut all: Vec<UnlandedRef> = found.listed.iter().map(UnlandedRef::from).collect();
        if found.more > 0 {
            all.push(UnlandedRef {
                kind: UnlandedKind::More,
                name: None,
                repository: ".git".to_owned(),
                count: Some(found.more),
                exact: Exactness::Exactly,
                tip: None,
                subject: None,
                logged: Vec::new(),
            });
        }
        Self(all)
    }
}

impl From<&NewRef> for UnlandedRef {
    fn from(found: &NewRef) -> Self {
        let (count, exact) = match found.count {
            None => (None, Exactness::Exactly),
            Some(Count::Exactly(number)) => (Some(number), Exactness::Exactly),
            Some(Count::AtLeast(number)) => (Some(number), Exactness::AtLeast),
            Some(Count::AtMost(number)) => (Some(number), Exactness::AtMost),
        };
        Self {
            kind: match found.kind {
                NewRefKind::Head => UnlandedKind::Head,
                NewRefKind::Worktree => UnlandedKind::Worktree,
                NewRefKind::Branch => UnlandedKind::Branch,
                NewRefKind::Tag => UnlandedKind::Tag,
                NewRefKind::Stash => UnlandedKind::Stash,
                NewRefKind::Other => UnlandedKind::Ref,
                NewRefKind::Reflog => UnlandedKind::Reflog,
                NewRefKind::Unreadable => UnlandedKind::Unreadable,
            },
            name: (!found.name.is_empty()).then(|| escape(&found.name)),
            repository: escape(found.repository.as_str().as_bytes()),
            count,
            exact,
            tip: found.tip.map(|tip| tip.to_string()),
            subject: found.subject.as_deref().map(escape),
            logged: found.logged.iter().map(ToString::to_string).collect(),
        }
    }
}

/// `branch fix: 1 commit`.
impl fmt::Display for UnlandedRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.count.map(|number| {
            let number = count(number);
            match self.exact {
                Exactness::Exactly => number,
                Exactness::AtLeast => format!("at least {number}"),
                Exactness::AtMost => format!("up to {number}"),
            }
        });
        let name = elide(self.name.as_deref().unwrap_or_default(), MOST_COLUMNS);
        let place = match self.repository.as_str() {
            ".git" => String::new(),
            other => format!(" in {}", elide(other, MOST_COLUMNS)),
        };
        let noun = match self.count {
            Some(1) => "commit",
            _ => "commits",
        };
        match self.kind {
            UnlandedKind::Head => write!(f, "detached HEAD{place}")?,
            UnlandedKind::Worktree => write!(f, "worktree {name}{place}")?,
            UnlandedKind::Branch => write!(f, "branch {name}{place}")?,
            UnlandedKind::Tag => return write!(f, "tag {name}{place}"),
            UnlandedKind::Ref => return write!(f, "ref {name}{place}"),
            UnlandedKind::Unreadable => return write!(f, "unreadable refs: {name}"),
            UnlandedKind::Stash => {
                write!(f, "stash{place}")?;
                return number.map_or(Ok(()), |number| write!(f, ": {number}"));
            }
            UnlandedKind::Reflog => {
                let number = number.unwrap_or_default();
                return write!(f, "{number} {noun} only in the reflog{place}");
            }
            UnlandedKind::More => {
                let number = number.unwrap_or_default();
                return write!(f, "{number} more");
            }
        }
        number.map_or(Ok(()), |number| write!(f, ": {number} {noun}"))
    }
}

/// `branch fix: 1 commit, stash: 1`.
impl fmt::Display for Unlanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.0.iter().take(MOST_NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{one}")?;
        }
        match self.0.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, ", and {} more", count(more as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_landed_waits_no_more_and_the_rest_does() {
        let one = |kind, tip: Option<&str>, logged: &[&str]| UnlandedRef {
            kind,
            name: None,
            repository: ".git".to_owned(),
            count: (!logged.is_empty()).then_some(logged.len() as u64),
            exact: Exactness::Exactly,
            tip: tip.map(str::to_owned),
            subject: None,
            logged: logged.iter().map(|id| (*id).to_owned()).collect(),
        };
        let mut commits = Unlanded(vec![
            one(UnlandedKind::Branch, Some("a"), &[]),
            one(UnlandedKind::Branch, Some("b"), &[]),
            UnlandedRef {
                repository: ".git/modules/x".to_owned(),
                ..one(UnlandedKind::Branch, Some("a"), &[])
            },
            one(UnlandedKind::Stash, Some("s"), &["s", "t"]),
            one(UnlandedKind::Reflog, None, &["u"]),
            one(UnlandedKind::Unreadable, None, &[]),
        ]);
        let landed = ["a", "s", "u"].map(str::to_owned).into();
        commits.remove_landed(&[(".git".to_owned(), landed)].into());
        let left: Vec<_> = commits.iter().map(|one| (one.kind, one.count)).collect();
        assert_eq!(
            left,
            [
                (UnlandedKind::Branch, None),
                (UnlandedKind::Branch, None),
                (UnlandedKind::Stash, Some(1)),
                (UnlandedKind::Unreadable, None),
            ]
        );
        assert_eq!(commits.0[2].logged, ["t"]);
        let landed = ["a"].map(str::to_owned).into();
        commits.remove_landed(&[(".git/modules/x".to_owned(), landed)].into());
        assert_eq!(commits.0.len(), 3);
    }
}

//! `History`: which commit was made upon which, as far as reflogs tell.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::objects::{Objects, Origin};
use super::text::LogLine;
use super::{Count, ObjectId};

/// The longest subject that is kept, in bytes.
const MOST_SUBJECT: usize = 200;

/// What the reflogs of one repository tell of its commits.
#[derive(Debug)]
pub(super) struct History<'a> {
    /// How many commits may still be counted: a thousand refs may lead to the same thousands.
    steps: &'a Cell<u64>,
    made: BTreeMap<ObjectId, CommitOrigin>,
    /// Every object that a reflog of `HEAD` or of a branch names.
    logged: BTreeSet<ObjectId>,
}

/// How a commit was made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommitOrigin {
    from: From,
    subject: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// Of nothing.
    Nothing,
    /// Upon another one.
    Upon(ObjectId),
    /// Upon another one, and others that the reflog does not name.
    Merging(ObjectId),
    /// In place of another one.
    Amending(ObjectId),
}

impl<'s> History<'s> {
    /// Knows nothing yet.
    pub(super) fn within(steps: &'s Cell<u64>) -> Self {
        Self {
            steps,
            made: BTreeMap::new(),
            logged: BTreeSet::new(),
        }
    }

    /// Takes in a reflog of `HEAD` or of a branch.
    pub(super) fn add(&mut self, log: &[LogLine<'_>]) {
        for line in log {
            self.logged.insert(line.new);
            self.logged.insert(line.old);
            if let Some(made) = made(line) {
                // Of two lines, one is that of `HEAD` and one that of the branch.
                self.made.entry(line.new).or_insert(made);
            }
        }
    }

    /// Returns the subject of a commit.
    pub(super) fn subject(&self, id: &ObjectId) -> Option<Vec<u8>> {
        let made = self.made.get(id)?;
        (!made.subject.is_empty()).then(|| made.subject.clone())
    }

    /// Counts the commits made inside that `tip` comes from, itself included, and adds them to
    /// `seen`. `None` where there may be none.
    pub(super) fn count(
        &self,
        tip: ObjectId,
        objects: &Objects<'_>,
        seen: &mut BTreeSet<ObjectId>,
    ) -> Option<Count> {
        let (mut here, mut number, mut is_whole) = (BTreeSet::new(), 0, true);
        // The commit, and whether it was replaced by one that counts already.
        let mut next = Some((tip, false));
        while let Some((id, is_replaced)) = next {
            let is_inside = match objects.origin(&id) {
                Origin::Sent => break,
                Origin::Inside => true,
                Origin::Unclear => self.made.contains_key(&id),
            };
            let left = self.steps.get();
            if !is_inside || left == 0 || !here.insert(id) {
                is_whole = false;
                break;
            }
            self.steps.set(left - 1);
            if !is_replaced {
                number += 1;
                seen.insert(id);
            }
            next = match self.made.get(&id).map(|made| made.from) {
                None => {
                    is_whole = false;
                    None
                }
                Some(From::Nothing) => None,
                Some(From::Upon(parent)) => Some((parent, false)),
                Some(From::Merging(parent)) => {
                    is_whole = false;
                    Some((parent, false))
                }
                Some(From::Amending(replaced)) => Some((replaced, true)),
            };
        }
        match (number, is_whole) {
            (0, _) => None,
            (number, true) => Some(Count::Exactly(number)),
            (number, false) => Some(Count::AtLeast(number)),
        }
    }

    /// Lists the commits made inside that are in a reflog and not among `seen`.
    pub(super) fn rest<'a>(
        &'a self,
        objects: &'a Objects<'_>,
        seen: &'a BTreeSet<ObjectId>,
    ) -> impl Iterator<Item = ObjectId> + 'a {
        let lost = |id: &&ObjectId| {
            !seen.contains(*id)
                && match objects.origin(id) {
                    Origin::Sent => false,
                    Origin::Inside => true,
                    Origin::Unclear => self.made.contains_key(*id),
                }
        };
        self.logged.iter().filter(lost).copied()
    }
}

/// Reads how a commit was made out of what git writes into a reflog. Everything else moves a
/// ref to a commit that was there before, or does what is not told here.
fn made(line: &LogLine<'_>) -> Option<CommitOrigin> {
    let at = line.message.windows(2).position(|pair| pair == b": ")?;
    let (action, subject) = (line.message.get(..at)?, line.message.get(at + 2..)?);
    let from = match action {
        b"commit (initial)" => From::Nothing,
        b"commit (amend)" => From::Amending(line.old),
        b"commit (merge)" => From::Merging(line.old),
        b"commit"
        | b"commit (cherry-pick)"
        | b"cherry-pick"
        | b"revert"
        | b"am"
        | b"rebase (pick)" => match line.old.is_zero() {
            true => From::Nothing,
            false => From::Upon(line.old),
        },
        merge if merge.starts_with(b"merge ") && subject.starts_with(b"Merge made by") => {
            From::Merging(line.old)
        }
        _ => return None,
    };
    let subject = subject.get(..MOST_SUBJECT).unwrap_or(subject).to_vec();
    Some(CommitOrigin { from, subject })
}

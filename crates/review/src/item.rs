//! `Item`: one line of the list, as the review knows it.
//!
//! Plain data, without engines, files or terminals. Every text in it is escaped already, or ours.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use lazaret_gate::file_diff::LineCounts;
use lazaret_gate::proposal::moved_words;
use lazaret_transfer::ConflictKind;
use lazaret_tree::{RelPathBuf, escape};
use lazaret_validator::{Finding, Findings, Severity};

/// What happened at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Nothing was there.
    Added,
    /// Contents, mode, target or type changed.
    Modified,
    /// Nothing is there any more.
    Deleted,
    /// It was not carried, or it is no path: there is only something to say about it.
    Mentioned,
}

impl Sign {
    /// Returns the character that stands for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Modified => "~",
            Self::Deleted => "-",
            Self::Mentioned => " ",
        }
    }
}

/// What the rules say about one item, the gravest first: a part of what they say of the batch,
/// which all items share.
#[derive(Clone)]
pub struct ItemFindings {
    all: Arc<FindingIndex>,
    range: Range<u32>,
}

/// All findings of a batch, by what they are about.
#[derive(Debug, Default)]
pub struct FindingIndex {
    findings: Arc<Findings>,
    /// Indices of findings, those about one subject together, the gravest first.
    order: Vec<u32>,
}

impl FindingIndex {
    /// Sorts findings, which are in their order, by subject.
    pub fn new(findings: Arc<Findings>) -> Arc<Self> {
        let mut order: Vec<u32> = (0..).take(findings.len()).collect();
        // Stable: the gravest stay first.
        order.sort_by(|a, b| {
            findings[*a as usize]
                .subject
                .cmp(&findings[*b as usize].subject)
        });
        Arc::new(Self { findings, order })
    }

    /// Returns what is said of each subject, in the order of the subjects.
    pub fn by_subject(self: &Arc<Self>) -> impl Iterator<Item = ItemFindings> {
        let all = Arc::clone(self);
        let mut start = 0;
        std::iter::from_fn(move || {
            let subject = &all.get(start)?.subject;
            let rest = all.order[start..].iter();
            let alike = rest.take_while(|index| all.findings[**index as usize].subject == *subject);
            let end = start + alike.count();
            let range = u32::try_from(start).ok()?..u32::try_from(end).ok()?;
            start = end;
            Some(ItemFindings {
                all: Arc::clone(&all),
                range,
            })
        })
    }

    fn get(&self, at: usize) -> Option<&Finding> {
        let index = *self.order.get(at)?;
        Some(&self.findings[index as usize])
    }
}

impl ItemFindings {
    /// Returns that nothing is said.
    pub fn none(all: &Arc<FindingIndex>) -> Self {
        Self {
            all: Arc::clone(all),
            range: 0..0,
        }
    }

    /// Iterates over the findings, the gravest first.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        let mut range = self.range.clone();
        std::iter::from_fn(move || self.all.get(range.next()? as usize))
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Returns how grave the gravest is.
    pub fn severity(&self) -> Option<Severity> {
        self.iter().next().map(|finding| finding.severity)
    }
}

impl FromIterator<Finding> for ItemFindings {
    fn from_iter<I: IntoIterator<Item = Finding>>(findings: I) -> Self {
        let findings: Findings = findings.into_iter().map(Arc::new).collect();
        let order: Vec<u32> = (0..).take(findings.len()).collect();
        let range = 0..order.len() as u32;
        let findings = Arc::new(findings);
        Self {
            all: Arc::new(FindingIndex { findings, order }),
            range,
        }
    }
}

impl fmt::Debug for ItemFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for ItemFindings {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for ItemFindings {}

/// Why something stays in the copy; worded when it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockReason {
    /// In words of ours.
    Said(Cow<'static, str>),
    /// Of these codes.
    Blocked(Arc<[&'static str]>),
    /// The user changed it too.
    Conflict(ConflictKind),
    /// It can't happen without this, which stays.
    Depends(RelPathBuf),
    /// It was moved to this place, which stays. The raw name.
    Moved(Arc<[u8]>),
}

impl fmt::Display for BlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(words) => f.write_str(words),
            Self::Blocked(codes) => write!(f, "blocked: {}", codes.join(", ")),
            Self::Conflict(kind) => write!(f, "conflict: {kind}"),
            Self::Depends(path) => {
                write!(f, "it depends on {}", escape(path.as_str().as_bytes()))
            }
            Self::Moved(place) => write!(f, "it {} {}", moved_words(place), escape(place)),
        }
    }
}

/// What may become of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemStatus {
    /// The user may take it or leave it.
    Free,
    /// Blocked; a person who types the word may allow it.
    Blocked,
    /// The user changed it too, and the two don't fit together; a person who types the word
    /// may have their own version replaced. What the user did.
    Conflict(ConflictKind),
    /// It stays, whatever is chosen here; why.
    Stays(BlockReason),
}

/// What the user chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// All of it.
    Take,
    /// None of it.
    Leave,
    /// These hunks of it, counted from 0; neither none of them nor all.
    Hunks(BTreeSet<usize>),
}

/// Whether a blocked item was allowed by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// No.
    None,
    /// For this apply.
    Once,
    /// For these contents at this path, from now on.
    Remembered,
}

/// What is special about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The user changed it too, and nothing can be merged.
    Conflict,
    /// The workspace has it already.
    Same,
    /// The user changed it too, and both changes fit.
    Merged,
    /// What blocks it is allowed for good.
    Allowed,
}

impl Tag {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Same => "same",
            Self::Merged => "merged",
            Self::Allowed => "allowed",
        }
    }
}

/// One changed path, or something that was said of a name that is none. A large batch has
/// 200,000 of them: what they have in common is shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The escaped path. A `/` separates components, and is part of none.
    pub path: Arc<str>,
    /// Whether the entry is a directory after the change, or was one.
    pub is_dir: bool,
    /// What happened.
    pub sign: Sign,
    /// What is to be said before anything was read of it; the rest comes with its body.
    pub facts: Box<[String]>,
    /// A word after the name.
    pub tag: Option<Tag>,
    /// What the rules say, the gravest first.
    pub findings: ItemFindings,
    /// What may become of it.
    pub status: ItemStatus,
    /// What the user chose.
    pub choice: Choice,
    /// Whether it was allowed.
    pub allowance: Allowance,
    /// Lines that were added and removed; `None` as long as they were not counted.
    pub counts: Option<LineCounts>,
    /// Which item takes away what this one brings, if that was moved: it is left and taken
    /// with this one.
    pub moved_from: Option<u32>,
}

/// The mark in front of an item or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Will be applied.
    Taken,
    /// Stays, by choice.
    Left,
    /// Some of it will be applied.
    Partly,
    /// Stays, because it has to.
    Stays,
}

impl Mark {
    /// Returns the three characters that stand for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "[x]",
            Self::Left => "[ ]",
            Self::Partly => "[~]",
            Self::Stays => "[!]",
        }
    }
}

impl Item {
    /// Returns the gravest thing that was said of it.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.severity()
    }

    /// Whether the user's choice decides.
    pub fn is_free(&self) -> bool {
        match self.status {
            ItemStatus::Free => true,
            ItemStatus::Blocked | ItemStatus::Conflict(_) => self.allowance != Allowance::None,
            ItemStatus::Stays(_) => false,
        }
    }

    /// Returns the mark in front of it.
    pub fn mark(&self) -> Mark {
        match &self.choice {
            _ if !self.is_free() => Mark::Stays,
            Choice::Take => Mark::Taken,
            Choice::Leave => Mark::Left,
            Choice::Hunks(_) => Mark::Partly,
        }
    }

    /// Whether a hunk is chosen.
    pub fn takes_hunk(&self, hunk: usize) -> bool {
        self.is_free()
            && match &self.choice {
                Choice::Take => true,
                Choice::Leave => false,
                Choice::Hunks(hunks) => hunks.contains(&hunk),
            }
    }

    /// Takes a hunk that was left, or leaves one that was taken; `all` is their number.
    pub fn toggle_hunk(&mut self, hunk: usize, all: usize) {
        let mut hunks = match &self.choice {
            Choice::Take => (0..all).collect(),
            Choice::Leave => BTreeSet::new(),
            Choice::Hunks(hunks) => hunks.clone(),
        };
        if !hunks.remove(&hunk) {
            hunks.insert(hunk);
        }
        self.choice = match hunks.len() {
            0 => Choice::Leave,
            number if number == all => Choice::Take,
            _ => Choice::Hunks(hunks),
        };
    }
}

/// Returns the letter of a severity; colour alone never says it.
pub fn letter(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Block) => "B",
        Some(Severity::Warn) => "W",
        Some(Severity::Note) => "n",
        None => " ",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an item without remarks.
    pub(crate) fn item(sign: Sign, path: &str) -> Item {
        Item {
            path: path.into(),
            is_dir: false,
            sign,
            facts: Box::default(),
            tag: None,
            findings: ItemFindings::from_iter([]),
            status: ItemStatus::Free,
            choice: Choice::Take,
            allowance: Allowance::None,
            counts: None,
            moved_from: None,
        }
    }

    #[test]
    fn hunks_are_a_part_neither_none_nor_all() {
        let mut item = item(Sign::Modified, "a");
        item.toggle_hunk(1, 3);
        assert_eq!(item.choice, Choice::Hunks([0, 2].into()));
        assert_eq!(item.mark(), Mark::Partly);
        assert!(item.takes_hunk(0) && !item.takes_hunk(1));
        item.toggle_hunk(1, 3);
        assert_eq!(item.choice, Choice::Take);
        for hunk in 0..3 {
            item.toggle_hunk(hunk, 3);
        }
        assert_eq!(item.choice, Choice::Leave);
        item.toggle_hunk(0, 1);
        assert_eq!(item.choice, Choice::Take);
    }

    #[test]
    fn a_blocked_item_is_free_only_when_it_is_allowed() {
        let mut item = item(Sign::Added, "a");
        item.status = ItemStatus::Blocked;
        assert_eq!((item.mark(), item.takes_hunk(0)), (Mark::Stays, false));
        item.allowance = Allowance::Once;
        assert_eq!((item.mark(), item.takes_hunk(0)), (Mark::Taken, true));
        item.status = ItemStatus::Stays(BlockReason::Said("below x".into()));
        assert_eq!(item.mark(), Mark::Stays);
    }
}

//! `Item`: one line of the list, as the review knows it.
//!
//! Plain data, without engines, files or terminals. Every text in it is escaped already, or ours.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use lazaret_validator::Severity;

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

/// A finding about an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How grave it is.
    pub severity: Severity,
    /// The stable code.
    pub code: &'static str,
    /// The reason.
    pub message: Cow<'static, str>,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// The line in the new contents, counted from 1.
    pub line: Option<u32>,
}

/// What may become of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The user may take it or leave it.
    Free,
    /// Blocked; a person who types the word may allow it.
    Blocked,
    /// The user changed it too, and the two don't fit together; a person who types the word
    /// may have their own version replaced. What the user did.
    Conflict(String),
    /// It stays, whatever is chosen here; why.
    Stays(String),
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

/// Lines that came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tally {
    /// Not counted yet.
    Unknown,
    /// There are no lines: not text, or too large.
    None,
    /// So many.
    Lines {
        /// Lines only in the new version.
        added: usize,
        /// Lines only in the old one.
        removed: usize,
    },
}

/// One changed path, or something that was said of a name that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The escaped path. A `/` separates components, and is part of none.
    pub path: Arc<str>,
    /// Whether the entry is a directory after the change, or was one.
    pub is_dir: bool,
    /// What happened.
    pub sign: Sign,
    /// What is to be said before anything was read of it; the rest comes with its body.
    pub facts: Vec<String>,
    /// Words after the name: `merged`, `conflict`.
    pub tag: Option<&'static str>,
    /// What the rules say, the gravest first.
    pub remarks: Vec<Remark>,
    /// What may become of it.
    pub standing: Standing,
    /// What the user chose.
    pub choice: Choice,
    /// Whether it was allowed.
    pub allowance: Allowance,
    /// Lines.
    pub tally: Tally,
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
        self.remarks.iter().map(|remark| remark.severity).max()
    }

    /// Whether the user's choice decides.
    pub fn is_free(&self) -> bool {
        match self.standing {
            Standing::Free => true,
            Standing::Blocked | Standing::Conflict(_) => self.allowance != Allowance::None,
            Standing::Stays(_) => false,
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

    /// An item that nobody has anything to say about.
    pub(crate) fn item(sign: Sign, path: &str) -> Item {
        Item {
            path: path.into(),
            is_dir: false,
            sign,
            facts: Vec::new(),
            tag: None,
            remarks: Vec::new(),
            standing: Standing::Free,
            choice: Choice::Take,
            allowance: Allowance::None,
            tally: Tally::Unknown,
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
        item.standing = Standing::Blocked;
        assert_eq!((item.mark(), item.takes_hunk(0)), (Mark::Stays, false));
        item.allowance = Allowance::Once;
        assert_eq!((item.mark(), item.takes_hunk(0)), (Mark::Taken, true));
        item.standing = Standing::Stays("below x".to_owned());
        assert_eq!(item.mark(), Mark::Stays);
    }
}

//! `WaitingChanges`: how much of a batch waits for a decision.

use std::fmt;

use lazaret_transfer::PendingUpdate;
use lazaret_tree::{ChangeKind, RelPath};
use serde::{Deserialize, Serialize};

use crate::proposal::{ItemState, Proposal};

/// How many changes wait, by what they do to their path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingChanges {
    /// What was not there before.
    pub added: u64,
    /// What is there before and after.
    pub modified: u64,
    /// What is gone.
    pub deleted: u64,
    /// How many of all of these rules hold back.
    pub blocked: u64,
}

impl WaitingChanges {
    /// Counts what is not in the workspace yet, nor among what is being applied; `None` if
    /// nothing is left.
    pub fn of(whole: &Proposal, applied: Option<&PendingUpdate>) -> Option<Self> {
        let is_applied = |path: &RelPath| {
            applied.is_some_and(|update| {
                let gone = update.gone.binary_search_by(|gone| (**gone).cmp(path));
                update.there.get(path).is_some() || gone.is_ok()
            })
        };
        let mut waiting = Self::default();
        for item in whole.items() {
            if item.state == ItemState::AlreadyApplied || is_applied(item.path()) {
                continue;
            }
            match item.proposed().kind() {
                ChangeKind::Added => waiting.added += 1,
                ChangeKind::Deleted => waiting.deleted += 1,
                ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::TypeChanged => {
                    waiting.modified += 1;
                }
            }
            waiting.blocked += u64::from(matches!(item.state, ItemState::Blocked(_)));
        }
        (waiting != Self::default()).then_some(waiting)
    }
}

/// As in `+5 ~3 -1, 2 blocked`; nothing for nothing.
impl fmt::Display for WaitingChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs = [("+", self.added), ("~", self.modified), ("-", self.deleted)];
        let parts = signs.into_iter().filter(|&(_, number)| number > 0);
        let parts: Vec<_> = parts
            .map(|(sign, number)| format!("{sign}{number}"))
            .collect();
        f.write_str(&parts.join(" "))?;
        match self.blocked {
            0 => Ok(()),
            blocked => write!(f, ", {blocked} blocked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown_in_signs() {
        for (added, modified, deleted, blocked, text) in [
            (0, 0, 0, 0, ""),
            (5, 3, 1, 0, "+5 ~3 -1"),
            (0, 2, 0, 2, "~2, 2 blocked"),
            (0, 0, 1, 0, "-1"),
        ] {
            let waiting = WaitingChanges {
                added,
                modified,
                deleted,
                blocked,
            };
            assert_eq!(waiting.to_string(), text);
        }
    }
}

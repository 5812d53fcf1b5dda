//! `Mode` and `Effect`: what the keys mean, and what they ask the loop for.

use super::item::Allowance;
use super::plan::Plan;

/// What the keys mean at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Looking and choosing.
    Browse,
    /// The keys are explained; the first row on show.
    Help(usize),
    /// A part of a path is typed.
    Filter,
    /// A blocked item is to be allowed.
    Allow {
        /// The item.
        item: usize,
        /// What was typed of the word.
        typed: String,
        /// What the allowance would be.
        allowance: Allowance,
    },
    /// Nothing can be allowed here, and the word for it may still be typed: it is swallowed.
    NotAllowed {
        /// Why not.
        reason: String,
        /// What was typed of the word.
        typed: String,
    },
    /// What would be applied is shown, and asked about; the first row on show.
    Apply(Plan, usize),
    /// Asked whether to throw all of it away.
    Discard,
}

/// What the loop has to do after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Draw.
    None,
    /// Draw, and throw away what was typed before the question could be read (UI-06).
    Ask,
    /// Find out what would be applied, then ask.
    Propose,
    /// Judge again: an allowance was given or taken back.
    Rejudge,
    /// Write a patch of what is chosen.
    Export,
    /// Stop the process until it is continued.
    Suspend,
    /// Leave.
    End(ReviewAnswer),
}

/// How a review ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewAnswer {
    /// Apply what was shown and agreed to.
    Apply,
    /// Not now.
    Keep,
    /// Never.
    Discard,
}

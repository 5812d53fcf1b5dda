//! Judges a home that is kept: which settings and programs in it are not the user's.
//!
//! History, caches and transcripts pass unjudged: they steer the same session only. Everything
//! that a tool reads as settings, or runs, has to be a file of the profile's `seed`, a content that
//! the user allowed, or a `memory` file; whatever else lies there is put back before the next
//! command starts.

mod judge;
mod keys;
mod mixed;
mod table;

pub use judge::{
    Difference, DifferenceKind, ExpectedHome, Found, HomeFile, Judgement, Put, fingerprint,
    judge_home,
};
pub use keys::Format;
pub use table::{HOME_RULES, HomeRule, Treatment, compared, home_patterns, home_rule};

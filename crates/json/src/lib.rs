//! Strict JSON, a message a line, from peers that are not trusted.
//!
//! Two readers of one text may take different values from it: where a key is repeated, where a NUL
//! ends a string for one of them. [`check`] refuses such texts, and those that are nested too
//! deeply. [`next_line`] reads a line with a bound on the memory.

mod line;
mod strict;

pub use line::{Line, next_line};
pub use strict::{JsonError, Kind, check};

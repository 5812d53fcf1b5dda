//! Asking a session: one JSON object in, one out.
//!
//! | file | what is in it |
//! |---|---|
//! | [`json`] | the one reading of JSON that both directions share: strict, and bounded |
//! | [`request`] | what may be asked |
//! | [`answer`] | finds the answer in what a command prints, whatever else that is |
//! | [`turns`] | one turn at a time, first come first served; answers that were given |
//!
//! [`json`], [`request`] and [`answer`] do no I/O.

pub mod answer;
pub mod json;
pub mod request;
pub mod turns;

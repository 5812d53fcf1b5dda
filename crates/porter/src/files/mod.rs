//! The verbs that move files in and out of a volume.

mod closed;
pub(crate) mod copy;
pub(crate) mod empty;
pub(crate) mod export;
pub(crate) mod lifts;
pub(crate) mod receive;
pub(crate) mod root;
mod send;
pub(crate) mod spill;
mod stream_input;
mod survey;
mod tick;
pub(crate) mod update;
pub(crate) mod usage;

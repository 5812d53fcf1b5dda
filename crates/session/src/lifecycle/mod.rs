//! The steps of a session, in order: from opening it to settling what it changed.

pub mod background;
pub mod bootstrap;
pub mod collect;
pub mod create;
pub mod file_limit;
pub mod fill;
pub mod follow;
pub mod latch;
pub mod merge_base;
pub mod open;
pub mod protect;
pub mod prune;
pub mod recover;
pub mod repair;
pub mod run;
pub mod source;
pub mod standby;
pub mod stop;
pub mod update;
pub mod update_summary;
pub mod verify;

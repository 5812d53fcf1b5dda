//! Integration tests of the crate, one binary.

mod broken_transfers;
mod changes;
mod deadline;
mod deflated;
mod door;
mod emptying;
mod exporting;
mod layer;
mod lend;
mod network;
mod odd_entries;
mod run;
mod sealed;
mod session;
mod talking;
mod update;

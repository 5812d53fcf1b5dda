//! Integration tests of the crate, one binary.

mod broken_transfers;
mod changes;
mod compressed;
mod copying;
mod credentials;
mod deadline;
mod emptying;
mod exporting;
mod filter;
mod home;
mod installed;
mod layer;
mod lifeline;
mod network;
mod odd_entries;
mod pid1_channel;
mod run;
mod seat;
mod seat_over_engine;
mod seat_resumed;
mod session;
mod talking;
mod update;
mod usage;
mod verify_protection;

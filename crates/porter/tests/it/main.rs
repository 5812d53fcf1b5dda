//! Integration tests of the crate, one binary.

mod broken_transfers;
mod changes;
mod odd_entries;
mod session;
mod update;

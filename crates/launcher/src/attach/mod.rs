//! A client of a live session's terminal.

pub mod keys;
mod terminal_input;

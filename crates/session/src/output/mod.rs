//! The command's output, and the keys that go in.

pub mod relay;
pub mod screen;
pub mod terminal;

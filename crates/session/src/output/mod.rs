//! The command's output, and the keys that go in.

pub mod command_input;
pub mod relay;
pub mod screen;

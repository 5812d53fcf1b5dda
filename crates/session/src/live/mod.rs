//! Looks into a session whose command runs, and the pause that each takes.

pub mod pause;
pub mod remote_pause;
pub mod view;
pub mod views;

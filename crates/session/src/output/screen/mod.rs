//! A command's screen: what of it may reach a terminal.

mod filter;
mod leave;

pub use filter::ScreenSanitizer;
pub use leave::LEAVE;

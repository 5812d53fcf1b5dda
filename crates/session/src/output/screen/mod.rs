//! A command's screen: what of it may reach a terminal, and what a terminal must be told to
//! show it.
//!
//! | file | what it does |
//! |---|---|
//! | `filter` | keeps what draws, drops what acts (UI-01) |
//! | `state` | holds the screen, so that a client that attaches sees it |
//! | `leave` | gives a user's terminal back |
//! | `notices` | reads bells and notifications, which no terminal gets |
//!
//! The rest serves `state`: `tokens` splits the filtered stream, `modes` records modes,
//! `emulator` and `interpret` draw, `restore` writes the screen, `replies` answers queries.

mod charsets;
mod crop;
mod emulator;
mod filter;
mod interpret;
mod keyboard;
mod leave;
mod modes;
mod notices;
mod replies;
mod restore;
mod screens;
mod sgr;
mod state;
mod tabs;
mod tokens;

pub use filter::ScreenSanitizer;
pub use leave::LEAVE;
pub use notices::{Notice, Notices};
pub use state::ScreenState;

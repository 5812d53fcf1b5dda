//! The keeper of a session as a process: how it is begun, and what it does.
//!
//! It is this program once more, with the same arguments, and `LAZARET_KEEPER` set. While it
//! prepares the session it has the terminal of the one who began it, for progress and failures. As
//! soon as clients can reach it, it leaves that terminal.
//!
//! ```text
//! front → keeper   a line of JSON: `Order`           on the keeper's stdin, a socket
//! keeper → front   a line of JSON: `Reachable`
//! front → keeper   its end: before that, everything is taken back; after it, a session that the
//!                  front owns is stopped and collected
//! ```

mod front;
mod happening;
mod notifier;
mod process;
mod said;

pub(crate) use front::{Begun, begin, own_program};
pub(crate) use happening::{plain, words};
pub(crate) use process::{LiveOptions, Ordered, is_keeper, keep};

use crate::attach::beside::StdinMode;
use lazaret_session::keeper::message::Size;
use serde::{Deserialize, Serialize};

/// Set for a keeper.
const VARIABLE: &str = "LAZARET_KEEPER";

/// What a keeper can't find out by itself, as its stdin is no terminal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The size of the user's terminal.
    pub(crate) size: Size,
    /// What the front is to the session.
    pub(crate) front: Front,
    /// What the command reads, if it has no terminal.
    pub(crate) stdin: StdinMode,
    /// Who asks the user what becomes of the changes.
    pub(crate) asks: bool,
    /// The task that came on the user's stdin.
    pub(crate) prompt: Option<String>,
}

/// What a front is to the session that it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Front {
    /// It ends as soon as clients can come.
    Starts,
    /// It is attached until the user leaves.
    Follows,
    /// It is attached, and the session ends with it. The command has no terminal.
    Owns,
}

/// Clients can come.
#[derive(Debug, Serialize, Deserialize)]
struct Reachable {
    session: String,
}

//! What the porter of a command hears before it becomes the command.
//!
//! ```text
//! words = (verb "\n" what the verb reads)* (GO | CANCEL)
//! verb  = "receive " ROOT | "update " ROOT [" --ahead"]
//! ```
//!
//! The host says the next word only once it has read the last that the verb says.

use crate::Verb;

/// Returns the line that asks for a verb.
pub fn line(verb: &Verb) -> String {
    format!("{}\n", verb.to_argv().join(" "))
}

/// The command may start.
pub const GO: &[u8] = b"go\n";

/// The command is not to start.
pub const CANCEL: &[u8] = b"end\n";

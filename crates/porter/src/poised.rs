//! What a poised command hears before it starts.
//!
//! ```text
//! words = (verb "\n" what the verb reads)* ("go\n" | "end\n")
//! verb  = "receive " ROOT | "update " ROOT [" --ahead"]
//! ```
//!
//! Whoever starts a command brings its directory up to date first. That the same process does
//! both saves an engine's exec, and nothing else runs where the command will. A verb that fails
//! ends it, and so does any other word, or the end of stdin. The host says the next word only
//! once it has read the last that the verb says.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};

use crate::receive::{self, ReceiveError};
use crate::root;
use crate::update::{self, UpdateError};

/// The longest word: a verb, its root, a flag.
const LONGEST: usize = 64;

/// Why a poised command does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoisedError {
    /// No word came, or none that anybody says.
    #[error("never told to start")]
    NeverTold,
    /// What was to be done first failed.
    #[error("receive: {0}")]
    Receive(#[from] ReceiveError),
    /// As before.
    #[error("update: {0}")]
    Update(#[from] UpdateError),
}

/// The last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The command may start.
    Go,
    /// It is not wanted.
    End,
}

/// Does what it hears, up to the last word.
pub(crate) fn listen() -> Result<Heard, PoisedError> {
    loop {
        let word = word().map_err(|_| PoisedError::NeverTold)?;
        let mut parts = word.split(' ').map(OsString::from);
        let verb = parts.next();
        match verb.as_deref().and_then(|verb| verb.to_str()) {
            Some("go") if word == "go" => return Ok(Heard::Go),
            Some("end") if word == "end" => return Ok(Heard::End),
            Some("receive") => receive::act(parts)?,
            Some("update") => update::act(parts)?,
            _ => return Err(PoisedError::NeverTold),
        }
    }
}

/// Reads one word, and nothing of what follows it.
fn word() -> io::Result<String> {
    let mut stdin: File = root::stdin()?;
    let mut word = Vec::new();
    let mut byte = [0];
    while word.len() < LONGEST {
        stdin.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return String::from_utf8(word).map_err(io::Error::other),
            [byte] => word.push(byte),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

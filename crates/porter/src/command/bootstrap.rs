//! What the porter does before it becomes the command ([`bootstrap`]).
//!
//! The launcher has the command's directory brought up to date first. If one process does both,
//! that saves an exec by the engine, and no second process runs beside the command. A verb that
//! fails ends the porter; so does an unknown word, or the end of stdin.

use std::ffi::OsString;

use lazaret_protocol::{Verb, bootstrap, read_line};

use crate::files::receive::{self, ReceiveError};
use crate::files::root;
use crate::files::update::{self, UpdateError};

/// Why the command does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootstrapError {
    /// No word came, or an unknown one.
    #[error("never told to start")]
    NeverTold,
    /// The files could not be received.
    #[error("receive: {0}")]
    Receive(#[from] ReceiveError),
    /// The volume could not be updated.
    #[error("update: {0}")]
    Update(#[from] UpdateError),
}

/// The last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartOrder {
    /// The command may start.
    Go,
    /// It is not wanted.
    End,
}

/// Does what it hears, up to the last word.
pub(crate) fn listen() -> Result<StartOrder, BootstrapError> {
    loop {
        let heard = root::stdin().and_then(|mut stdin| read_line(&mut stdin));
        let word = heard.map_err(|_| BootstrapError::NeverTold)?;
        match format!("{word}\n").as_bytes() {
            bootstrap::GO => return Ok(StartOrder::Go),
            bootstrap::CANCEL => return Ok(StartOrder::End),
            _ => first(&word)?,
        }
    }
}

/// Does what comes before the command.
fn first(word: &str) -> Result<(), BootstrapError> {
    match Verb::parse(word.split(' ').map(OsString::from)) {
        Ok(Verb::Receive { root }) => Ok(receive::act(&root)?),
        Ok(Verb::Update { root, mode }) => Ok(update::act(&root, mode)?),
        _ => Err(BootstrapError::NeverTold),
    }
}

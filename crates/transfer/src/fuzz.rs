//! Doors for `fuzz/` to what is private otherwise.

use crate::JournalError;
use crate::journal::Journal;

/// Reads a journal, and returns what would be written for it.
///
/// # Errors
/// When it is refused.
pub fn journal(bytes: &[u8]) -> Result<String, JournalError> {
    Ok(Journal::parse(bytes)?.to_text())
}

//! Doors for `fuzz/` to what is private otherwise.

use crate::JournalError;
use crate::apply::journal::Journal;

/// Reads a journal, and returns what would be written for it.
///
/// # Errors
/// When it is refused.
pub fn journal(bytes: &[u8]) -> Result<String, JournalError> {
    let mut text = Vec::new();
    let written = Journal::parse(bytes)?.write_to(&mut |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    debug_assert!(written.is_ok());
    Ok(String::from_utf8_lossy(&text).into_owned())
}

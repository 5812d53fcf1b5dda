//! `shown`: what a file says, for a message.

use lazaret_tree::escape;

/// The most characters of a name or an address in a message.
const MOST_SHOWN: usize = 100;

/// Escapes and shortens what a file says.
pub(crate) fn shown(text: &str) -> String {
    let most = text.char_indices().nth(MOST_SHOWN);
    match most {
        Some((end, _)) => format!(
            "{}…",
            escape(text.get(..end).unwrap_or_default().as_bytes())
        ),
        None => escape(text.as_bytes()),
    }
}

//! `DetachKeys`: the keys by which a user speaks to lazaret and not to the command.
//!
//! The prefix is Ctrl-], or another key of a profile's:
//!
//! | keys | meaning |
//! |---|---|
//! | prefix, `d` | detach |
//! | prefix, `t` | take the terminal from the client that drives |
//! | prefix, `k` | end the command |
//! | prefix, prefix | the command gets one Ctrl-] |
//! | prefix, prefix, prefix | the command gets one Ctrl-] and is ended |
//! | prefix, any other key | the command gets both |
//!
//! Nothing in a bracketed paste is a prefix. A paste is bracketed only if the command asked for
//! it (`?2004h`).

use std::fmt;
use std::str::FromStr;

use super::terminal_input::{Ctrl, Event, Key, Kind, Piece, TerminalInput};

/// Keys whose release is still to come, at most.
const MOST_HELD: usize = 8;

/// The key of the prefix, held with Ctrl. It is shown as `ctrl-]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixKey(char);

/// A text that names no key of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `ctrl-` and a letter or one of ] \\ ^ _ @, such as \"ctrl-]\"; not i, m or [, which are Tab, Enter and Esc"
)]
pub struct NoPrefixKey;

impl Default for PrefixKey {
    fn default() -> Self {
        Self(']')
    }
}

impl PrefixKey {
    /// Returns the key with a character, in lower case.
    ///
    /// # Errors
    /// The key has no control byte with Ctrl, or is Tab, Enter or Esc.
    pub fn new(key: char) -> Result<Self, NoPrefixKey> {
        let key = key.to_ascii_lowercase();
        let has_byte = key.is_ascii_lowercase() || "]\\^_@".contains(key);
        match has_byte && !"im".contains(key) {
            true => Ok(Self(key)),
            false => Err(NoPrefixKey),
        }
    }

    /// Returns its character.
    pub fn key(self) -> char {
        self.0
    }
}

impl fmt::Display for PrefixKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ctrl-{}", self.0)
    }
}

impl FromStr for PrefixKey {
    type Err = NoPrefixKey;

    fn from_str(text: &str) -> Result<Self, NoPrefixKey> {
        let key = text.strip_prefix("ctrl-");
        let mut key = key
            .or_else(|| text.strip_prefix("Ctrl-"))
            .unwrap_or_default()
            .chars();
        match (key.next(), key.next()) {
            (Some(key), None) => Self::new(key),
            _ => Err(NoPrefixKey),
        }
    }
}

/// What the keys mean, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAction {
    /// These bytes are for the command. They are never empty.
    Forward(Vec<u8>),
    /// Leave the session running.
    Detach,
    /// Become the client that drives.
    Take,
    /// End the command.
    End,
}

/// Reads what a terminal in raw mode sends, however reads cut it.
#[derive(Debug, Default)]
pub struct DetachKeys {
    key: PrefixKey,
    input: TerminalInput,
    prefix: Prefix,
    /// Codes of keys that were pressed and not forwarded; nor is their release.
    held: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Prefix {
    #[default]
    None,
    /// Came in these bytes.
    Once(Vec<u8>),
    /// Came twice; the command has one.
    Twice,
}

impl DetachKeys {
    /// Reads keys of which this one is the prefix.
    pub fn with_prefix(key: PrefixKey) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    /// Reads a chunk. The start of a key is held back until its end or [`Self::flush`], a
    /// prefix until the next key.
    pub fn read(&mut self, chunk: &[u8]) -> Vec<KeyAction> {
        let mut actions = Vec::new();
        for piece in self.input.read(chunk) {
            self.take(piece, &mut actions);
        }
        actions
    }

    /// Forwards the start of a key whose rest did not come, such as a lone ESC. Call it when
    /// the terminal was silent for a tick, 100 ms or less.
    pub fn flush(&mut self) -> Vec<KeyAction> {
        let mut actions = Vec::new();
        if let Some(piece) = self.input.flush() {
            self.take(piece, &mut actions);
        }
        actions
    }

    /// Whether the prefix was typed and the next key decides. A client may show it.
    pub fn is_prefix_pending(&self) -> bool {
        matches!(self.prefix, Prefix::Once(_))
    }

    fn take(&mut self, piece: Piece, actions: &mut Vec<KeyAction>) {
        match piece.kind {
            Kind::Passing => forward(piece.bytes, actions),
            Kind::Other => {
                self.give_up_prefix(actions);
                forward(piece.bytes, actions);
            }
            Kind::Key(key) => self.key(key, piece.bytes, actions),
        }
    }

    fn key(&mut self, key: Key, bytes: Vec<u8>, actions: &mut Vec<KeyAction>) {
        let is_held = self.held.contains(&key.code);
        match key.event {
            Event::Release if is_held => self.held.retain(|code| *code != key.code),
            Event::Release => forward(bytes, actions),
            // A key that is held down is one key.
            Event::Repeat if is_held => {}
            Event::Press | Event::Repeat if self.is_prefix(key) => {
                self.prefix_key(key, bytes, actions)
            }
            Event::Press | Event::Repeat => self.plain_key(key, bytes, actions),
        }
    }

    fn prefix_key(&mut self, key: Key, bytes: Vec<u8>, actions: &mut Vec<KeyAction>) {
        self.prefix = match std::mem::take(&mut self.prefix) {
            Prefix::None => {
                self.hold(key);
                Prefix::Once(bytes)
            }
            Prefix::Once(_) => {
                // The command gets this press, so it gets the release too.
                self.held.retain(|code| *code != key.code);
                forward(bytes, actions);
                Prefix::Twice
            }
            Prefix::Twice => {
                self.hold(key);
                actions.push(KeyAction::End);
                Prefix::None
            }
        };
    }

    fn plain_key(&mut self, key: Key, bytes: Vec<u8>, actions: &mut Vec<KeyAction>) {
        let command = match (&self.prefix, key.ctrl) {
            (Prefix::Once(_), Ctrl::Free) => command(key.code),
            _ => None,
        };
        match command {
            Some(command) => {
                self.prefix = Prefix::None;
                self.hold(key);
                actions.push(command);
            }
            None => {
                self.give_up_prefix(actions);
                forward(bytes, actions);
            }
        }
    }

    fn hold(&mut self, key: Key) {
        if self.held.len() == MOST_HELD {
            self.held.remove(0);
        }
        self.held.push(key.code);
    }

    fn give_up_prefix(&mut self, actions: &mut Vec<KeyAction>) {
        if let Prefix::Once(bytes) = std::mem::take(&mut self.prefix) {
            let prefix = u32::from(self.key.0);
            self.held.retain(|code| *code != prefix);
            forward(bytes, actions);
        }
    }

    fn is_prefix(&self, key: Key) -> bool {
        key.code == u32::from(self.key.0) && key.ctrl == Ctrl::Held
    }
}

fn command(code: u32) -> Option<KeyAction> {
    match char::from_u32(code)? {
        'd' => Some(KeyAction::Detach),
        't' => Some(KeyAction::Take),
        'k' => Some(KeyAction::End),
        _ => None,
    }
}

/// Joins with what is forwarded right before.
fn forward(bytes: Vec<u8>, actions: &mut Vec<KeyAction>) {
    match actions.last_mut() {
        Some(KeyAction::Forward(before)) => before.extend(bytes),
        _ => actions.push(KeyAction::Forward(bytes)),
    }
}

#[cfg(test)]
mod tests;

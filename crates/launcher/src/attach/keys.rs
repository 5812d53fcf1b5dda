//! `DetachKeys`: the keys by which a user speaks to lazaret and not to the command.
//!
//! The prefix is Ctrl-]:
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

use super::terminal_input::{Ctrl, Event, Key, Kind, Piece, TerminalInput};

/// The key of the prefix, held with Ctrl.
const PREFIX: u32 = b']' as u32;
/// Keys whose release is still to come, at most.
const MOST_HELD: usize = 8;

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
            Event::Press | Event::Repeat if is_prefix(key) => self.prefix_key(key, bytes, actions),
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
            self.held.retain(|code| *code != PREFIX);
            forward(bytes, actions);
        }
    }
}

fn is_prefix(key: Key) -> bool {
    key.code == PREFIX && key.ctrl == Ctrl::Held
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

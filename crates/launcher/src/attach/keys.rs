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
mod tests {
    use super::{DetachKeys, KeyAction};

    /// The actions as text, when reads bring `size` bytes each.
    fn read(input: &[u8], size: usize) -> String {
        let mut keys = DetachKeys::default();
        let mut actions = Vec::new();
        for chunk in input.chunks(size) {
            for action in keys.read(chunk) {
                match action {
                    KeyAction::Forward(bytes) => super::forward(bytes, &mut actions),
                    action => actions.push(action),
                }
            }
        }
        shown(&actions)
    }

    fn shown(actions: &[KeyAction]) -> String {
        let words: Vec<String> = actions
            .iter()
            .map(|action| match action {
                KeyAction::Forward(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                action => format!("{action:?}"),
            })
            .collect();
        words.join(" ")
    }

    #[track_caller]
    fn check(input: &str, expected: &[KeyAction]) {
        for size in [1, 2, 3, 5, 7, input.len().max(1)] {
            assert_eq!(
                read(input.as_bytes(), size),
                shown(expected),
                "{input:?} in reads of {size}"
            );
        }
    }

    fn forwarded(text: &str) -> KeyAction {
        KeyAction::Forward(text.into())
    }

    use KeyAction::{Detach, End, Take};

    #[test]
    fn commands_follow_the_prefix() {
        check("ls\r\x03\x1b[A", &[forwarded("ls\r\x03\x1b[A")]);
        check("ab\x1dd", &[forwarded("ab"), Detach]);
        check("\x1dD", &[Detach]);
        check("\x1dtx", &[Take, forwarded("x")]);
        check("\x1dk", &[End]);
        check("\x1dxd", &[forwarded("\x1dxd")]);
        check("\x1d\x04", &[forwarded("\x1d\x04")]);
        check("\x1d\x1b[Ad", &[forwarded("\x1d\x1b[Ad")]);
        check("\x1dé", &[forwarded("\x1dé")]);
        check("\x1d", &[]);
    }

    #[test]
    fn two_prefixes_are_one_for_the_command_and_three_end_it() {
        check("\x1d\x1d", &[forwarded("\x1d")]);
        check("\x1d\x1dd", &[forwarded("\x1dd")]);
        check("\x1d\x1d\x1d", &[forwarded("\x1d"), End]);
        check("\x1d\x1dx\x1d\x1d", &[forwarded("\x1dx\x1d")]);
        check(
            "\x1b[93;5u\x1b[93;5u\x1b[93;5u",
            &[forwarded("\x1b[93;5u"), End],
        );
    }

    #[test]
    fn the_encodings_of_kitty_and_xterm_are_read() {
        for prefix in [
            "\x1b[93;5u",
            "\x1b[93;69u",
            "\x1b[93;133u",
            "\x1b[93;197u",
            "\x1b[93;5:1u",
            "\x1b[93:125;5u",
            "\x1b[93:125:93;5:1u",
            "\x1b[1098::93;5u",
            "\x1b[27;5;93~",
        ] {
            for key in [
                "d",
                "\x1b[100u",
                "\x1b[100;1u",
                "\x1b[100;65:1u",
                "\x1b[100;;100u",
            ] {
                check(&format!("{prefix}{key}"), &[Detach]);
            }
            check(&format!("{prefix}\x1b[1074::100;129u"), &[Detach]);
            let both = format!("{prefix}\x1b[100;5u");
            check(&both, &[forwarded(&both)]);
        }
        for other in [
            "\x1b[93;6u",
            "\x1b[93;7u",
            "\x1b[93u",
            "\x1b[93;13u",
            "\x1b[27;6;93~",
            "\x1b[53;5u",
            "\x1b[43::93;5u",
        ] {
            check(&format!("{other}d"), &[forwarded(&format!("{other}d"))]);
        }
    }

    #[test]
    fn releases_and_repeats_decide_nothing() {
        let press = "\x1b[93;5:1u";
        let release = "\x1b[93;5:3u";
        check(&format!("{press}{release}\x1b[100;1:1u"), &[Detach]);
        // Ctrl is released first, and then says so itself.
        check(
            &format!("{press}\x1b[57442;1:3u\x1b[93;1:3u\x1b[116;1:1u\x1b[116;1:3u"),
            &[forwarded("\x1b[57442;1:3u"), Take],
        );
        // Held down: one prefix, and no end.
        let repeats = "\x1b[93;5:2u".repeat(9);
        check(&format!("{press}{repeats}{release}d"), &[Detach]);
        // The command gets the second press, so it gets its release.
        check(
            &format!("{press}{release}{press}{release}"),
            &[forwarded(&format!("{press}{release}"))],
        );
        // The release of a key from before.
        check(
            &format!("{press}\x1b[97;1:3ud"),
            &[forwarded("\x1b[97;1:3u"), Detach],
        );
        // Given up: the command gets press and release.
        check(
            &format!("{press}x{release}"),
            &[forwarded(&format!("{press}x{release}"))],
        );
    }

    #[test]
    fn what_no_person_types_leaves_the_prefix_pending() {
        for report in [
            "\x1b[<35;10;20M",
            "\x1b[<0;10;20m",
            "\x1b[M !!",
            "\x1b[I",
            "\x1b[O",
            "\x1b[24;80R",
            "\x1b[?62;22c",
            "\x1b[?2026;2$y",
            "\x1b[0n",
            "\x1b[1;1:3A",
        ] {
            check(&format!("\x1d{report}d"), &[forwarded(report), Detach]);
        }
    }

    #[test]
    fn nothing_in_a_paste_is_a_key() {
        let paste = "\x1b[200~a\x1dd\x1d\x1d\x1d\x1b[93;5ud\x1b[201\x1b[20\x1b[201~";
        check(paste, &[forwarded(paste)]);
        check(&format!("{paste}\x1dd"), &[forwarded(paste), Detach]);
        check(&format!("\x1d{paste}d"), &[forwarded(paste), Detach]);
        let open = "\x1b[200~\x1dd";
        check(open, &[forwarded(open)]);
    }

    #[test]
    fn an_escape_is_held_back_until_the_tick_only() {
        let mut keys = DetachKeys::default();
        assert_eq!(keys.read(b"a\x1b"), [forwarded("a")]);
        assert_eq!(keys.flush(), [forwarded("\x1b")]);
        assert_eq!(keys.flush(), []);
        assert_eq!(keys.read(b"\x1dd"), [Detach]);

        assert_eq!(keys.read(b"\x1d\x1b"), []);
        assert_eq!(keys.flush(), [forwarded("\x1d\x1b")]);
        assert_eq!(keys.read(b"d"), [forwarded("d")]);

        assert_eq!(keys.read(b"\x1b\x1dd"), [forwarded("\x1b"), Detach]);
        assert_eq!(keys.read(b"\x1d"), []);
        assert!(keys.is_prefix_pending());
        assert_eq!(keys.flush(), []);
        assert_eq!(keys.read(b"d"), [Detach]);
    }

    #[test]
    fn a_paste_that_a_tick_cut_is_still_a_paste() {
        let mut keys = DetachKeys::default();
        assert_eq!(keys.read(b"\x1b"), []);
        assert_eq!(keys.flush(), [forwarded("\x1b")]);
        assert_eq!(keys.read(b"[20"), []);
        assert_eq!(keys.flush(), [forwarded("[20")]);
        assert_eq!(keys.read(b"0~\x1dd"), [forwarded("0~\x1dd")]);
        assert_eq!(
            keys.read(b"\x1b[201~\x1dd"),
            [forwarded("\x1b[201~"), Detach]
        );
        // A key that was cut reaches the command whole.
        assert_eq!(keys.read(b"\x1b[93"), []);
        assert_eq!(keys.flush(), [forwarded("\x1b[93")]);
        assert_eq!(keys.read(b";5u"), [forwarded(";5u")]);
    }

    #[test]
    fn no_byte_is_lost_or_made_up() {
        let mut random = lazaret_tests::Random::new(7);
        let words: [&[u8]; 9] = [
            b"\x1b",
            b"[",
            b"\x1b[200~",
            b"\x1b[201~",
            b"93;5u",
            b"x",
            b"\x1b[M",
            b"\xc3\xa9",
            b"\x1b[1;1H",
        ];
        for _ in 0..2000 {
            let input: Vec<u8> = (0..20)
                .flat_map(|_| words[random.below(9)].to_vec())
                .collect();
            if input.windows(7).any(|bytes| bytes == b"\x1b[93;5u") {
                continue;
            }
            let mut keys = DetachKeys::default();
            let mut out = Vec::new();
            let mut actions = Vec::new();
            for chunk in input.chunks(1 + random.below(6)) {
                actions.extend(keys.read(chunk));
                if random.below(3) == 0 {
                    actions.extend(keys.flush());
                }
            }
            actions.extend(keys.flush());
            for action in actions {
                let KeyAction::Forward(bytes) = action else {
                    panic!("{input:?} has no prefix");
                };
                out.extend(bytes);
            }
            assert_eq!(out, input);
        }
    }
}

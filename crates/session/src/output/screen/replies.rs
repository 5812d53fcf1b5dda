//! `Replies`: what a terminal answers to the queries of a program.
//!
//! While no client drives, the keeper answers in a terminal's place, so that no program waits
//! for ever. It answers as a VT220 with colours and the keyboard protocol of kitty.
//!
//! | query | sequence | passes the filter | reply |
//! |---|---|---|---|
//! | DA1, DECID | `CSI c`, `ESC Z` | yes | VT220, colours |
//! | DA2, DA3 | `CSI > c`, `CSI = c` | yes | VT220, unit 0 |
//! | DSR | `CSI 5 n`, `CSI 6 n` | yes | ready; the cursor's position |
//! | DSR, private | `CSI ? 6 n`, `15`, `25`, `26` | yes | position; no printer; keys locked; a keyboard |
//! | DECRQM | `CSI $ p`, `CSI ? $ p` | yes | set, reset or unknown |
//! | XTVERSION | `CSI > q` | yes | `lazaret` and its version |
//! | kitty's flags | `CSI ? u` | yes | the flags in force |
//! | XTQMODKEYS | `CSI ? 4 m` | yes | the value in force |
//! | size and title | `CSI 14 t`, `CSI 21 t` … | no | |
//! | colours | `OSC 4`, `OSC 10`, `OSC 11` … | no | |
//! | DECRQSS, XTGETTCAP | `DCS $ q`, `DCS + q` | no | |
//!
//! What does not pass reaches no terminal and gets no reply, from this file or any terminal.

use super::emulator::Emulator;
use super::modes::Setting;
use super::screens::Screen;
use super::tokens::{Csi, Token};

/// A command that asks without reading gets no more for each chunk.
const MOST: usize = 4096;

/// Modes that are known and reset until a program sets them.
const KNOWN_RESET: [u16; 12] = [1, 5, 6, 9, 66, 1000, 1002, 1003, 1004, 1006, 2004, 2026];
/// Modes that are known and set until a program resets them.
const KNOWN_SET: [u16; 2] = [7, 25];

/// Collects replies.
#[derive(Debug, Default)]
pub(super) struct Replies(Vec<u8>);

impl Replies {
    /// Drops the replies that were not taken.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the replies since the last time.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    /// Answers a piece of the stream, if it is a query. The emulator has drawn what came
    /// before it.
    pub(super) fn hear(&mut self, token: &Token<'_>, emulator: &mut Emulator) {
        let reply = match token {
            Token::Escape(b"Z") => Some(DA1.to_owned()),
            Token::Csi(csi) => answer(csi, emulator),
            _ => None,
        };
        if let Some(reply) = reply.filter(|reply| self.0.len() + reply.len() <= MOST) {
            self.0.extend_from_slice(reply.as_bytes());
        }
    }
}

/// A VT220 (62) with ANSI colours (22).
const DA1: &str = "\x1b[?62;22c";

fn answer(csi: &Csi<'_>, emulator: &mut Emulator) -> Option<String> {
    let number = csi.number(0);
    let reply = match csi.kind() {
        [0, 0, b'c'] if number == 0 => DA1.to_owned(),
        // A VT220 (1) with firmware 1.0.
        [b'>', 0, b'c'] if number == 0 => "\x1b[>1;10;0c".to_owned(),
        [b'=', 0, b'c'] if number == 0 => "\x1bP!|00000000\x1b\\".to_owned(),
        [0, 0, b'n'] => match number {
            5 => "\x1b[0n".to_owned(),
            6 => position(emulator, ""),
            _ => return None,
        },
        [b'?', 0, b'n'] => match number {
            6 => position(emulator, "?"),
            15 => "\x1b[?13n".to_owned(),
            25 => "\x1b[?21n".to_owned(),
            26 => "\x1b[?27;1;0;0n".to_owned(),
            _ => return None,
        },
        [b'?', b'$', b'p'] => private_mode(emulator, number),
        [0, b'$', b'p'] => {
            let value = match number {
                4 if emulator.modes.insert => SET,
                20 if emulator.modes.newline => SET,
                4 | 20 => RESET,
                _ => UNKNOWN,
            };
            format!("\x1b[{number};{value}$y")
        }
        [b'>', 0, b'q'] if number == 0 => {
            format!("\x1bP>|lazaret({})\x1b\\", env!("CARGO_PKG_VERSION"))
        }
        [b'?', 0, b'u'] => {
            let flags = emulator.modes.keyboard.flags(emulator.screen);
            format!("\x1b[?{flags}u")
        }
        [b'?', 0, b'm'] => {
            let value = emulator.modes.keyboard.resource_value(number);
            format!("\x1b[>{number};{value}m")
        }
        _ => return None,
    };
    Some(reply)
}

/// CPR, and DECXCPR with `private`.
fn position(emulator: &mut Emulator, private: &str) -> String {
    let position = emulator.position();
    let top = emulator.modes.frame.top();
    let row = position.row.saturating_sub(top) + 1;
    format!("\x1b[{private}{row};{}R", position.column + 1)
}

/// DECRPM
const UNKNOWN: u8 = 0;
const SET: u8 = 1;
const RESET: u8 = 2;

/// DECRPM
fn private_mode(emulator: &Emulator, number: u16) -> String {
    let setting = match (number, emulator.screen) {
        (47 | 1047 | 1049, Screen::Alternate) => Some(Setting::Set),
        (47 | 1047 | 1049, Screen::Normal) => Some(Setting::Reset),
        _ => emulator.modes.setting(number),
    };
    let value = match setting {
        Some(Setting::Set) => SET,
        Some(Setting::Reset) => RESET,
        None if KNOWN_SET.contains(&number) => SET,
        None if KNOWN_RESET.contains(&number) => RESET,
        None => UNKNOWN,
    };
    format!("\x1b[?{number};{value}$y")
}

#[cfg(test)]
mod tests {
    use lazaret_runtime::TerminalSize;

    use super::super::state::ScreenState;

    fn replies(output: &str) -> String {
        let mut state = ScreenState::new(TerminalSize {
            columns: 80,
            rows: 24,
        });
        state.feed(output.as_bytes());
        let replies = String::from_utf8(state.take_replies()).expect("text");
        replies.replace('\x1b', "^")
    }

    #[test]
    fn queries_are_answered() {
        for (query, reply) in [
            ("text\x1b[31m\x1b[2J", ""),
            ("\x1b[c\x1b[0c\x1bZ", "^[?62;22c^[?62;22c^[?62;22c"),
            ("\x1b[>c\x1b[=c", "^[>1;10;0c^P!|00000000^\\"),
            ("\x1b[5n", "^[0n"),
            ("ab\r\nc\x1b[6n", "^[2;2R"),
            ("\x1b[3;10r\x1b[?6h\x1b[2;5H\x1b[?6n", "^[?2;5R"),
            ("\x1b7\x1b[999;999H\x1b[6n\x1b8\x1b[6n", "^[24;80R^[1;1R"),
            ("\x1b[?15n\x1b[?25n\x1b[?26n", "^[?13n^[?21n^[?27;1;0;0n"),
            (
                "\x1b[?2004$p\x1b[?2004h\x1b[?2004$p",
                "^[?2004;2$y^[?2004;1$y",
            ),
            ("\x1b[?25$p\x1b[?7l\x1b[?7$p", "^[?25;1$y^[?7;2$y"),
            (
                "\x1b[?1049h\x1b[?1049$p\x1b[?4711$p",
                "^[?1049;1$y^[?4711;0$y",
            ),
            ("\x1b[4h\x1b[4$p\x1b[20$p", "^[4;1$y^[20;2$y"),
            ("\x1b[?u\x1b[>5u\x1b[?u", "^[?0u^[?5u"),
            ("\x1b[>4;2m\x1b[?4m", "^[>4;2m"),
            (
                "\x1b[>0q",
                concat!("^P>|lazaret(", env!("CARGO_PKG_VERSION"), ")^\\"),
            ),
        ] {
            assert_eq!(replies(query), reply, "{query:?}");
        }
    }

    #[test]
    fn a_flood_of_queries_gets_4_kib() {
        assert!(replies(&"\x1b[c".repeat(100_000)).len() <= super::MOST);
    }
}

//! `Notices`: bells and notifications in a command's output, for the event `needs_input`.
//!
//! They are read from the output before the filter, which lets no notification pass to a
//! terminal.

use std::time::{Duration, Instant};

/// At most one notice in this time.
const INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of a control string that are read.
const LONGEST: usize = 1024;
/// Characters of a text.
const LONGEST_TEXT: usize = 256;

/// A command asks for attention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notice {
    /// What it says, at most 256 characters, empty for a bell. It is the command's text: escape
    /// it before you show it.
    pub text: String,
}

/// Reads a stream, however it is cut. It holds at most 1 KiB.
#[derive(Debug, Default)]
pub struct Notices {
    state: State,
    /// Of an OSC, without its start.
    string: Vec<u8>,
    waiting: Option<Notice>,
    last: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    Escape,
    /// In an OSC.
    Osc,
    /// In a DCS, APC, PM or SOS, which is not read.
    OtherString,
}

impl Notices {
    /// Reads a chunk. [`Self::take`] returns what it found.
    pub fn feed(&mut self, raw: &[u8]) {
        for &byte in raw {
            self.push(byte);
        }
    }

    /// Returns the notice that waits, unless the last one is less than a second old. Of several
    /// that wait the last one with a text is kept.
    pub fn take(&mut self, now: Instant) -> Option<Notice> {
        let is_early = |last: Instant| now.saturating_duration_since(last) < INTERVAL;
        if self.last.is_some_and(is_early) {
            return None;
        }
        let notice = self.waiting.take()?;
        self.last = Some(now);
        Some(notice)
    }

    fn push(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (_, 0x18 | 0x1a) => State::Text,
            (State::Osc, 0x07) => self.end_osc(),
            (State::Osc, 0x1b) => {
                self.end_osc();
                State::Escape
            }
            (State::Osc, _) => {
                if self.string.len() < LONGEST {
                    self.string.push(byte);
                }
                State::Osc
            }
            (_, 0x1b) => State::Escape,
            (State::OtherString, 0x07) => State::Text,
            (State::OtherString, _) => State::OtherString,
            (State::Escape, b']') => {
                self.string.clear();
                State::Osc
            }
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::OtherString,
            (_, 0x07) => {
                self.waiting.get_or_insert_default();
                State::Text
            }
            _ => State::Text,
        };
    }

    fn end_osc(&mut self) -> State {
        if let Some(text) = notification(&self.string) {
            self.waiting = Some(Notice { text });
        }
        State::Text
    }
}

/// Returns the text of an OSC 9 (iTerm2) or OSC 777 (rxvt).
fn notification(osc: &[u8]) -> Option<String> {
    let osc = String::from_utf8_lossy(osc);
    let text = match osc.split_once(';')? {
        ("9", text) if !is_conemu(text) => text.to_owned(),
        ("777", text) => {
            let (title, body) = text.strip_prefix("notify;")?.split_once(';')?;
            [title, body]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(": ")
        }
        _ => return None,
    };
    Some(text.chars().take(LONGEST_TEXT).collect())
}

/// ConEmu has commands of its own under 9, such as `9;4;1;50` for progress.
fn is_conemu(text: &str) -> bool {
    let command = text.split(';').next().unwrap_or(text);
    command.len() <= 2 && command.parse::<u8>().is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Notice, Notices};

    fn found(output: &[u8], size: usize) -> Option<String> {
        let mut notices = Notices::default();
        output.chunks(size).for_each(|chunk| notices.feed(chunk));
        notices.take(Instant::now()).map(|notice| notice.text)
    }

    #[test]
    fn bells_and_notifications_are_found_however_the_stream_is_cut() {
        for (output, text) in [
            (b"plain \x1b[31mtext".as_slice(), None),
            (b"a\x07b", Some("")),
            (b"\x1b]9;needs you\x07", Some("needs you")),
            (b"\x1b]9;needs you\x1b\\", Some("needs you")),
            (b"\x1b]777;notify;Claude;waits\x1b\\", Some("Claude: waits")),
            (b"\x1b]777;notify;;waits\x07", Some("waits")),
            (b"\x1b]9;first\x07\x1b]9;second\x07\x07", Some("second")),
            (b"\x1b]9;4;1;50\x07", None),
            (b"\x1b]9;12 tests failed\x07", Some("12 tests failed")),
            (b"\x1b]0;title\x07", None),
            (b"\x1bPx\x07", None),
            (b"\x1b]9;cut\x18", None),
            (b"\x1b]9;\xff\x07", Some("\u{fffd}")),
        ] {
            for size in [1, 2, 3, output.len()] {
                assert_eq!(found(output, size).as_deref(), text, "{output:?}");
            }
        }
    }

    #[test]
    fn a_text_is_bounded() {
        let long = [b"\x1b]9;".as_slice(), &[b'x'; 100_000], b"\x07"].concat();
        assert_eq!(found(&long, 4096).map(|text| text.len()), Some(256));
    }

    #[test]
    fn at_most_one_a_second_and_none_is_lost() {
        let mut notices = Notices::default();
        let start = Instant::now();
        notices.feed(b"\x07");
        assert_eq!(notices.take(start), Some(Notice::default()));
        notices.feed(b"\x1b]9;text\x07\x07");
        assert_eq!(notices.take(start + Duration::from_millis(999)), None);
        let later = notices.take(start + Duration::from_secs(1));
        assert_eq!(later.map(|notice| notice.text).as_deref(), Some("text"));
        assert_eq!(notices.take(start + Duration::from_secs(9)), None);
    }
}

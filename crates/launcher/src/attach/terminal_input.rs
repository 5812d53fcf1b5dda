//! `TerminalInput`: splits what a terminal sends into keys, pastes and everything else.
//!
//! Three encodings of keys are read: bytes, `CSI CODE ; MODIFIERS u` of kitty's keyboard
//! protocol, and `CSI 27 ; MODIFIERS ; CODE ~` of xterm's modifyOtherKeys.

/// One piece of the input, with the bytes that it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Kind,
}

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A key that stands for a character.
    Key(Key),
    /// Any other key, or a part of one whose start was given up.
    Other,
    /// No key: of a paste, a mouse, a change of focus, a modifier, or the reply to a query.
    Passing,
}

/// A key with a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// The character without modifiers. A letter is lower case.
    pub(super) code: u32,
    pub(super) ctrl: Ctrl,
    pub(super) event: Event,
}

/// Whether Ctrl is held, and no other modifier but the locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ctrl {
    /// Ctrl alone.
    Held,
    /// No modifier.
    Free,
}

/// What happened to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Press,
    Repeat,
    Release,
}

/// A longer sequence is no key.
const LONGEST: usize = 64;
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// Bits of modifiers that do not count: caps lock and num lock.
const LOCKS: u32 = 64 | 128;
const CTRL: u32 = 4;

/// Splits input, however reads cut it.
#[derive(Debug, Default)]
pub(super) struct TerminalInput {
    state: State,
    /// A sequence so far, from its ESC.
    sequence: Vec<u8>,
    /// How much of it was given up already.
    given_up: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Keys,
    /// After ESC.
    Escape,
    /// After `CSI`.
    Csi,
    /// After `CSI M`, before three bytes of a mouse report.
    Mouse,
    /// In a paste, after so many bytes of its end.
    Paste(usize),
}

impl TerminalInput {
    /// Reads a chunk. A sequence without an end is held back.
    pub(super) fn read(&mut self, chunk: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for &byte in chunk {
            self.push(byte, &mut pieces);
        }
        pieces
    }

    /// Gives up what is held back: a lone ESC is the key.
    pub(super) fn flush(&mut self) -> Option<Piece> {
        let rest = self.sequence.get(self.given_up..).unwrap_or_default();
        let bytes = rest.to_vec();
        self.given_up = self.sequence.len();
        let kind = Kind::Other;
        (!bytes.is_empty()).then_some(Piece { bytes, kind })
    }

    fn push(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        match (self.state, byte) {
            (State::Paste(matched), _) => {
                pieces.push(passing(byte));
                self.state = match paste_end(matched, byte) {
                    matched if matched == PASTE_END.len() => State::Keys,
                    matched => State::Paste(matched),
                };
            }
            (State::Mouse, _) => {
                self.sequence.push(byte);
                if self.sequence.len() == b"\x1b[Mbxy".len() {
                    self.end(Kind::Passing, pieces);
                }
            }
            (_, 0x1b) => {
                self.end(Kind::Other, pieces);
                self.sequence.push(byte);
                self.state = State::Escape;
            }
            (State::Escape, b'[') => self.proceed(byte, State::Csi),
            // Ctrl with a key right after ESC is more likely a key of its own than one with Alt.
            (State::Escape, 0..=0x1f) => {
                self.end(Kind::Other, pieces);
                pieces.push(typed(byte));
            }
            (State::Escape, _) if self.given_up > 0 => {
                self.end(Kind::Other, pieces);
                pieces.push(typed(byte));
            }
            // Alt with a key, or the start of one of a keypad.
            (State::Escape, _) => {
                self.sequence.push(byte);
                self.end(Kind::Other, pieces);
            }
            (State::Csi, b'M') if self.sequence == b"\x1b[" => self.proceed(byte, State::Mouse),
            (State::Csi, 0x20..=0x3f) if self.sequence.len() < LONGEST => {
                self.proceed(byte, State::Csi);
            }
            (State::Csi, 0x40..=0x7e) => {
                self.sequence.push(byte);
                let is_paste = self.sequence == PASTE_START;
                self.end(csi(&self.sequence[2..]), pieces);
                if is_paste {
                    self.state = State::Paste(0);
                }
            }
            (State::Csi, _) => {
                self.end(Kind::Other, pieces);
                pieces.push(typed(byte));
            }
            (State::Keys, _) => pieces.push(typed(byte)),
        }
    }

    fn proceed(&mut self, byte: u8, state: State) {
        self.sequence.push(byte);
        self.state = state;
    }

    /// Ends a sequence. One that was given up in part is no key any more.
    fn end(&mut self, kind: Kind, pieces: &mut Vec<Piece>) {
        let bytes = self.sequence.split_off(self.given_up);
        let kind = match (self.given_up, kind) {
            (0, kind) | (_, kind @ Kind::Passing) => kind,
            _ => Kind::Other,
        };
        if !bytes.is_empty() {
            pieces.push(Piece { bytes, kind });
        }
        self.sequence.clear();
        self.given_up = 0;
        self.state = State::Keys;
    }
}

/// Returns how much of the end of a paste is there after one more byte.
fn paste_end(matched: usize, byte: u8) -> usize {
    match PASTE_END.get(matched) == Some(&byte) {
        true => matched + 1,
        // ESC is the first byte of the end, and none of the others.
        false => usize::from(byte == 0x1b),
    }
}

fn passing(byte: u8) -> Piece {
    Piece {
        bytes: vec![byte],
        kind: Kind::Passing,
    }
}

/// Returns the key of a byte.
fn typed(byte: u8) -> Piece {
    let key = |code: u8, ctrl| {
        Kind::Key(Key {
            code: code.to_ascii_lowercase().into(),
            ctrl,
            event: Event::Press,
        })
    };
    let kind = match byte {
        0x00..=0x1f => key(byte | 0x40, Ctrl::Held),
        0x20..=0x7e => key(byte, Ctrl::Free),
        _ => Kind::Other,
    };
    Piece {
        bytes: vec![byte],
        kind,
    }
}

/// Returns what a control sequence is, without its CSI.
fn csi(sequence: &[u8]) -> Kind {
    let (&last, parameters) = sequence.split_last().unwrap_or((&0, &[]));
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    let fields: Vec<Vec<Option<u32>>> = text
        .split(';')
        .map(|field| field.split(':').map(|part| part.parse().ok()).collect())
        .collect();
    let part = |field: usize, part: usize| fields.get(field)?.get(part).copied().flatten();
    let is_report = parameters
        .first()
        .is_some_and(|first| (b'<'..=b'?').contains(first));
    match last {
        _ if is_report => Kind::Passing,
        // Focus, the cursor's position, sizes, modes, states, a paste.
        b'I' | b'O' if parameters.is_empty() => Kind::Passing,
        b'R' if fields.len() == 2 => Kind::Passing,
        b't' | b'y' | b'n' | b'c' => Kind::Passing,
        b'~' if matches!(part(0, 0), Some(200 | 201)) => Kind::Passing,
        b'~' if part(0, 0) == Some(27) && fields.len() == 3 => {
            let modifiers = part(1, 0).unwrap_or(1);
            part(2, 0).map_or(Kind::Other, |code| key(code, modifiers, Event::Press))
        }
        b'u' => {
            let Some(code) = part(0, 0) else {
                return Kind::Other;
            };
            let event = match part(1, 1) {
                Some(2) => Event::Repeat,
                Some(3) => Event::Release,
                _ => Event::Press,
            };
            // On a layout without the Latin alphabet the place of the key counts.
            let code = match (code, part(0, 2)) {
                (0x80.., Some(base)) => base,
                _ => code,
            };
            key(code, part(1, 0).unwrap_or(1), event)
        }
        // The release of a key without a character.
        _ if part(1, 1) == Some(3) => Kind::Passing,
        _ => Kind::Other,
    }
}

fn key(code: u32, modifiers: u32, event: Event) -> Kind {
    // Caps, scroll and num lock, Shift, Ctrl and their like (kitty, "Functional key definitions").
    if matches!(code, 57358..=57360 | 57441..=57454) {
        return Kind::Passing;
    }
    let code = match u8::try_from(code) {
        Ok(code) => code.to_ascii_lowercase().into(),
        Err(_) => code,
    };
    match modifiers.saturating_sub(1) & !LOCKS {
        0 => Kind::Key(Key {
            code,
            ctrl: Ctrl::Free,
            event,
        }),
        CTRL => Kind::Key(Key {
            code,
            ctrl: Ctrl::Held,
            event,
        }),
        // Its press was forwarded, or the program does not know of it.
        _ if event == Event::Release => Kind::Passing,
        _ => Kind::Other,
    }
}

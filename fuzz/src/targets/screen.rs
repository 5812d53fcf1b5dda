//! A command's screen: any output and any sizes leave a screen that is bounded and restores to
//! itself.

use lazaret_runtime::TerminalSize;
use lazaret_session::output::screen::{LEAVE, ScreenSanitizer, ScreenState};

use crate::input::Input;

/// Ends a chunk; two bytes of a new size follow. It is no byte of UTF-8.
const RESIZE: u8 = 0xfe;

/// The first two bytes are the size, each counted by 3.
pub(crate) fn restored(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut state = ScreenState::new(size(&mut input));
    let mut filter = ScreenSanitizer::default();
    while !input.is_empty() {
        state.feed(&filter.pass(input.until(RESIZE)));
        assert_eq!(state.emulator_failures(), 0, "the emulator panicked");
        state.resize(size(&mut input));
        assert_eq!(state.emulator_failures(), 0, "the emulator panicked");
    }
    let cells = usize::from(state.size().columns) * usize::from(state.size().rows);
    let restored = state.restore();
    assert!(restored.len() > LEAVE.len(), "the emulator panicked");
    assert!(restored.len() <= cells * 256 + 32 * 1024);
    // The first round adds the modes that are reset.
    let again = shown(&restored, state.size());
    assert_eq!(shown(&again, state.size()), again);
}

fn size(input: &mut Input<'_>) -> TerminalSize {
    TerminalSize {
        columns: u16::from(input.byte()) * 3,
        rows: u16::from(input.byte()) * 3,
    }
}

/// Returns what restores a screen that shows `output`.
fn shown(output: &[u8], size: TerminalSize) -> Vec<u8> {
    let mut state = ScreenState::new(size);
    state.feed(output);
    assert_eq!(state.emulator_failures(), 0, "the emulator panicked");
    state.restore()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "text \x1b[1;31mred\x1b[0m 漢字 e\u{301} ❤\u{fe0f}\r\n\t\x1b[?1049h\x1b[2;3r\x1b[?6h\x1b[4hx",
        "\x1b7\x1b(0lqk\x1b8\x1b[?7l\x1b[99Gwide\x1b[>5u\x1b[?1000;1006h\x1b[5 q",
        "\x1b[3g\x1b[5G\x1bH\r\tx\x1b[44m\x1b[2J\x1b[9b\x1b[3L\x1b[2P\x1b[2@",
    ]
    .map(|text| [b"\x05\x02", text.as_bytes(), b"\xfe\x03\x01more\xfe\x08\x04"].concat())
    .to_vec()
}

/// Sequences that the emulator knows.
pub(crate) const WORDS: &[&[u8]] = &[
    b"\x1b[",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b[?47h",
    b"\x1b[?6h",
    b"\x1b[?7l",
    b"\x1b[4h",
    b"\x1b[2;3r",
    b"\x1b[999;999H",
    b"\x1b[2J",
    b"\x1b[K",
    b"\x1b[2@",
    b"\x1b[2P",
    b"\x1b[2L",
    b"\x1b[2M",
    b"\x1b[7b",
    b"\x1b[7;41m",
    b"\x1b7",
    b"\x1b8",
    b"\x1bM",
    b"\x1bc",
    b"\x1b[!p",
    b"\x1b#8",
    b"\x1bH",
    b"\x1b(0",
    b"\x08",
    b"\t",
    b"\r\n",
    "漢".as_bytes(),
    "❤\u{fe0f}".as_bytes(),
    "\u{301}".as_bytes(),
    b"\xfe\x01\x01",
    b"\xfe\x08\x08",
];

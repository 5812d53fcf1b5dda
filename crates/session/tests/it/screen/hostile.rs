//! Sizes and streams that a hostile command or client may choose.

use lazaret_runtime::TerminalSize;
use lazaret_session::output::screen::{LEAVE, ScreenSanitizer, ScreenState};
use lazaret_tests::Random;

const SIZES: [u16; 10] = [0, 1, 2, 3, 7, 24, 80, 300, 5000, 65535];

const PIECES: &[&str] = &[
    "text",
    "漢",
    "❤\u{fe0f}",
    "e\u{301}",
    "\u{fffd}",
    "\u{17d8}",
    "\t",
    "\r",
    "\n",
    "\x08",
    "\x0e",
    "\x0f",
    "\x1b7",
    "\x1b8",
    "\x1bM",
    "\x1bD",
    "\x1bE",
    "\x1bH",
    "\x1bc",
    "\x1b#8",
    "\x1b(0",
    "\x1b(B",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b[?47l",
    "\x1b[?6h",
    "\x1b[?6l",
    "\x1b[?7l",
    "\x1b[?7h",
    "\x1b[4h",
    "\x1b[4l",
    "\x1b[?69h",
    "\x1b[2;5s",
    "\x1b[!p",
    "\x1b[s",
    "\x1b[u",
    "\x1b[3g",
    "\x1b[g",
    "\x1b[1;31m",
    "\x1b[m",
    "\x1b[6n",
];

/// A control sequence with any parameters.
fn sequence(random: &mut Random) -> String {
    const NUMBERS: [&str; 8] = ["", "0", "1", "2", "5", "80", "999", "65535"];
    const LASTS: &[u8] = b"@ABCDEFGHIJKLMPSTXZ`abdefghlmnrsu";
    let [first, second] = [NUMBERS[random.below(8)], NUMBERS[random.below(8)]];
    let last = char::from(LASTS[random.below(LASTS.len())]);
    let private = if random.below(4) == 0 { "?" } else { "" };
    format!("\x1b[{private}{first};{second}{last}")
}

fn size(random: &mut Random) -> TerminalSize {
    // Large ones seldom: each costs milliseconds.
    let few = if random.below(50) == 0 {
        SIZES.len()
    } else {
        7
    };
    TerminalSize {
        columns: SIZES[random.below(few)],
        rows: SIZES[random.below(few)],
    }
}

#[test]
fn any_size_is_a_screen() {
    for columns in SIZES {
        for rows in SIZES {
            let mut state = ScreenState::new(TerminalSize { columns, rows });
            state.feed("text 漢字 ❤\u{fe0f}\r\n\x1b[999;999Hx\x1b[?1049hy".as_bytes());
            let TerminalSize { columns, rows } = state.size();
            assert!(columns >= 2 && rows >= 1);
            assert!(u32::from(columns) * u32::from(rows) <= 256 * 1024);
            assert!(state.restore().len() > LEAVE.len());
            assert_eq!(state.emulator_failures(), 0);
        }
    }
}

#[test]
fn random_streams_and_sizes_neither_panic_nor_grow() {
    let mut random = Random::new(2026);
    for _ in 0..300 {
        let mut state = ScreenState::new(size(&mut random));
        let mut filter = ScreenSanitizer::default();
        let mut history = String::new();
        for _ in 0..120 {
            let piece = match random.below(3) {
                0 => sequence(&mut random),
                _ => PIECES[random.below(PIECES.len())].to_owned(),
            };
            let is_filtered = random.below(5) > 0;
            history.push_str(&piece);
            match is_filtered {
                true => state.feed(&filter.pass(piece.as_bytes())),
                false => state.feed(piece.as_bytes()),
            }
            if random.below(20) == 0 {
                let size = size(&mut random);
                history.push_str(&format!("<{size:?}>"));
                state.resize(size);
            }
            assert_eq!(state.emulator_failures(), 0, "{history:?}");
        }
        let TerminalSize { columns, rows } = state.size();
        let cells = usize::from(columns) * usize::from(rows);
        let restored = state.restore().len();
        assert!(restored > LEAVE.len(), "{history:?}");
        assert!(
            restored <= cells * 256 + 32 * 1024,
            "{restored} for {cells} cells"
        );
    }
}

#[test]
fn bytes_that_no_filter_saw_do_no_harm() {
    let mut random = Random::new(7);
    let mut state = ScreenState::new(TerminalSize {
        columns: 20,
        rows: 5,
    });
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..16)
            .map(|_| u8::try_from(random.below(256)).expect("a byte"))
            .collect();
        state.feed(&bytes);
        assert_eq!(state.emulator_failures(), 0, "{bytes:?}");
    }
    assert!(state.restore().len() < 64 * 1024);
}

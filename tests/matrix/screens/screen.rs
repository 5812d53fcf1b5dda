//! What a terminal shows, by the emulator of Alacritty.

use std::time::{Duration, Instant};

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions as _;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell as Drawn, Flags};
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::{Color, Processor};
use lazaret_tests::picture::{Cell, Look};

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(60);

/// A terminal and what it shows.
pub(super) struct Screen {
    term: Term<VoidListener>,
    processor: Processor,
}

impl Screen {
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let config = Config {
            scrolling_history: 0,
            ..Config::default()
        };
        let size = TermSize::new(columns.into(), rows.into());
        Self {
            term: Term::new(config, &size, VoidListener),
            processor: Processor::new(),
        }
    }

    pub(super) fn show(&mut self, output: &[u8]) {
        self.processor.advance(&mut self.term, output);
    }

    /// All cells, without the empty rows at the end.
    pub(super) fn rows(&self) -> Vec<Vec<Cell>> {
        let lines = i32::try_from(self.term.screen_lines()).expect("small");
        let mut rows = Vec::from_iter((0..lines).map(|line| {
            let row = &self.term.grid()[Line(line)];
            Vec::from_iter((0..self.term.columns()).map(|column| cell(&row[Column(column)])))
        }));
        while rows.last().is_some_and(|row| row.iter().all(is_blank)) {
            rows.pop();
        }
        rows
    }

    /// The text of the rows, each without the blanks at its end, and without line ends: words
    /// that wrap are found all the same.
    pub(super) fn text(&self) -> String {
        let rows = self.rows();
        let texts = rows.iter().map(|row| {
            let text: String = row.iter().map(|cell| cell.text.as_str()).collect();
            text.trim().to_owned()
        });
        Vec::from_iter(texts).join(" ")
    }
}

/// Waits until a screen shows `text`.
pub(super) fn wait_for(text: &str, screen: impl Fn() -> Screen) -> Result<Screen, String> {
    let give_up = Instant::now() + LIMIT;
    loop {
        let shown = screen();
        if shown.text().contains(text) {
            return Ok(shown);
        }
        if Instant::now() > give_up {
            return Err(format!("{text:?} is not on the screen: {}", shown.text()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_blank(cell: &Cell) -> bool {
    cell.text.trim().is_empty() && cell.look == Look::default()
}

fn cell(drawn: &Drawn) -> Cell {
    let is_spacer = drawn.flags.contains(Flags::WIDE_CHAR_SPACER);
    let text = match (is_spacer, drawn.c) {
        (true, _) => String::new(),
        (false, '\t') => " ".to_owned(),
        (false, character) => {
            let more = drawn.zerowidth().unwrap_or_default();
            [character].iter().chain(more).collect()
        }
    };
    let is_dim = drawn.flags.contains(Flags::DIM);
    Cell {
        text,
        look: Look {
            // What is dim is as grey as bright black.
            front: number(drawn.fg).or(is_dim.then_some(8)),
            back: number(drawn.bg),
            is_reversed: drawn.flags.contains(Flags::INVERSE),
            is_bold: drawn.flags.contains(Flags::BOLD),
            is_underlined: drawn.flags.intersects(Flags::ALL_UNDERLINES),
        },
    }
}

/// One of the sixteen colours that lazaret uses.
fn number(colour: Color) -> Option<u8> {
    match colour {
        Color::Named(name) => u8::try_from(name as usize).ok().filter(|name| *name < 16),
        Color::Indexed(index) => Some(index).filter(|index| *index < 16),
        Color::Spec(_) => None,
    }
}

//! `Terminal`: a user's terminal, by the emulator of Alacritty.

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions as _;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::{Color, NamedColor, Processor};
use lazaret_runtime::TerminalSize;
use lazaret_session::output::screen::{ScreenSanitizer, ScreenState};

/// What most recordings have.
pub(crate) const SIZE: TerminalSize = TerminalSize {
    columns: 80,
    rows: 24,
};

/// Modes, text and the other screen of a program that ran in the terminal before.
const DIRTY: &[u8] =
    b"before\r\n\x1b[1;41mred\x1b[?1049h\x1b[3;7r\x1b[?6h\x1b[4h\x1b[?7l\x1b(0\x1b[?25l\
    \x1b[?1003;1006;2004h\x1b[>5u\x1b=\x1b[?1hother\x1b[3 q\x1b7";

/// A terminal.
pub(crate) struct Terminal {
    term: Term<VoidListener>,
    processor: Processor,
}

impl Terminal {
    /// Makes a terminal as it starts.
    pub(crate) fn fresh(size: TerminalSize) -> Self {
        let config = Config {
            scrolling_history: 0,
            kitty_keyboard: true,
            ..Config::default()
        };
        let size = TermSize::new(size.columns.into(), size.rows.into());
        Self {
            term: Term::new(config, &size, VoidListener),
            processor: Processor::new(),
        }
    }

    /// Makes a terminal that another program left in disorder.
    pub(crate) fn dirty(size: TerminalSize) -> Self {
        let mut terminal = Self::fresh(size);
        terminal.show(DIRTY);
        terminal
    }

    /// Shows output.
    pub(crate) fn show(&mut self, output: &[u8]) {
        self.processor.advance(&mut self.term, output);
    }

    /// Describes everything that a user sees or a program relies on, line by line.
    pub(crate) fn describe(&self) -> Vec<String> {
        let grid = self.term.grid();
        let mut lines = vec![
            format!("modes {:?}", self.term.mode()),
            format!(
                "cursor {:?} {:?}",
                grid.cursor.point, grid.cursor.input_needs_wrap
            ),
            format!("pen {}", describe_cell(&grid.cursor.template)),
            format!("shape {:?}", self.term.cursor_style()),
        ];
        for line in 0..self.term.screen_lines() {
            let row = &grid[Line(i32::try_from(line).expect("small"))];
            let mut text = format!("{line:3} ");
            let mut before = String::new();
            for column in 0..self.term.columns() {
                let cell = &row[Column(column)];
                let attributes = describe_cell(cell);
                if attributes != before {
                    text.push_str(&attributes);
                    before = attributes;
                }
                // A tab leaves itself behind, for the selection alone.
                text.push(if cell.c == '\t' { ' ' } else { cell.c });
                text.extend(cell.zerowidth().unwrap_or_default());
            }
            lines.push(text);
        }
        lines
    }
}

/// Attributes that a cell shows.
fn describe_cell(cell: &Cell) -> String {
    let shown = Flags::INVERSE | Flags::BOLD_ITALIC | Flags::DIM | Flags::ALL_UNDERLINES;
    let shown = shown | Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER;
    let flags = cell.flags & shown;
    // Of a space only what is behind it is seen.
    let is_blank =
        matches!(cell.c, ' ' | '\t') && !flags.intersects(Flags::INVERSE | Flags::ALL_UNDERLINES);
    match is_blank {
        true => format!("{{{}}}", colour(cell.bg)),
        false => format!("{{{} on {} {flags:?}}}", colour(cell.fg), colour(cell.bg)),
    }
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Named(name) if (name as usize) < 16 => format!("{}", name as usize),
        Color::Named(NamedColor::Foreground | NamedColor::Background) => String::new(),
        Color::Named(name) => format!("{name:?}"),
        Color::Indexed(index) => format!("{index}"),
        Color::Spec(rgb) => format!("{rgb:?}"),
    }
}

/// Two terminals: `from_start` saw all, `attached` the restored screen and what came then.
pub(crate) struct Attach {
    pub(crate) from_start: Terminal,
    pub(crate) attached: Terminal,
    filter: ScreenSanitizer,
}

impl Attach {
    /// A client attaches after `before`.
    pub(crate) fn after(before: &[u8], size: TerminalSize) -> Self {
        let mut filter = ScreenSanitizer::default();
        let filtered = filter.pass(before);
        let mut state = ScreenState::new(size);
        // As reads would cut it.
        filtered.chunks(61).for_each(|chunk| state.feed(chunk));
        assert_eq!(state.emulator_failures(), 0);
        let mut from_start = Terminal::fresh(size);
        from_start.show(&filtered);
        let mut attached = Terminal::dirty(size);
        attached.show(&state.restore());
        Self {
            from_start,
            attached,
            filter,
        }
    }

    /// Both see more.
    pub(crate) fn show(&mut self, output: &[u8]) {
        let filtered = self.filter.pass(output);
        self.from_start.show(&filtered);
        self.attached.show(&filtered);
    }

    /// Returns the lines in which both differ.
    pub(crate) fn differences(&self) -> Vec<String> {
        let lines = self
            .from_start
            .describe()
            .into_iter()
            .zip(self.attached.describe());
        lines
            .filter(|(from_start, attached)| from_start != attached)
            .map(|(from_start, attached)| {
                format!("  saw all:  {from_start}\n  attached: {attached}")
            })
            .collect()
    }

    /// Compares both.
    #[track_caller]
    pub(crate) fn check(&self, what: &str) {
        let differences = self.differences();
        assert!(
            differences.is_empty(),
            "{what}:\n{}",
            differences.join("\n")
        );
    }
}

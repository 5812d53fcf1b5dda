//! `ReviewConsole`: the terminal while a review has it.
//!
//! [`RawMode`] gives it back in every case, also while the process is stopped. Drawing goes to
//! stderr, so stdout stays clean.
//!
//! Keys are read here and not by crossterm, whose reader spins for ever on a terminal that
//! is gone (crossterm issue 793), and which knows no way to drop what it has read ahead.

use std::io::{self, BufWriter};

use lazaret_review::model::Review;
use lazaret_review::run::{Console, Input};
use lazaret_review::view::{Palette, draw};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Hide;
use ratatui::crossterm::event::EnableBracketedPaste;
use ratatui::crossterm::execute;
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen};
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcgetwinsize};

use super::RawMode;
use crate::ui::{Output, Ui, UiWriter};
use lazaret_session::cancel::Cancel;

type Backend = CrosstermBackend<BufWriter<UiWriter>>;

/// The terminal while a review has it.
pub struct ReviewConsole {
    terminal: Terminal<Backend>,
    writer: UiWriter,
    raw_mode: RawMode,
    palette: Palette,
    cancel: Cancel,
}

impl std::fmt::Debug for ReviewConsole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReviewConsole").finish_non_exhaustive()
    }
}

impl ReviewConsole {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When stdin is no terminal, or refuses.
    pub fn open(ui: &Ui, palette: Palette, cancel: Cancel) -> io::Result<Self> {
        // NO_COLOR was looked at where the palette was chosen; a flag may have overruled it.
        force_color_output(true);
        let raw_mode = RawMode::prepare(ui, Output::Stderr)?;
        let writer = ui.writer(Output::Stderr);
        let terminal = fresh(&writer, area())?;
        let mut screen = Self {
            terminal,
            writer,
            raw_mode,
            palette,
            cancel,
        };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> io::Result<()> {
        self.raw_mode.enter(OptionalActions::Flush)?;
        execute!(
            self.writer,
            EnterAlternateScreen,
            EnableBracketedPaste,
            Hide
        )?;
        self.start_over(area())
    }

    /// Draws everything again at the next time, on an empty screen.
    fn start_over(&mut self, area: Rect) -> io::Result<()> {
        self.terminal = fresh(&self.writer, area)?;
        execute!(self.writer, Clear(ClearType::All))
    }
}

/// Makes a terminal that knows of nothing on the screen. `Terminal::clear` and `resize` are
/// not used: they ask the terminal for the cursor and the size, and wait for an answer on
/// stdin.
fn fresh(writer: &UiWriter, area: Rect) -> io::Result<Terminal<Backend>> {
    let backend = CrosstermBackend::new(BufWriter::new(writer.clone()));
    let viewport = Viewport::Fixed(area);
    Terminal::with_options(backend, TerminalOptions { viewport })
}

/// Columns and rows; of a terminal that does not know them, those that most have.
fn area() -> Rect {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Rect::new(0, 0, size.ws_col, size.ws_row),
        _ => Rect::new(0, 0, 80, 24),
    }
}

impl Console for ReviewConsole {
    fn size(&self) -> Size {
        area().as_size()
    }

    fn draw(&mut self, review: &Review, size: Size) -> io::Result<()> {
        let area = Rect::from(size);
        if self.terminal.get_frame().area() != area {
            self.start_over(area)?;
        }
        let palette = self.palette;
        self.terminal
            .draw(|frame| draw(review, palette, frame.buffer_mut()))?;
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.check().is_err()
    }

    fn read(&mut self, bytes: &mut Vec<u8>) -> Input {
        let mut buffer = [0; 1024];
        match rustix::io::read(io::stdin(), &mut buffer) {
            Ok(0) => match tcgetattr(io::stdin()) {
                // The wait was over. Of a terminal that is gone nothing can be asked.
                Ok(_) => Input::Nothing,
                Err(_) => Input::Gone,
            },
            Ok(length) => {
                bytes.extend_from_slice(&buffer[..length]);
                Input::Bytes
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Input::Nothing,
            Err(_) => Input::Gone,
        }
    }

    fn has_input(&self) -> bool {
        rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|bytes| bytes > 0)
    }

    fn discard_typeahead(&mut self) {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.raw_mode.leave();
        // As the terminal does it: to everything that the shell started with us.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        self.enter()
    }
}

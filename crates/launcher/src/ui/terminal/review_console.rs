//! `ReviewConsole`: the terminal while a review has it.
//!
//! It is given back in every case: when the review ends, on a panic before its message is
//! printed, on Ctrl-C, SIGTERM and SIGHUP (which unwind through [`Drop`]), and while the
//! process is stopped. Drawing goes to stderr, so stdout stays clean.
//!
//! Keys are read here and not by crossterm, whose reader spins for ever on a terminal that
//! is gone (crossterm issue 793), and which knows no way to drop what it has read ahead.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lazaret_review::model::Review;
use lazaret_review::run::{Console, Input};
use lazaret_review::view::{Palette, draw};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::style::{ResetColor, force_color_output};
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::termios::{
    OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetwinsize,
    tcsetattr,
};

use crate::panic::Hook;
use crate::ui::{Output, Ui, UiWriter};
use lazaret_session::cancel::Interrupt;

type Backend = CrosstermBackend<BufWriter<UiWriter>>;

/// The terminal while a review has it.
pub struct ReviewConsole {
    terminal: Terminal<Backend>,
    writer: UiWriter,
    cooked: Termios,
    /// Whether the terminal is ours now. A second time, giving it back would put the cursor
    /// where it was before the first, on top of the message of a panic.
    taken: Arc<AtomicBool>,
    palette: Palette,
    interrupt: Interrupt,
    hook: Option<Hook>,
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
    pub fn open(ui: &Ui, palette: Palette, interrupt: Interrupt) -> io::Result<Self> {
        let cooked = tcgetattr(io::stdin())?;
        let writer = ui.writer(Output::Stderr);
        let taken = Arc::new(AtomicBool::new(false));
        let hook = {
            let (taken, cooked) = (Arc::clone(&taken), cooked.clone());
            Hook::install(move || {
                // Not through the `Ui`: the panic may have come while it was locked.
                if taken.swap(false, Ordering::SeqCst) {
                    give_back(&mut io::stderr(), &cooked);
                }
            })
        };
        let terminal = fresh(&writer, area())?;
        // NO_COLOR was looked at where the palette was chosen; a flag may have overruled it.
        force_color_output(true);
        let mut screen = Self {
            terminal,
            writer,
            cooked,
            taken,
            palette,
            interrupt,
            hook: Some(hook),
        };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> io::Result<()> {
        let mut raw = self.cooked.clone();
        raw.make_raw();
        // A read waits a tenth of a second, and then brings nothing.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 1;
        self.taken.store(true, Ordering::SeqCst);
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
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

    fn leave(&mut self) {
        if self.taken.swap(false, Ordering::SeqCst) {
            give_back(&mut self.writer, &self.cooked);
        }
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

/// Gives the terminal back. One that is gone can't be given back, and needs not be.
fn give_back(writer: &mut dyn Write, cooked: &Termios) {
    let mut sequence = Vec::new();
    let queued = queue!(
        sequence,
        DisableBracketedPaste,
        ResetColor,
        LeaveAlternateScreen,
        Show
    );
    if queued.is_ok() {
        drop(writer.write_all(&sequence).and_then(|()| writer.flush()));
    }
    // What was typed for the review is not for the shell.
    let _ = tcsetattr(io::stdin(), OptionalActions::Flush, cooked);
}

/// Columns and rows; of a terminal that does not know them, those that most have.
fn area() -> Rect {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Rect::new(0, 0, size.ws_col, size.ws_row),
        _ => Rect::new(0, 0, 80, 24),
    }
}

impl Drop for ReviewConsole {
    fn drop(&mut self) {
        self.leave();
        drop(self.hook.take());
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
        self.interrupt.check().is_err()
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
        self.leave();
        // As the terminal does it: to everything that the shell started with us.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        self.enter()
    }
}

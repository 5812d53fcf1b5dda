//! Phases: what lazaret is doing, how many files and bytes so far, for how long.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{
    OutputFormat, ProgressChoice, Ui, UiOptions, Verbosity, bytes, count, elapsed, elide, locked,
};
use crate::environment::{Environment, StreamKind};
use crate::ui::terminal::Terminal;
use lazaret_session::event::Counter;

/// Between two plain lines of one phase; one that takes as long is told about.
const PLAIN_INTERVAL: Duration = Duration::from_secs(3);
/// Between two drawings of the line that changes in place.
const TICK: Duration = Duration::from_millis(100);

/// How phases are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    Hidden,
    Plain,
    InPlace,
}

impl Display {
    pub(super) fn new(options: UiOptions, env: &Environment) -> Self {
        if options.verbosity == Verbosity::Quiet {
            return Self::Hidden;
        }
        match options.progress {
            ProgressChoice::None => Self::Hidden,
            ProgressChoice::Plain => Self::Plain,
            ProgressChoice::Tty => Self::InPlace,
            // With --json a machine reads: on stderr it expects one object, if anything.
            ProgressChoice::Auto if options.format == OutputFormat::Json => Self::Hidden,
            ProgressChoice::Auto => {
                let dumb = env.text("TERM") == Some("dumb");
                if env.streams.stderr == StreamKind::Terminal && !dumb {
                    Self::InPlace
                } else {
                    Self::Plain
                }
            }
        }
    }
}

/// What a phase will amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// Not known beforehand.
    Unknown,
    /// Known.
    SyncState {
        /// Files.
        files: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// `1,234 of 10,000 files, 1.2 MiB of 8.0 MiB`; empty when there is nothing to count.
fn show(counter: &Counter, total: Total) -> String {
    let (files, size) = (counter.files(), counter.bytes());
    match total {
        Total::Unknown if files == 0 && size == 0 => String::new(),
        Total::Unknown if files == 0 => bytes(size),
        Total::Unknown => format!("{} files, {}", count(files), bytes(size)),
        Total::SyncState {
            files: all,
            bytes: whole,
        } => format!(
            "{} of {} files, {} of {}",
            count(files),
            count(all),
            bytes(size),
            bytes(whole)
        ),
    }
}

/// A phase of work. Finish it; a phase that is dropped was broken off.
#[must_use = "a phase that is dropped at once was broken off: finish it when its work is done"]
pub struct Phase {
    ui: Ui,
    name: &'static str,
    counter: Counter,
    started: Instant,
    bar: Option<ProgressBar>,
    /// Dropping it ends the thread that prints plain lines.
    ticker: Option<Sender<()>>,
}

impl fmt::Debug for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Phase")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Phase {
    pub(super) fn start(ui: &Ui, name: &'static str, total: Total, counter: Counter) -> Self {
        let mut phase = Self {
            ui: ui.clone(),
            name,
            counter,
            started: Instant::now(),
            bar: None,
            ticker: None,
        };
        match ui.0.progress {
            Display::Hidden => {}
            Display::Plain => phase.ticker = Some(phase.print_lines(total)),
            Display::InPlace => phase.bar = Some(phase.draw_line(total)),
        }
        phase
    }

    /// Returns the counter of this phase.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }

    /// Ends the phase and returns how long it took. What it came to is said if it took long, or
    /// if the user wants details.
    pub fn finish(mut self) -> Duration {
        let took = self.started.elapsed();
        self.clear();
        let is_told = took >= PLAIN_INTERVAL || self.ui.verbosity() == Verbosity::Verbose;
        if is_told && self.ui.0.progress != Display::Hidden {
            let counts = show(&self.counter, Total::Unknown);
            let separator = if counts.is_empty() { "" } else { ", " };
            self.ui.status(&format!(
                "{}: {counts}{separator}{}",
                self.name,
                elapsed(took)
            ));
        }
        took
    }

    fn print_lines(&self, total: Total) -> Sender<()> {
        let (sender, receiver) = mpsc::channel::<()>();
        let (ui, name, counter, started) = (
            self.ui.clone(),
            self.name,
            self.counter.clone(),
            self.started,
        );
        thread::spawn(move || {
            while receiver.recv_timeout(PLAIN_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let counts = show(&counter, total);
                let separator = if counts.is_empty() { "" } else { ", " };
                ui.status(&format!(
                    "{name}: {counts}{separator}{} so far",
                    elapsed(started.elapsed())
                ));
            }
        });
        sender
    }

    fn draw_line(&self, total: Total) -> ProgressBar {
        let width = self.ui.width();
        let target = ProgressDrawTarget::term_like(Box::new(Terminal {
            sink: self.ui.0.stderr.clone(),
            width: u16::try_from(width).unwrap_or(u16::MAX),
        }));
        let (name, counter, started) = (self.name, self.counter.clone(), self.started);
        let line = move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let counts = show(&counter, total);
            let text = format!("{name}  {counts}  {}", elapsed(started.elapsed()));
            // The only error is one of `out`, which is a string.
            let _ = out.write_str(&elide(&text, width.saturating_sub(3)));
        };
        let style = ProgressStyle::with_template("{spinner} {line}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .with_key("line", line);
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        bar.enable_steady_tick(TICK);
        *locked(&self.ui.0.bar) = Some(bar.clone());
        bar
    }

    fn clear(&mut self) {
        self.ticker = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            *locked(&self.ui.0.bar) = None;
        }
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        self.clear();
    }
}

//! `Ui`: everything that lazaret says and asks. Results go to stdout, all else to stderr.
//!
//! Streams are injected; nothing else in the crate writes to them. A reader that went
//! away (`lazaret ls | head -1`) is no error and ends nothing: what is being said is
//! dropped, and the verb goes on to its own end (FLT-18).

mod canvas;
mod inert;
mod interruptible_writer;
mod options;
mod pager;
mod progress;
mod prompt;
pub mod session_events;
mod streams;
mod style;
pub mod terminal;
#[cfg(test)]
mod tests;
mod wrap;

use std::fmt;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use indicatif::ProgressBar;
use lazaret_tree::escape;
use serde::Serialize;

use crate::environment::{Environment, StreamKind, StreamKinds};
use crate::failure::Failure;
use lazaret_session::event::Counter;

pub use inert::inert_json;
pub use lazaret_gate::decision::NoAnswer;
pub use lazaret_gate::format::{bytes, count, elapsed, elide, harmless as sanitize};
pub use options::{ColorChoice, OutputFormat, ProgressChoice, Questions, UiOptions, Verbosity};
pub use pager::written;
pub use progress::{Phase, Total};
pub use prompt::{Answer, Choice, Question};
pub use session_events::SessionEvents;
pub use streams::{Output, Streams, UiWriter};
use streams::{Sink, locked};
pub use style::TextTone;
pub use terminal::key_mode::KeyMode;
pub use terminal::review_console;

/// The results as a stream. What can't be written is remembered by the sink.
struct Results<'a>(&'a Ui);

impl Write for Results<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(Output::Stdout, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The columns before the second line of what is said.
const INDENT: usize = 2;

/// Says and asks. Clones speak through the same streams, from any thread.
#[derive(Clone)]
pub struct Ui(Arc<Inner>);

struct Inner {
    stdout: Arc<Mutex<Sink>>,
    stderr: Arc<Mutex<Sink>>,
    input: Mutex<prompt::Input>,
    /// The line that changes in place, if one is on the screen.
    bar: Mutex<Option<ProgressBar>>,
    options: UiOptions,
    styles: style::Styles,
    streams: StreamKinds,
    width: usize,
    has_screen: bool,
    home: Option<PathBuf>,
    progress: progress::Display,
    /// `None` if the user wants none.
    pager: Option<pager::Pager>,
}

impl fmt::Debug for Ui {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ui")
            .field("options", &self.0.options)
            .field("width", &self.0.width)
            .finish_non_exhaustive()
    }
}

impl Ui {
    /// Makes a user interface of streams, choices and surroundings.
    pub fn new(streams: Streams, options: UiOptions, env: &Environment) -> Self {
        let sink = |stream| {
            Arc::new(Mutex::new(Sink {
                stream,
                failed: None,
            }))
        };
        Self(Arc::new(Inner {
            stdout: sink(streams.stdout),
            stderr: sink(streams.stderr),
            input: Mutex::new(prompt::Input::new(
                streams.stdin,
                streams.discard_typeahead,
                streams.keys,
            )),
            bar: Mutex::new(None),
            options,
            styles: style::Styles::new(options.color, env),
            streams: env.streams,
            width: usize::from(env.terminal_width.unwrap_or(80)).clamp(40, 400),
            has_screen: env.text("TERM").is_some_and(|term| term != "dumb"),
            home: env.home().ok().map(Path::to_path_buf),
            progress: progress::Display::new(options, env),
            pager: pager::Pager::of(env),
        }))
    }

    /// Returns whether results are JSON.
    pub fn format(&self) -> OutputFormat {
        self.0.options.format
    }

    /// Returns how much is said.
    pub fn verbosity(&self) -> Verbosity {
        self.0.options.verbosity
    }

    /// Returns the columns that text for people may use.
    pub fn width(&self) -> usize {
        self.0.width
    }

    /// Returns the columns that results may use: any number where no terminal shows them.
    pub fn result_width(&self) -> usize {
        match self.0.streams.stdout {
            StreamKind::Terminal => self.0.width,
            StreamKind::Other => usize::MAX,
        }
    }

    /// Shows a directory of the user's, escaped and not too long; `~` stands for the home.
    pub fn place(&self, path: &Path) -> String {
        elide(&self.whole_place(path), self.0.width / 2)
    }

    /// As [`Ui::place`], at any length.
    pub fn whole_place(&self, path: &Path) -> String {
        let below = self
            .0
            .home
            .as_ref()
            .and_then(|home| path.strip_prefix(home).ok());
        let text = match below {
            Some(below) => Path::new("~").join(below),
            None => path.to_path_buf(),
        };
        let text = escape(text.as_os_str().as_encoded_bytes());
        text.trim_end_matches('/').to_owned()
    }

    /// Returns whether a person can be asked: stdin and stderr are terminals, and questions are
    /// welcome.
    pub fn can_ask(&self) -> bool {
        !self.is_unasked()
            && self.0.streams.stdin == StreamKind::Terminal
            && self.0.streams.stderr == StreamKind::Terminal
    }

    /// Returns whether nothing may wait for a person (`--no-input`).
    pub fn is_unasked(&self) -> bool {
        self.0.options.questions == Questions::Unasked
    }

    /// Returns whether a full screen can be drawn for a person: they can be asked, want text,
    /// and have a terminal that can move its cursor.
    pub fn can_draw(&self) -> bool {
        self.can_ask() && self.0.options.format == OutputFormat::Text && self.0.has_screen
    }

    /// Returns whether what is drawn on stderr has colours.
    pub fn has_colours(&self) -> bool {
        self.0.styles.colours_stderr()
    }

    /// Prints a result for people, with a newline. Untrusted parts must be escaped.
    pub fn result(&self, text: &str) {
        self.write(Output::Stdout, format!("{text}\n").as_bytes());
    }

    /// Prints many lines of results for people, piece by piece: what a large batch comes to
    /// has a hundred megabytes. Untrusted parts must be escaped.
    pub fn results(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut out = BufWriter::with_capacity(64 << 10, Results(self));
        // `Results` takes everything; what its stream refuses is remembered there.
        drop(write(&mut out).and_then(|()| out.flush()));
    }

    /// Prints a result as JSON: one object, indented only for a terminal.
    pub fn json(&self, value: &impl Serialize) {
        // Piece by piece: the report of a large batch has a hundred megabytes.
        let mut out = BufWriter::with_capacity(64 << 10, Results(self));
        if let Err(error) = self.write_json(value, &mut out) {
            self.error(&format!("the result has no JSON form: {error}"));
        }
    }

    /// Writes what [`Ui::json`] prints.
    ///
    /// # Errors
    /// When the value has no JSON form, or `out` fails.
    pub fn write_json(&self, value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
        match self.0.streams.stdout {
            StreamKind::Terminal => serde_json::to_writer_pretty(&mut *out, value),
            StreamKind::Other => serde_json::to_writer(&mut *out, value),
        }?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Writes to other streams from here on.
    pub fn redirect(&self, stdout: Box<dyn Write + Send>, stderr: Box<dyn Write + Send>) {
        for (sink, stream) in [(&self.0.stdout, stdout), (&self.0.stderr, stderr)] {
            *locked(sink) = Sink {
                stream,
                failed: None,
            };
        }
    }

    /// Prints one of many results as JSON: one line each, also on a terminal.
    pub fn json_line(&self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.result(&text),
            Err(error) => self.error(&format!("the result has no JSON form: {error}")),
        }
    }

    /// Says what is going on. Not with `--quiet`.
    pub fn status(&self, text: &str) {
        if self.0.options.verbosity >= Verbosity::Normal {
            self.say(&format!("{text}\n"));
        }
    }

    /// Says a detail. Only with `--verbose`.
    pub fn detail(&self, text: &str) {
        if self.0.options.verbosity >= Verbosity::Verbose {
            self.say(&format!("{}\n", self.paint(TextTone::Dim, text)));
        }
    }

    /// Warns.
    pub fn warn(&self, text: &str) {
        self.say(&format!(
            "{} {text}\n",
            self.paint(TextTone::Warning, "warning:")
        ));
    }

    /// Says that something failed.
    pub fn error(&self, text: &str) {
        self.say(&format!(
            "{} {text}\n",
            self.paint(TextTone::Error, "error:")
        ));
    }

    /// Says what to do.
    pub fn hint(&self, text: &str) {
        self.say(&format!("{} {text}\n", self.paint(TextTone::Hint, "hint:")));
    }

    /// Prints a failure, with all of its text escaped here: its message, its causes, its hints; one JSON object with `--json`.
    pub fn failure(&self, failure: &Failure) {
        if self.0.options.format == OutputFormat::Json {
            self.write(
                Output::Stderr,
                format!("{}\n", failure.to_json()).as_bytes(),
            );
            return;
        }
        let mut chain = failure.chain().into_iter();
        if let Some(message) = chain.next() {
            self.error(&show(&message));
        }
        for cause in chain {
            self.say(&format!("  caused by: {}\n", show(&cause)));
        }
        for hint in &failure.hints {
            self.hint(&show(hint));
        }
    }

    /// Gives stdin to a verb that reads data from it, once; such a verb asks nothing.
    pub fn take_stdin(&self) -> Option<Box<dyn BufRead + Send>> {
        locked(&self.0.input).take()
    }

    /// Returns `text` in a colour, if stderr has colours.
    pub fn paint(&self, tone: TextTone, text: &str) -> String {
        self.0.styles.stderr(tone, text)
    }

    /// Returns `text` in a colour, if stdout has colours.
    pub fn paint_result(&self, tone: TextTone, text: &str) -> String {
        self.0.styles.stdout(tone, text)
    }

    /// Returns a writer for raw bytes, for the command's own output. With `--json` all of
    /// it goes to stderr: stdout carries only JSON.
    pub fn writer(&self, output: Output) -> UiWriter {
        let sink = match (output, self.0.options.format) {
            (Output::Stdout, OutputFormat::Text) => &self.0.stdout,
            (Output::Stdout, OutputFormat::Json) | (Output::Stderr, _) => &self.0.stderr,
        };
        UiWriter::to(sink)
    }

    /// Starts a phase of work, whose progress is shown until it is finished.
    pub fn phase(&self, name: &'static str, total: Total) -> Phase {
        Phase::start(self, name, total, Counter::default())
    }

    /// Starts a phase that shows what `counter` counts.
    pub fn counted_phase(&self, name: &'static str, counter: Counter) -> Phase {
        Phase::start(self, name, Total::Unknown, counter)
    }

    /// Returns what kept results from being written, other than a reader that went away.
    pub fn take_output_error(&self) -> Option<io::Error> {
        let mut sink = locked(&self.0.stdout);
        match &sink.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => sink.failed.take(),
            _ => None,
        }
    }

    fn say(&self, text: &str) {
        self.say_indented(text, INDENT);
    }

    /// Says lines; what does not fit on one goes on in the next, indented by so many columns.
    fn say_indented(&self, text: &str, indent: usize) {
        let wrapped = self.wrapped(text, self.0.streams.stderr, indent);
        self.write(Output::Stderr, wrapped.as_bytes());
    }

    /// Breaks lines of a result at words, if a terminal would break them anywhere.
    pub fn wrapped_result(&self, text: &str, indent: usize) -> String {
        self.wrapped(text, self.0.streams.stdout, indent)
    }

    fn wrapped(&self, text: &str, stream: StreamKind, indent: usize) -> String {
        match stream {
            StreamKind::Terminal => wrap::wrap(text, self.0.width, indent),
            StreamKind::Other => text.to_owned(),
        }
    }

    /// Writes around the line that changes in place.
    fn write(&self, output: Output, text: &[u8]) {
        let sink = match output {
            Output::Stdout => &self.0.stdout,
            Output::Stderr => &self.0.stderr,
        };
        let bar = locked(&self.0.bar).clone();
        match bar {
            Some(bar) => bar.suspend(|| locked(sink).write(text)),
            None => locked(sink).write(text),
        }
    }
}

/// Makes text of unknown origin harmless on a terminal. Lines after the first are
/// indented, so that none can pass for one of ours.
fn show(text: &str) -> String {
    text.trim_end()
        .split('\n')
        .map(sanitize)
        .collect::<Vec<_>>()
        .join("\n    ")
}

//! `VerbRunner`: runs a verb inside this process, and takes what it prints.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read as _, Seek as _, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use lazaret_session::cancel::Cancel;
use lazaret_tree::escape;
use serde_json::Value;

use crate::app::{App, CommandLine, Options};
use crate::environment::{Environment, StreamKind, StreamKinds};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::ui::{
    ColorChoice, OutputFormat, ProgressChoice, Questions, SessionEvents, Streams, Ui, UiOptions,
    Verbosity,
};

/// The most bytes that a verb may print.
const MOST: usize = 32 << 20;
/// The most bytes of what it says on stderr that are told.
const MOST_SAID: usize = 16 << 10;

/// How a verb ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: ExitCode,
    pub(crate) stdout: String,
}

impl Ran {
    /// Reads what it printed.
    ///
    /// # Errors
    /// It is no JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        serde_json::from_str(&self.stdout)
            .or_fail(FailureKind::Internal, "the verb's result can't be read")
    }
}

/// Runs verbs for a program that speaks a protocol on this process's streams.
#[derive(Debug)]
pub(crate) struct VerbRunner {
    program: OsString,
    options: Options,
    /// The surroundings of each verb: without a terminal.
    pub(crate) env: Environment,
    line: CommandLine,
}

impl VerbRunner {
    /// Runs verbs by the choices of `app`.
    pub(crate) fn new(line: CommandLine, app: &App) -> Self {
        Self {
            program: app.arguments.first().cloned().unwrap_or_default(),
            options: app.options.clone(),
            env: Environment {
                streams: StreamKinds {
                    stdin: StreamKind::Other,
                    stdout: StreamKind::Other,
                    stderr: StreamKind::Other,
                },
                terminal_width: None,
                ..app.env.clone()
            },
            line,
        }
    }

    /// Makes what a verb gets. What it prints goes into the buffers; nothing can be asked.
    pub(crate) fn app(
        &self,
        words: &[String],
        stdin: Vec<u8>,
        format: OutputFormat,
        cancel: Cancel,
    ) -> Nested {
        let (stdout, stderr) = (Buffer::default(), Buffer::default());
        let streams = Streams {
            stdin: Box::new(Cursor::new(stdin)),
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            discard_typeahead: || {},
            keys: || None,
        };
        let options = UiOptions {
            format,
            color: ColorChoice::Never,
            progress: ProgressChoice::None,
            verbosity: Verbosity::Normal,
            questions: Questions::Asked,
        };
        let ui = Ui::new(streams, options, &self.env);
        let mut arguments = vec![self.program.clone()];
        if format == OutputFormat::Json {
            arguments.push("--json".into());
        }
        if let Some(engine) = &self.options.engine {
            arguments.push(format!("--engine={}", engine.text).into());
        }
        arguments.extend(words.iter().map(Into::into));
        let app = App {
            arguments,
            env: self.env.clone(),
            events: SessionEvents::new(ui.clone()),
            ui,
            cancel,
            options: self.options.clone(),
            keeper_stderr: tempfile::tempfile().ok(),
        };
        Nested {
            app,
            stdout,
            stderr,
        }
    }

    /// Runs what [`VerbRunner::app`] made.
    ///
    /// # Errors
    /// The verb's own.
    pub(crate) fn run_made(&self, nested: &Nested) -> Result<ExitCode, Failure> {
        (self.line.run)(&nested.app.arguments, &nested.app)
    }

    /// Runs a verb that ends with one of these exit codes if it does what it should.
    ///
    /// # Errors
    /// The verb's own failure, or that it printed too much.
    pub(crate) fn run(
        &self,
        words: &[String],
        format: OutputFormat,
        good: &[ExitCode],
        cancel: Cancel,
    ) -> Result<Ran, Failure> {
        let nested = self.app(words, Vec::new(), format, cancel);
        let code = self.run_made(&nested)?;
        let stdout = nested.stdout.take();
        if stdout.is_full {
            let text = format!("the result has more than {} MiB", MOST >> 20);
            return Err(Failure::message(FailureKind::Refused, text));
        }
        // A verb that fails by its exit code alone, or whose keeper did, has said why.
        if !good.contains(&code) {
            return Err(nested.said(code));
        }
        Ok(Ran {
            code,
            stdout: String::from_utf8_lossy(&stdout.bytes).into_owned(),
        })
    }
}

/// Takes stdin and stdout away from everything else in this process and its children: what is
/// printed by mistake goes to stderr, and no child reads a message.
///
/// # Errors
/// The process has no descriptor left.
pub(crate) fn take_streams() -> io::Result<(OwnedFd, OwnedFd)> {
    let stdin = rustix::stdio::stdin().try_clone_to_owned()?;
    let stdout = rustix::stdio::stdout().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((stdin, stdout))
}

/// What a verb gets, and what it printed.
#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) app: App,
    stdout: Buffer,
    stderr: Buffer,
}

impl Nested {
    /// Takes what it printed.
    pub(super) fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.take().bytes).into_owned()
    }

    /// Makes a failure of what the verb said, or its keeper: a line of JSON, or words.
    pub(super) fn said(mut self, code: ExitCode) -> Failure {
        let mut said = self.stderr.take().bytes;
        if let Some(file) = &mut self.app.keeper_stderr {
            drop(read_back(file, &mut said));
        }
        let said = String::from_utf8_lossy(&said);
        let error = said.lines().rev().find_map(|line| {
            let value: Value = serde_json::from_str(line).ok()?;
            value.get("error").cloned()
        });
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let list = |value: &Value| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(text)
                .collect()
        };
        let Some(error) = error else {
            let text = format!("the verb ended with exit code {}", code.value());
            let failure = Failure::message(FailureKind::Refused, text);
            return match said.trim() {
                "" => failure,
                said => {
                    let cause = escape(said.as_bytes());
                    Failure::message(FailureKind::Refused, cause).context(failure.chain().join(""))
                }
            };
        };
        let mut causes = list(&error["causes"]);
        causes.insert(0, text(&error["message"]).unwrap_or_default());
        let mut causes = causes.into_iter().rev();
        let innermost = causes.next().unwrap_or_default();
        let failure = Failure::message(kind(&error["kind"]), innermost);
        let failure = causes.fold(failure, Failure::context);
        list(&error["hints"])
            .into_iter()
            .fold(failure, Failure::hinted)
    }
}

/// Returns the kind of a failure of another process of ours.
fn kind(word: &Value) -> FailureKind {
    let word = word.as_str().unwrap_or_default();
    let mut all = FailureKind::ALL.into_iter();
    all.find(|kind| kind.as_str() == word)
        .unwrap_or(FailureKind::Internal)
}

fn read_back(file: &mut File, said: &mut Vec<u8>) -> io::Result<()> {
    let end = file.seek(io::SeekFrom::End(0))?;
    let from = end.saturating_sub(MOST_SAID as u64);
    file.seek(io::SeekFrom::Start(from))?;
    file.take(MOST_SAID as u64).read_to_end(said)?;
    Ok(())
}

/// Takes what is written, up to a bound.
#[derive(Debug, Clone, Default)]
struct Buffer(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    bytes: Vec<u8>,
    /// Whether there was more.
    is_full: bool,
}

impl Buffer {
    fn take(&self) -> Taken {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST.saturating_sub(taken.bytes.len());
        let fits = &bytes[..bytes.len().min(room)];
        taken.bytes.extend_from_slice(fits);
        taken.is_full |= fits.len() < bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! `run --each`: a session for each line of a file, a few at a time, and one summary.
//!
//! Each is a `lazaret run` of its own, in a process of its own, with what was typed for all of
//! them. Its changes wait at its own gate.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use lazaret_runtime::SessionId;
use lazaret_tree::escape;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::Value;

use super::each_line::{EachLine, tasks_of};
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::keeper::own_program;
use crate::ui::OutputFormat;

/// How many run at once if nothing else is said.
pub(super) const AT_ONCE: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// What became of one task.
#[derive(Debug, Serialize)]
struct TaskResult {
    /// The line.
    task: String,
    /// Its session; null if it did not come to one.
    session: Option<String>,
    /// The exit code of its `lazaret run`.
    code: i32,
    /// The report of that; null if it failed before there was one.
    report: Option<Value>,
    /// Why it failed; null if it did not.
    error: Option<String>,
}

/// How all of them ended.
#[derive(Debug, Serialize)]
struct Summary {
    tasks: Vec<TaskResult>,
    /// Tasks that were not begun, since the run was interrupted.
    not_begun: usize,
}

/// Reads the tasks and runs them.
///
/// # Errors
/// There are none, or a name that can't be a session's.
pub(super) fn run(
    file: &Path,
    at_once: NonZeroUsize,
    name: Option<&SessionId>,
    app: &App,
) -> Result<ExitCode, Failure> {
    let lines = tasks_of(&read(file, app)?);
    if lines.is_empty() {
        let text = format!(
            "{} has no tasks",
            escape(file.as_os_str().as_encoded_bytes())
        );
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("A task is a line; empty ones and those that begin with # are none."));
    }
    let each = EachLine::of(&app.arguments);
    let mut calls = Vec::new();
    for (number, line) in (1..).zip(&lines) {
        let name = match name {
            Some(name) => {
                let text = format!("{name}-{number}");
                let parsed: SessionId = text.parse().or_fail(FailureKind::Usage, "--name")?;
                Some(parsed)
            }
            None => None,
        };
        calls.push(each.call(line, name.as_ref()));
    }
    let running = Arc::new(Mutex::new(Vec::new()));
    let signalled = Arc::clone(&running);
    // Ctrl-C reaches them by the terminal, another signal only this process.
    let _guard = app.cancel.guard(move |_| {
        for pid in signalled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            // One that has ended meanwhile needs none.
            let _gone = kill_process(*pid, Signal::TERM);
        }
    });
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<TaskResult>>> = lines.iter().map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for _ in 0..at_once.get().min(lines.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(line), Some(call)) = (lines.get(number), calls.get(number)) else {
                        return;
                    };
                    if app.cancel.check().is_err() {
                        return;
                    }
                    let result = one(line, call, &running, app);
                    app.ui.status(&format!(
                        "{} of {}: {}",
                        number + 1,
                        lines.len(),
                        result.in_words()
                    ));
                    if let Some(slot) = results.get(number) {
                        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                    }
                }
            });
        }
    });
    let tasks: Vec<TaskResult> = results
        .into_iter()
        .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect();
    let summary = Summary {
        not_begun: lines.len() - tasks.len(),
        tasks,
    };
    Ok(summary.show(app))
}

fn end(pids: &[Pid]) {
    for pid in pids {
        // One that has ended meanwhile needs no signal.
        let _gone = kill_process(*pid, Signal::TERM);
    }
}

fn read(file: &Path, app: &App) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match (file == Path::new("-"), app.ui.take_stdin()) {
        (true, Some(mut stdin)) => stdin.read_to_string(&mut text),
        (true, None) => Ok(0),
        (false, _) => std::fs::File::open(app.env.cwd.join(file))
            .and_then(|mut file| file.read_to_string(&mut text)),
    };
    let name = escape(file.as_os_str().as_encoded_bytes());
    read.or_fail(FailureKind::Usage, &format!("read the tasks of {name}"))?;
    Ok(text)
}

/// Runs one to its end.
fn one(line: &str, call: &[OsString], running: &Mutex<Vec<Pid>>, app: &App) -> TaskResult {
    let ended = start(call, running, app);
    let failed = |error: String| TaskResult {
        task: line.to_owned(),
        session: None,
        code: number(ExitCode::FAILED),
        report: None,
        error: Some(error),
    };
    let output = match ended {
        Ok(output) => output,
        Err(error) => return failed(error.to_string()),
    };
    let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let session = report
        .as_ref()
        .and_then(|report| report["session"].as_str());
    let code = output.status.code().unwrap_or(number(ExitCode::FAILED));
    let error = match &report {
        Some(_) => None,
        None => Some(why(&output.stderr)),
    };
    TaskResult {
        task: line.to_owned(),
        session: session.map(str::to_owned),
        code,
        report,
        error,
    }
}

fn start(
    call: &[OsString],
    running: &Mutex<Vec<Pid>>,
    app: &App,
) -> io::Result<std::process::Output> {
    let handle = duct::cmd(own_program(app)?, call)
        .stdin_null()
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .start()?;
    let pids: Vec<Pid> = handle
        .pids()
        .into_iter()
        .filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .collect();
    let locked = || running.lock().unwrap_or_else(PoisonError::into_inner);
    locked().extend(&pids);
    // One that was started while the others were told to end.
    if app.cancel.check().is_err() {
        end(&pids);
    }
    let output = handle.into_output();
    locked().retain(|pid| !pids.contains(pid));
    output
}

/// Returns what a failed `run --json` says on stderr: the message of its failure, else its last
/// line.
fn why(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or("it said nothing");
    let json: Option<Value> = serde_json::from_str(last).ok();
    let error = json
        .as_ref()
        .and_then(|json| json["error"]["message"].as_str());
    error.unwrap_or(last).to_owned()
}

fn number(code: ExitCode) -> i32 {
    i32::from(code.value())
}

impl TaskResult {
    fn in_words(&self) -> String {
        let session = self.session.as_deref().unwrap_or("no session");
        let ended = match (&self.error, &self.report) {
            (Some(error), _) => error.clone(),
            (None, Some(report)) => self.of_report(report),
            (None, None) => format!("exit {}", self.code),
        };
        let text = format!("{session}: {ended} ({})", self.task);
        escape(text.as_bytes())
    }

    fn of_report(&self, report: &Value) -> String {
        let count = |kind: &str| report["changes"][kind].as_array().map_or(0, Vec::len);
        let (added, modified, deleted) = (count("added"), count("modified"), count("deleted"));
        let ended = match (report["timed_out"].as_bool(), report["exit_code"].as_i64()) {
            (Some(true), _) => "time limit".to_owned(),
            (_, Some(code)) => format!("exit {code}"),
            (_, None) => "not started".to_owned(),
        };
        let changes = match added + modified + deleted {
            0 => "no changes".to_owned(),
            _ => format!("+{added} ~{modified} -{deleted}"),
        };
        let gate = match self.waits() {
            true => ", waits",
            false => "",
        };
        format!("{ended}, {changes}{gate}")
    }

    /// Whether changes or commits of it wait.
    fn waits(&self) -> bool {
        let outcome = self.report.as_ref().map(|report| &report["outcome"]);
        self.code == number(ExitCode::KEPT) || outcome.is_some_and(|outcome| outcome == "kept")
    }

    /// Whether its command, or lazaret, failed.
    fn failed(&self) -> bool {
        let code = self.report.as_ref().map(|report| &report["exit_code"]);
        ![ExitCode::SUCCESS, ExitCode::KEPT]
            .map(number)
            .contains(&self.code)
            || code.is_none_or(|code| code != 0)
    }
}

impl Summary {
    fn show(&self, app: &App) -> ExitCode {
        let waiting: Vec<&str> = self
            .tasks
            .iter()
            .filter(|task| task.waits())
            .filter_map(|task| task.session.as_deref())
            .collect();
        let failed = self.tasks.iter().filter(|task| task.failed()).count();
        match app.ui.format() {
            OutputFormat::Json => app.ui.json(self),
            OutputFormat::Text => {
                let total = self.tasks.len() + self.not_begun;
                let mut text = format!(
                    "{total} tasks: {} done, {failed} failed, {} wait",
                    self.tasks.len() - failed,
                    waiting.len()
                );
                if self.not_begun > 0 {
                    text.push_str(&format!(", {} not begun", self.not_begun));
                }
                app.ui.status(&text);
                if let Some(first) = waiting.first() {
                    app.ui.hint(&format!(
                        "`lazaret review {first}` decides about the first that waits, `lazaret ls` lists all."
                    ));
                }
            }
        }
        match (self.not_begun, failed, waiting.len()) {
            (1.., _, _) => ExitCode::INTERRUPTED,
            (0, 1.., _) => ExitCode::REFUSED,
            (0, 0, 1..) => ExitCode::KEPT,
            (0, 0, 0) => ExitCode::SUCCESS,
        }
    }
}

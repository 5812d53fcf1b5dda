//! `lazaret` as a process: its command, its output, and what one may expect of it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long one call may take. Only a call that hangs takes that long.
const LIMIT: Duration = Duration::from_secs(600);

/// What a call of `lazaret` left behind.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) line: String,
    /// 128 + signal when a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// # Errors
    /// `needle` is in neither stream.
    pub(crate) fn expect_text(self, needle: &str) -> Result<Self, String> {
        match self.stdout.contains(needle) || self.stderr.contains(needle) {
            true => Ok(self),
            false => Err(format!("{needle:?} is not in the output\n{}", self.show())),
        }
    }

    /// Stdout as one JSON document.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn json(&self) -> Result<Value, String> {
        serde_json::from_str(&self.stdout)
            .map_err(|error| format!("stdout is no JSON: {error}\n{}", self.show()))
    }

    fn show(&self) -> String {
        format!(
            "$ lazaret {}\n--- stdout\n{}\n--- stderr\n{}",
            self.line,
            tail(&self.stdout),
            tail(&self.stderr)
        )
    }
}

/// An [`Output`] whose exit code is still to be judged.
#[derive(Debug)]
#[must_use = "say what is expected of it: `.expect_code(0)?`"]
pub(crate) struct Ended(Output);

impl Ended {
    /// # Errors
    /// Another exit code; with both streams.
    pub(crate) fn expect_code(self, code: i32) -> Result<Output, String> {
        match self.0.code == code {
            true => Ok(self.0),
            false => Err(format!(
                "exit code {} instead of {code}\n{}",
                self.0.code,
                self.0.show()
            )),
        }
    }

    /// The output, whatever the exit code is.
    pub(crate) fn output(self) -> Output {
        self.0
    }
}

impl Deref for Ended {
    type Target = Output;

    fn deref(&self) -> &Output {
        &self.0
    }
}

/// The arguments of a call: a line of words, or the words one by one.
pub(crate) trait Line {
    fn words(&self) -> Vec<String>;
}

impl Line for str {
    fn words(&self) -> Vec<String> {
        self.split_whitespace().map(Self::to_owned).collect()
    }
}

impl Line for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Line for [S] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<str>> Line for Vec<S> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<S: AsRef<str>, const N: usize> Line for [S; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

/// The last lines of a stream; an agent may write megabytes.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

/// Where a call's stdout goes.
#[derive(Debug)]
enum Sink {
    /// A file, to be read afterwards.
    File,
    /// Nowhere.
    Null,
    /// A pipe, whose other end the scenario has.
    Pipe(std::io::PipeWriter),
    /// A terminal, which is its stdin too.
    Terminal(fs::File),
    /// A terminal, which is all three streams.
    WholeTerminal(fs::File),
}

/// A call of `lazaret` that has not started yet.
#[derive(Debug)]
#[must_use = "it runs nothing before `.run()` or `.start()`"]
pub(crate) struct Call {
    argv: Vec<String>,
    line: String,
    environment: BTreeMap<String, String>,
    dir: PathBuf,
    streams: PathBuf,
    stdin: Option<std::io::PipeReader>,
    stdout: Sink,
}

impl Call {
    /// A call in `dir`, whose output goes to files whose names begin with `streams`.
    pub(crate) fn new(bin: &Path, dir: &Path, streams: &Path) -> Self {
        Self {
            argv: vec![bin.display().to_string()],
            line: String::new(),
            environment: BTreeMap::new(),
            dir: dir.to_owned(),
            streams: streams.to_owned(),
            stdin: None,
            stdout: Sink::File,
        }
    }

    /// Adds arguments.
    pub(crate) fn arguments<S: AsRef<str>>(mut self, arguments: &[S]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|a| a.as_ref().to_owned()).collect();
        self.line.push_str(&arguments.join(" "));
        self.argv.extend(arguments);
        self
    }

    /// Sets a variable, whatever it was.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Puts a command in front that becomes `lazaret` in the same process.
    pub(crate) fn behind(mut self, prefix: Vec<String>) -> Self {
        self.argv.splice(..0, prefix);
        self
    }

    /// Throws stdout away.
    pub(crate) fn stdout_null(mut self) -> Self {
        self.stdout = Sink::Null;
        self
    }

    /// Takes stdin from a pipe.
    pub(crate) fn stdin_pipe(mut self, reader: std::io::PipeReader) -> Self {
        self.stdin = Some(reader);
        self
    }

    /// Sends stdout into a pipe.
    pub(crate) fn stdout_pipe(mut self, writer: std::io::PipeWriter) -> Self {
        self.stdout = Sink::Pipe(writer);
        self
    }

    /// Gives it a terminal for stdin and stdout.
    pub(crate) fn on_terminal(mut self, terminal: fs::File) -> Self {
        self.stdout = Sink::Terminal(terminal);
        self
    }

    /// Gives it a terminal for all three streams: it can be asked.
    pub(crate) fn on_whole_terminal(mut self, terminal: fs::File) -> Self {
        self.stdout = Sink::WholeTerminal(terminal);
        self
    }

    /// Starts it and goes on.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn start(self) -> Result<Running, String> {
        let stdout = self.streams.with_extension("stdout");
        let stderr = self.streams.with_extension("stderr");
        let command = duct::cmd(&self.argv[0], &self.argv[1..]);
        let command = match self.stdin {
            Some(reader) => command.stdin_file(reader),
            None => command,
        };
        let command = command.full_env(self.environment).dir(self.dir).unchecked();
        let clone = |file: &fs::File| file.try_clone().map_err(|error| error.to_string());
        let command = match &self.stdout {
            Sink::WholeTerminal(terminal) => command.stderr_file(clone(terminal)?),
            _ => command.stderr_path(&stderr),
        };
        // The innermost redirection is the one that counts.
        let command = match self.stdout {
            Sink::File => command.stdin_null().stdout_path(&stdout),
            Sink::Null => command.stdin_null().stdout_null(),
            Sink::Pipe(writer) => command.stdin_null().stdout_file(writer),
            Sink::Terminal(terminal) | Sink::WholeTerminal(terminal) => {
                command.stdin_file(clone(&terminal)?).stdout_file(terminal)
            }
        };
        let handle = command
            .start()
            .map_err(|error| format!("start lazaret {}: {error}", self.line))?;
        Ok(Running {
            line: self.line,
            handle,
            stdout,
            stderr,
        })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It can't be started, or hangs.
    pub(crate) fn run(self) -> Result<Ended, String> {
        self.start()?.wait()
    }
}

/// A call that has not ended yet. Streams go to files, so that a process which outlives
/// `lazaret` and keeps them open does not block the test.
#[derive(Debug)]
pub(crate) struct Running {
    line: String,
    handle: duct::Handle,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    /// # Errors
    /// It has ended already.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), String> {
        send(self.pid(), signal)
    }

    /// Signals the process that has the session: a keeper, if it has begun one.
    ///
    /// # Errors
    /// It has ended already.
    pub(crate) fn signal_keeper(&self, signal: Signal) -> Result<(), String> {
        send(self.keeper(), signal)
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_running(&self) -> bool {
        self.handle.try_wait().is_ok_and(|ended| ended.is_none())
    }

    fn pid(&self) -> u32 {
        self.handle.pids().first().copied().unwrap_or(0)
    }

    /// The process that has the session.
    fn keeper(&self) -> u32 {
        let own = self.pid();
        let is_child = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // `PID (NAME) STATE PARENT …`; a name may hold anything (`man 5 proc_pid_stat`).
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            rest.split_whitespace().nth(1) == Some(&*own.to_string())
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        all.find(is_child).unwrap_or(own)
    }

    /// `/proc/PID/status` of the process that was called; empty once it is gone.
    pub(crate) fn status(&self) -> String {
        fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default()
    }

    /// `/proc/PID/FILE` of the process that has the session; empty once it is gone.
    fn text(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.keeper())).unwrap_or_default()
    }

    /// A number out of `/proc/PID/FILE`, such as `VmHWM` of `status` or `rchar` of `io`;
    /// 0 once the process is gone.
    pub(crate) fn number(&self, file: &str, key: &str) -> u64 {
        let text = self.text(file);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// What it wrote to stdout so far.
    pub(crate) fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stdout).unwrap_or_default()).into_owned()
    }

    /// What it wrote to stderr so far.
    pub(crate) fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap_or_default()).into_owned()
    }

    /// What it wrote so far, stdout first.
    pub(crate) fn output_so_far(&self) -> String {
        let read = |path| fs::read(path).unwrap_or_default();
        let bytes = [read(&self.stdout), read(&self.stderr)].concat();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until `done` says so; an error when that takes too long or the call ends first.
    pub(crate) fn wait_until(
        &self,
        what: &str,
        limit: Duration,
        done: impl Fn() -> bool,
    ) -> Result<(), String> {
        let deadline = std::time::Instant::now() + limit;
        while !done() {
            if self
                .handle
                .try_wait()
                .map_err(|error| error.to_string())?
                .is_some()
                && !done()
            {
                return Err(format!(
                    "lazaret ended before: {what}\n{}",
                    tail(&self.output_so_far())
                ));
            }
            if std::time::Instant::now() > deadline {
                return Err(format!(
                    "not within {limit:?}: {what}\n{}",
                    tail(&self.output_so_far())
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits for the end, whatever the outcome.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub(crate) fn ends(self) -> Result<(), String> {
        self.wait().map(drop)
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// It hangs; it is killed then.
    pub(crate) fn wait(self) -> Result<Ended, String> {
        let ended = self
            .handle
            .wait_timeout(LIMIT)
            .map_err(|error| error.to_string())?;
        let status = ended.map(|output| output.status);
        if status.is_none() {
            self.handle.kill().map_err(|error| error.to_string())?;
        }
        let read = |path: &PathBuf| {
            String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
        };
        let output = Output {
            code: status.map_or(-1, exit_code),
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
            line: self.line,
        };
        match status {
            Some(_) => Ok(Ended(output)),
            None => Err(format!("no end after {LIMIT:?}\n{}", output.show())),
        }
    }
}

fn send(pid: u32, signal: Signal) -> Result<(), String> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or("lazaret has no process")?;
    kill_process(pid, signal).map_err(|error| format!("signal lazaret: {error}"))
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}

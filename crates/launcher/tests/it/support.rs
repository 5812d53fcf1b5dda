//! `TestEnvironment`: `lazaret` in a world of its own: no variables, a home in a
//! temporary directory, no terminal.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A place to run `lazaret` in.
#[derive(Debug)]
pub(crate) struct TestEnvironment {
    root: tempfile::TempDir,
    variables: BTreeMap<String, String>,
    engine: String,
    uid: Option<u32>,
}

/// What a run came to. Show it (a snapshot), or take it apart.
#[derive(Debug)]
#[must_use = "what a run came to is what the test is about"]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The most memory that it ever had, in KiB.
    pub(crate) most: u64,
}

impl TestEnvironment {
    /// Makes an empty home, and names an engine that is not there: a test that reaches
    /// for one without saying so fails at once.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["home", "work"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
        }
        let mut environment = Self {
            variables: BTreeMap::new(),
            engine: format!("unix://{}", root.path().join("no-engine.sock").display()),
            uid: None,
            root,
        };
        let home = environment.path("home").display().to_string();
        let own = [("HOME", home), ("GIT_CONFIG_NOSYSTEM", "1".to_owned())];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        environment.variables.extend(own);
        environment
    }

    /// Names the engine.
    pub(crate) fn engine(mut self, engine: &str) -> Self {
        self.engine = engine.to_owned();
        self
    }

    /// Sets a variable.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs as another user; root's tests only.
    pub(crate) fn with_uid(mut self, uid: u32) -> Self {
        self.uid = Some(uid);
        self
    }

    /// Returns the path of a file in the world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file, with the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs `lazaret` in `work/` with these arguments, split at spaces.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        self.run_words(&arguments.split(' ').collect::<Vec<_>>())
    }

    /// Runs `lazaret` in `work/` with these arguments.
    pub(crate) fn run_words(&self, arguments: &[&str]) -> Outcome {
        self.outcome(self.command(arguments))
    }

    /// Runs `lazaret` in `work/` with these bytes on stdin.
    pub(crate) fn run_reading(&self, arguments: &[&str], stdin: &[u8]) -> Outcome {
        self.outcome(self.expression(arguments).stdin_bytes(stdin))
    }

    fn outcome(&self, expression: duct::Expression) -> Outcome {
        let running = expression.start().unwrap();
        let Peak { most, .. } = peak(&running);
        let output = running.into_output().unwrap();
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: self.redact(&output.stdout),
            stderr: self.redact(&output.stderr),
            most,
        }
    }

    /// Returns what runs `lazaret` in `work/`, without input, both streams captured.
    pub(crate) fn command(&self, arguments: &[&str]) -> duct::Expression {
        self.expression(arguments).stdin_null()
    }

    fn expression(&self, arguments: &[&str]) -> duct::Expression {
        self.bare(arguments)
            .stdout_capture()
            .stderr_capture()
            .unchecked()
    }

    /// Returns what runs `lazaret` in `work/`, with the streams of the test.
    pub(crate) fn bare(&self, arguments: &[&str]) -> duct::Expression {
        let mut variables = self.variables.clone();
        variables.insert("LAZARET_ENGINE".to_owned(), self.engine.clone());
        let uid = self.uid;
        duct::cmd(env!("CARGO_BIN_EXE_lazaret"), arguments)
            .before_spawn(move |command| {
                if let Some(uid) = uid {
                    use std::os::unix::process::CommandExt as _;
                    command.uid(uid).gid(uid);
                }
                Ok(())
            })
            .full_env(variables)
            .dir(self.path("work"))
    }

    fn redact(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).expect("lazaret writes UTF-8");
        let resolved = std::fs::canonicalize(self.root.path()).unwrap();
        text.replace(&resolved.display().to_string(), "$ROOT")
            .replace(&self.root.path().display().to_string(), "$ROOT")
    }

    /// Returns the directory of the repository.
    pub(crate) fn repository() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .parent()
            .unwrap()
    }
}

impl Outcome {
    /// Returns the object on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

/// Exit code, then both streams, each with its end marked so that a missing line end shows.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "\n--- {name}\n{text}[EOF]")?;
            }
        }
        Ok(())
    }
}

/// Whether a run stayed within the memory that a change set may take (P9), not counting what
/// the program takes for an empty one: its own pages depend on how it was built.
#[track_caller]
pub(crate) fn assert_bounded(most: u64) {
    const MOST_KIB: u64 = 256 << 10;
    let empty = TestEnvironment::new();
    for side in ["base", "candidate"] {
        std::fs::create_dir(empty.path("work").join(side)).unwrap();
    }
    let idle = empty.run("check candidate --base base").most;
    // Less is no program that read anything.
    assert!(idle > 4 << 10, "{idle} KiB");
    let growth = most.saturating_sub(idle);
    assert!(growth < MOST_KIB, "{growth} KiB more than {idle}");
}

/// What a process came to.
#[derive(Debug)]
pub(crate) struct Peak {
    pub(crate) code: i32,
    /// The most memory that it ever had, in KiB.
    pub(crate) most: u64,
    pub(crate) stderr: String,
}

/// Waits for the end of a process, and returns the most memory that it ever had, up to a
/// millisecond before its end.
pub(crate) fn peak(running: &duct::Handle) -> Peak {
    let mut most = 0;
    loop {
        most = most.max(peak_so_far(running));
        if let Some(output) = running.try_wait().unwrap() {
            return Peak {
                code: output.status.code().unwrap_or(-1),
                most,
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the most memory that a process has had, in KiB, as the kernel counts it
/// (proc_pid_status(5), `VmHWM`); 0 once it has ended, and before it is a program of its own:
/// after a `vfork` its parent goes on a moment before its memory is no longer the parent's.
pub(crate) fn peak_so_far(running: &duct::Handle) -> u64 {
    let status = format!("/proc/{}/status", running.pids()[0]);
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let own = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
    // A new program's name is set after its memory (execve(2)).
    if status.lines().next() == Some(&format!("Name:\t{}", own.trim_end())) {
        return 0;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let now = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    now.unwrap_or(0)
}

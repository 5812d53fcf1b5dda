//! `Verb`: the program, run on the sessions of a world. It has a home without configuration, and
//! reaches no engine.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use super::world::World;

/// A call of the program.
#[derive(Debug)]
pub(super) struct Verb {
    root: PathBuf,
    dir: PathBuf,
    variables: Vec<(String, String)>,
}

/// How a call ended.
#[derive(Debug)]
#[must_use = "how it ended is what the test is about"]
pub(super) struct Ended {
    /// -1 if a signal ended it.
    pub(super) code: i32,
    pub(super) signal: Option<i32>,
    /// The world's directory is `$ROOT` in both.
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Verb {
    /// Prepares a call in `cwd/`, which is made.
    pub(super) fn on(world: &World) -> Self {
        let (xdg, cwd) = (world.path("xdg"), world.path("cwd"));
        if !xdg.exists() {
            fs::create_dir(&xdg).unwrap();
            symlink(world.path("state"), xdg.join("lazaret")).unwrap();
        }
        fs::create_dir_all(&cwd).unwrap();
        let engine = format!("unix://{}", world.path("no-engine.sock").display());
        let variables = [
            ("XDG_STATE_HOME", xdg.display().to_string()),
            ("HOME", cwd.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("LAZARET_ENGINE", engine),
        ];
        Self {
            root: world.root.path().to_owned(),
            dir: cwd,
            variables: variables
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        }
    }

    /// Runs it in another directory.
    pub(super) fn in_dir(self, dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            ..self
        }
    }

    /// Sets a variable.
    pub(super) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns what runs it, without input.
    pub(super) fn command(&self, arguments: &[&str]) -> duct::Expression {
        duct::cmd(env!("CARGO_BIN_EXE_lazaret"), arguments)
            .full_env(self.variables.clone())
            .dir(&self.dir)
            .stdin_null()
    }

    /// Runs it.
    pub(super) fn run(&self, arguments: &[&str]) -> Ended {
        let command = self.command(arguments).stdout_capture().stderr_capture();
        let output = command.unchecked().run().unwrap();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.replace(&self.root.display().to_string(), "$ROOT")
        };
        Ended {
            code: output.status.code().unwrap_or(-1),
            signal: output.status.signal(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Runs it, once no other process has locked the session of the world; see [`World::lock`].
    #[track_caller]
    pub(super) fn run_unlocked(&self, arguments: &[&str]) -> Ended {
        for _ in 0..1000 {
            let ended = self.run(arguments);
            if !ended.stderr.contains("is in use by another lazaret") {
                return ended;
            }
        }
        panic!("another process holds the session");
    }
}

impl Ended {
    /// Returns both streams.
    pub(super) fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

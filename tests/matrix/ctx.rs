//! What a scenario works with: an engine, a `lazaret` with a state of its own, workspaces.

use std::cell::Cell;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lazaret_tests::tree_text;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;

use crate::api::{self, Object};
use crate::cluster::Cluster;
use crate::engine::EngineName;
use crate::lazaret::{Call, Ended, Line, Output, Running};
use crate::runner::Setup;

/// One scenario's world. Nothing in it is shared with another scenario but the cache.
#[derive(Debug)]
pub(crate) struct Ctx {
    engine: EngineName,
    setup: Setup,
    cache: PathBuf,
    scratch: tempfile::TempDir,
    calls: Cell<usize>,
}

impl Ctx {
    pub(crate) fn new(engine: EngineName, setup: &Setup, cache: &Path) -> Result<Self, String> {
        let scratch = tempfile::Builder::new()
            .prefix("lazaret-matrix-")
            .tempdir()
            .map_err(|error| format!("a directory for the scenario: {error}"))?;
        for folder in ["home", "state", "config", "work", "calls"] {
            fs::create_dir(scratch.path().join(folder)).map_err(|error| error.to_string())?;
        }
        Ok(Self {
            engine,
            setup: setup.clone(),
            cache: cache.to_owned(),
            scratch,
            calls: Cell::new(0),
        })
    }

    /// The engine's name.
    pub(crate) fn engine(&self) -> EngineName {
        self.engine
    }

    /// Lazaret's state directory of this scenario (`$XDG_STATE_HOME/lazaret`).
    pub(crate) fn state(&self) -> PathBuf {
        self.scratch.path().join("state/lazaret")
    }

    /// The id of this scenario's store, made beforehand where lazaret has not run yet.
    pub(crate) fn store_id(&self) -> String {
        let file = self.state().join("store-id");
        if let Ok(id) = fs::read_to_string(&file) {
            return id;
        }
        let name = self.scratch.path().as_os_str().as_encoded_bytes();
        let id = format!("{:016x}", lazaret_tests::fnv(name));
        fs::create_dir_all(self.state()).expect("the scratch directory is writable");
        fs::write(&file, &id).expect("the scratch directory is writable");
        id
    }

    /// Lazaret's configuration directory of this scenario (`$XDG_CONFIG_HOME/lazaret`).
    pub(crate) fn config(&self) -> PathBuf {
        self.scratch.path().join("config/lazaret")
    }

    /// The (fake) home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Gives every command of this scenario a word: it finds it as `/tmp/WORD`.
    ///
    /// # Errors
    /// No command has a container, or the engine refuses.
    pub(crate) fn tell(&self, word: &str) -> Result<(), String> {
        let path = format!("/tmp/{word}");
        match self.asks(&["touch", &path])? {
            true => Ok(()),
            false => Err(format!("cannot touch {path} beside a command")),
        }
    }

    /// Runs a program beside every command of this scenario, and says whether it succeeds
    /// beside all of them.
    ///
    /// # Errors
    /// No command has a container, or the engine refuses.
    pub(crate) fn asks(&self, argv: &[&str]) -> Result<bool, String> {
        let objects = self.objects()?;
        let agents: Vec<&Object> = objects
            .iter()
            .filter(|object| object.to_string().ends_with("-agent"))
            .collect();
        if agents.is_empty() {
            return Err("no command has a container".to_owned());
        }
        let mut all = true;
        for agent in agents {
            all &= api::exec(&self.engine().socket(), agent, argv)? == 0;
        }
        Ok(all)
    }

    /// Kills the keeper of a session, and waits until it holds nothing any more.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn kill_keeper(&self, session: &str) -> Result<(), String> {
        let status = self.run_json(&["--json", "limits", session])?;
        let pid = status["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| format!("no process in {status}"))?;
        let killed = || -> rustix::io::Result<()> {
            let keeper = pidfd_open(pid, PidfdFlags::empty())?;
            pidfd_send_signal(&keeper, Signal::KILL)?;
            // Readable once each of its threads has ended, and so let go of its locks.
            let mut ended = [PollFd::new(&keeper, PollFlags::IN)];
            retry_on_intr(|| poll(&mut ended, None)).map(drop)
        };
        killed().map_err(|error| error.to_string())
    }

    /// Where a workspace lies.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.scratch.path().join("work").join(name)
    }

    /// Makes a workspace from the tree language.
    pub(crate) fn workspace(&self, name: &str, tree: &str) -> PathBuf {
        let dir = self.work(name);
        fs::create_dir(&dir).expect("a workspace is made once");
        tree_text::build(tree, &dir);
        dir
    }

    /// Makes a profile in the user's own configuration: `PROFILE` is then its name.
    pub(crate) fn profile(&self, name: &str, toml: &str) {
        let dir = self.config().join("profiles");
        fs::create_dir_all(&dir).expect("the configuration is writable");
        fs::write(dir.join(format!("{name}.toml")), toml).expect("the configuration is writable");
    }

    /// The cache that all scenarios share (`$XDG_CACHE_HOME`).
    pub(crate) fn cache(&self) -> PathBuf {
        self.cache.clone()
    }

    /// Where cargo keeps the sources of published crates.
    pub(crate) fn registry(&self) -> PathBuf {
        self.setup.cargo_home.join("registry/src")
    }

    /// Where programs are looked for.
    pub(crate) fn search_path(&self) -> &str {
        &self.setup.path
    }

    /// The settings that `cargo xtask setup` starts Podman with, where it needs some.
    pub(crate) fn containers_conf(&self) -> PathBuf {
        let state = &self.setup.state_home;
        state.join("lazaret/engines/containers.conf")
    }

    /// Runs `lazaret` to its end.
    ///
    /// # Errors
    /// It can't be started, or hangs.
    pub(crate) fn lazaret(&self, line: &(impl Line + ?Sized)) -> Result<Ended, String> {
        self.call(line).run()
    }

    /// Runs `lazaret`, which must succeed.
    ///
    /// # Errors
    /// As [`Ctx::lazaret`], or another exit code than 0.
    pub(crate) fn ok(&self, line: &(impl Line + ?Sized)) -> Result<Output, String> {
        self.lazaret(line)?.expect_code(0)
    }

    /// Runs `lazaret`, which must fail with exit code 1.
    ///
    /// # Errors
    /// As [`Ctx::lazaret`], or another exit code.
    pub(crate) fn fails(&self, line: &(impl Line + ?Sized)) -> Result<Output, String> {
        self.lazaret(line)?.expect_code(1)
    }

    /// Runs a script in a session, as [`Ctx::script`], which must end with `code`.
    ///
    /// # Errors
    /// As [`Ctx::lazaret`], or another exit code.
    pub(crate) fn exits(
        &self,
        code: i32,
        line: &(impl Line + ?Sized),
        script: &str,
    ) -> Result<Output, String> {
        self.script(line, script).run()?.expect_code(code)
    }

    /// Runs `lazaret`, which must succeed, and returns what it says as JSON.
    ///
    /// # Errors
    /// As [`Ctx::ok`], or what it says is none.
    pub(crate) fn run_json(&self, line: &(impl Line + ?Sized)) -> Result<Value, String> {
        self.ok(line)?.json()
    }

    /// Starts `lazaret` and goes on.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn spawn(&self, line: &(impl Line + ?Sized)) -> Result<Running, String> {
        self.call(line).start()
    }

    /// A call that has a session run a script: by `sh -c`, or by the words that the line has
    /// after `--`.
    pub(crate) fn script(&self, line: &(impl Line + ?Sized), script: &str) -> Call {
        let shell: &[&str] = match line.words().iter().any(|word| word == "--") {
            true => &[],
            false => &["--", "sh", "-c"],
        };
        self.call(line).arguments(shell).arguments(&[script])
    }

    /// Checks a directory against the tree language.
    ///
    /// # Errors
    /// It is another tree; with the line of the caller.
    #[track_caller]
    pub(crate) fn tree_is(&self, dir: &Path, expected: &str) -> Result<(), String> {
        let place = std::panic::Location::caller();
        expect_eq(
            &format!("the tree at {place}"),
            &tree_text::dump(dir),
            expected,
        )
    }

    /// A call of `lazaret` that may still be changed.
    pub(crate) fn call(&self, line: &(impl Line + ?Sized)) -> Call {
        self.call_in(&self.scratch.path().join("work"), line)
    }

    /// A call of `lazaret` in a directory.
    pub(crate) fn call_in(&self, dir: &Path, line: &(impl Line + ?Sized)) -> Call {
        let scratch = |folder: &str| self.scratch.path().join(folder).display().to_string();
        let environment = [
            ("PATH", self.setup.path.clone()),
            ("HOME", scratch("home")),
            ("XDG_STATE_HOME", scratch("state")),
            ("XDG_CONFIG_HOME", scratch("config")),
            ("XDG_CACHE_HOME", self.cache.display().to_string()),
            // The home is not the user's; the host's Rust toolchain is.
            ("RUSTUP_HOME", self.setup.rustup_home.display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("LAZARET_ENGINE", self.engine.address().to_owned()),
            ("KUBECONFIG", self.kubeconfig()),
        ];
        self.calls.set(self.calls.get() + 1);
        let mut call = Call::new(
            &self.setup.bin,
            dir,
            &self
                .scratch
                .path()
                .join("calls")
                .join(self.calls.get().to_string()),
        );
        for (name, value) in environment {
            call = call.env(name, &value);
        }
        call.arguments(&line.words())
    }

    /// The contexts that lazaret finds; none for other engines than a cluster.
    fn kubeconfig(&self) -> String {
        let cluster = Cluster::at(&self.engine.socket());
        let file = cluster.map(|cluster| cluster.kubeconfig());
        file.unwrap_or_default().display().to_string()
    }

    /// Containers and volumes of this scenario's store on the engine.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(crate) fn objects(&self) -> Result<Vec<Object>, String> {
        self.objects_at(&self.engine.socket())
    }

    /// As [`Ctx::objects`], on another engine.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(crate) fn objects_at(&self, socket: &Path) -> Result<Vec<Object>, String> {
        match fs::read_to_string(self.state().join("store-id")) {
            Ok(id) => api::labelled(socket, &format!("io.lazaret.store={}", id.trim())),
            // A `lazaret` that never got so far made nothing.
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Makes a volume of another owner, with a name as lazaret's would be.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(crate) fn foreign_volume(&self) -> Result<ForeignVolume, String> {
        let unique = self.scratch.path().file_name().unwrap_or_default();
        let name = format!(
            "lazaret-{}-workspace",
            // Kubernetes takes no capitals.
            unique.to_string_lossy().replace('.', "").to_lowercase()
        );
        self.foreign_volume_named(name)
    }

    /// As [`Ctx::foreign_volume`], under a name of the scenario's choice.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(crate) fn foreign_volume_named(&self, name: String) -> Result<ForeignVolume, String> {
        api::create_foreign_volume(&self.engine.socket(), &name)?;
        Ok(ForeignVolume {
            socket: self.engine.socket(),
            name,
        })
    }

    /// Whether a process holds a session: the prompt of a terminal is back before all of its run
    /// is removed.
    fn is_at_work(&self) -> bool {
        let sessions = fs::read_dir(self.state().join("sessions"));
        let mut sessions = sessions.into_iter().flatten().flatten();
        sessions.any(|session| {
            let lock = File::open(session.path().join("lock"));
            lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
        })
    }

    /// Fails when the scenario left something on the engine, and removes it.
    ///
    /// # Errors
    /// With the names of what was left.
    pub(crate) fn check_clean(&self) -> Result<(), String> {
        const LIMIT: Duration = Duration::from_secs(20);
        let give_up = Instant::now() + LIMIT;
        while self.is_at_work() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(20));
        }
        let left = self.objects()?;
        for object in &left {
            api::remove(&self.engine.socket(), object)?;
        }
        let names: Vec<String> = left.iter().map(Object::to_string).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(format!("left behind on the engine: {}", names.join(", "))),
        }
    }
}

/// A volume that lazaret must not touch.
#[derive(Debug)]
pub(crate) struct ForeignVolume {
    socket: PathBuf,
    name: String,
}

impl ForeignVolume {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Checks that it is still there, and removes it.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn check_and_remove(self) -> Result<(), String> {
        let is_there = api::has_volume(&self.socket, &self.name)?;
        api::remove(
            &self.socket,
            &Object::Volume {
                name: self.name.clone(),
            },
        )?;
        expect("the foreign volume was left alone", || is_there)
    }
}

/// Fails with `what` and both values when they differ.
///
/// # Errors
/// They differ.
pub(crate) fn expect_eq<F, E>(what: &str, found: &F, expected: &E) -> Result<(), String>
where
    F: PartialEq<E> + std::fmt::Debug + ?Sized,
    E: std::fmt::Debug + ?Sized,
{
    match found == expected {
        true => Ok(()),
        false => Err(format!(
            "{what}:\n found    {found:?}\n expected {expected:?}"
        )),
    }
}

/// Fails with `what` when `condition` does not hold.
///
/// # Errors
/// It does not hold.
pub(crate) fn expect(what: &str, condition: impl FnOnce() -> bool) -> Result<(), String> {
    match condition() {
        true => Ok(()),
        false => Err(format!("not so: {what}")),
    }
}

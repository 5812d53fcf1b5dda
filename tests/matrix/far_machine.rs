//! `FarMachine`: an engine behind a real sshd, in namespaces of its own, and the `ssh` of a user
//! who may log in there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::api;
use crate::ctx::Ctx;
use crate::lazaret::{Call, Line};
use crate::private_engine::{PrivateEngine, ROOMY};
use crate::unshared::family;

/// Where sshd listens, in a network of its own.
const PORT: u16 = 22;
const START: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// A machine that only ssh leads to.
#[derive(Debug)]
pub(crate) struct FarMachine<'a> {
    ctx: &'a Ctx,
    sshd: Option<duct::Handle>,
    engine: PrivateEngine,
    dir: tempfile::TempDir,
}

impl<'a> FarMachine<'a> {
    /// # Errors
    /// The engine or sshd does not come up.
    pub(crate) fn start(ctx: &'a Ctx) -> Result<Self, String> {
        let engine = PrivateEngine::start(ctx, ROOMY)?;
        let dir = tempfile::Builder::new()
            .prefix("lazaret-far-")
            .tempdir()
            .map_err(|error| error.to_string())?;
        let mut far = Self {
            ctx,
            sshd: None,
            engine,
            dir,
        };
        far.prepare()?;
        far.open()?;
        Ok(far)
    }

    /// Keys, both configurations, and an `ssh` that reads ours.
    fn prepare(&self) -> Result<(), String> {
        let at = |name: &str| self.path(name).display().to_string();
        for name in ["host", "user", "stranger"] {
            let key = at(name);
            duct::cmd!("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
                .run()
                .map_err(|error| format!("ssh-keygen: {error}"))?;
        }
        let server = format!(
            "Port {PORT}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n\
             StrictModes no\nPermitRootLogin prohibit-password\nUsePAM no\nPidFile none\n\
             SetEnv HOME={}\n",
            at("host"),
            at("user.pub"),
            // The startup files of the user who runs this are not for a machine that is killed.
            self.dir.path().display(),
        );
        let client = format!(
            "Host far\n HostName 127.0.0.1\n User root\nHost *\n IdentityFile {}\n \
             IdentitiesOnly yes\n UserKnownHostsFile {}\n",
            at("user"),
            at("known"),
        );
        let bin = self.path("bin");
        let ssh = bin.join("ssh");
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", at("client"));
        fs::write(self.path("server"), server)
            .and_then(|()| fs::write(self.path("client"), client))
            .and_then(|()| fs::create_dir(bin))
            .and_then(|()| fs::write(&ssh, script))
            .and_then(|()| fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)))
            .map_err(|error| error.to_string())?;
        self.engine.unshared().sh("mkdir -p /run/sshd")?;
        self.know("host")
    }

    /// Has the user know the machine by this key.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn know(&self, key: &str) -> Result<(), String> {
        let key = fs::read_to_string(self.path(key).with_extension("pub"));
        key.and_then(|key| fs::write(self.path("known"), format!("127.0.0.1 {key}")))
            .map_err(|error| error.to_string())
    }

    /// Starts sshd.
    ///
    /// # Errors
    /// It does not listen.
    pub(crate) fn open(&mut self) -> Result<(), String> {
        let config = self.path("server").display().to_string();
        let log = self.path("sshd.log");
        let sshd = self
            .engine
            .unshared()
            .command(&["/usr/sbin/sshd", "-D", "-e", "-f", &config])
            .stdin_null()
            .stdout_null()
            .stderr_path(&log)
            .unchecked()
            .start()
            .map_err(|error| format!("start sshd: {error}"))?;
        self.sshd = Some(sshd);
        let deadline = Instant::now() + START;
        let listens = || {
            let said = fs::read_to_string(&log).unwrap_or_default();
            said.contains("Server listening")
        };
        while !listens() {
            if Instant::now() > deadline {
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("sshd does not listen: {said}"));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Ends sshd and every connection, as a network does that is gone.
    ///
    /// # Errors
    /// It does not run.
    pub(crate) fn close(&mut self) -> Result<(), String> {
        let sshd = self.sshd.take().ok_or("sshd is not running")?;
        let entered = sshd.pids().first().copied().unwrap_or(0);
        for pid in family(entered).into_iter().skip(1) {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            // One that went with another is gone already.
            let _gone = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        sshd.wait().map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Kills every `ssh` of the user, and returns how many there were.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn kill_clients(&self) -> Result<usize, String> {
        let config = self.path("client").display().to_string();
        let mut killed = 0;
        for process in fs::read_dir("/proc").map_err(|error| error.to_string())? {
            let process = process.map_err(|error| error.to_string())?;
            let name = process.file_name();
            let pid = name.to_str().and_then(|name| name.parse().ok());
            let Some(pid) = pid.and_then(Pid::from_raw) else {
                continue;
            };
            // What is gone by now was no connection.
            let line = fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
            let mut words = line.split('\0');
            let is_client =
                words.next() == Some("/usr/bin/ssh") && words.any(|word| word == config);
            if is_client && kill_process(pid, Signal::KILL).is_ok() {
                killed += 1;
            }
        }
        Ok(killed)
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> usize {
        let entered = self
            .sshd
            .as_ref()
            .and_then(|sshd| sshd.pids().first().copied());
        // The first entered the namespaces, the second listens.
        family(entered.unwrap_or(0)).len().saturating_sub(2)
    }

    /// A call of `lazaret` by a user who is on the machine's network and has its engine chosen.
    pub(crate) fn call(&self, line: &(impl Line + ?Sized)) -> Call {
        let socket = self.engine.socket();
        self.call_to(&format!("ssh://far{}", socket.display()), line)
    }

    /// As [`FarMachine::call`], with another address.
    pub(crate) fn call_to(&self, endpoint: &str, line: &(impl Line + ?Sized)) -> Call {
        let path = format!("{}:{}", self.path("bin").display(), self.ctx.search_path());
        self.ctx
            .call(line)
            .env("LAZARET_ENGINE", endpoint)
            .env("PATH", &path)
            .behind(self.engine.unshared().on_its_network())
    }

    /// Containers and volumes of the scenario's store.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(crate) fn objects(&self) -> Result<Vec<api::Object>, String> {
        self.engine.objects(self.ctx)
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(self.dir.path()).join(name)
    }
}

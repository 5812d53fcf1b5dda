//! `PrivateEngine`: a daemon of a scenario's own, which it may kill and starve. It has its
//! own data, socket, mounts, processes and network; the machine's never hears of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lazaret_tests::model::Authority;
use rustix::process::{Pid, Signal, kill_process};

use crate::api::{self, Object};
use crate::ctx::Ctx;
use crate::engine::EngineName;
use crate::unshared::{Unshared, family};

/// From start to the first answer, on a busy machine.
const START: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);

/// Room for the images twice, as loading them takes, and a workspace.
pub(crate) const ROOMY: &str = "2g";

/// Where a Docker over TLS listens, in a network of its own.
pub(crate) const TLS_PORT: u16 = 2376;

/// What daemons find on their search path.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The user of rootless Podman that `cargo xtask setup` makes.
const ROOTLESS_USER: &str = "lazaret";

/// Scenarios with an engine of their own do not run on a cluster.
const NO_CLUSTER: &str = "a cluster is no engine of a scenario's own";

/// An engine of the scenario's own.
#[derive(Debug)]
pub(crate) struct PrivateEngine {
    name: EngineName,
    /// More arguments of Docker's daemon.
    more: Vec<String>,
    daemon: Option<duct::Handle>,
    // Ends every process before the directory goes.
    unshared: Unshared,
    dir: tempfile::TempDir,
    rootless: Option<(u32, u32)>,
}

impl PrivateEngine {
    /// Starts one of the same kind as the scenario's, all of whose data must fit into
    /// `size` (as mount(8) takes it), and lets `lazaret` load its images into it.
    ///
    /// # Errors
    /// The caller is not root, the daemon does not come up, or the images do not load.
    pub(crate) fn start(ctx: &Ctx, size: &str) -> Result<Self, String> {
        Self::start_one(ctx, ctx.engine(), size, |_| Ok(Vec::new()))
    }

    /// As [`PrivateEngine::start`], but a Docker that also listens on [`TLS_PORT`] of its own
    /// network, and takes only whom `authority` vouches for.
    ///
    /// # Errors
    /// As [`PrivateEngine::start`].
    pub(crate) fn start_docker_over_tls(ctx: &Ctx, authority: &Authority) -> Result<Self, String> {
        Self::start_one(ctx, EngineName::Docker, ROOMY, |dir| {
            let certificates = dir.join("tls");
            let written = authority.write(&["127.0.0.1", "localhost"], &certificates);
            written.map_err(|error| error.to_string())?;
            let at = |name: &str| certificates.join(name).display().to_string();
            Ok(vec![
                format!("--host=tcp://0.0.0.0:{TLS_PORT}"),
                "--tlsverify".to_owned(),
                format!("--tlscacert={}", at("ca.pem")),
                format!("--tlscert={}", at("cert.pem")),
                format!("--tlskey={}", at("key.pem")),
            ])
        })
    }

    fn start_one(
        ctx: &Ctx,
        name: EngineName,
        size: &str,
        more: impl FnOnce(&Path) -> Result<Vec<String>, String>,
    ) -> Result<Self, String> {
        let dir = tempfile::Builder::new()
            .prefix("lazaret-engine-")
            .tempdir()
            .map_err(|error| error.to_string())?;
        let rootless = match name {
            EngineName::PodmanRootless => Some(account(ROOTLESS_USER)?),
            EngineName::Docker | EngineName::Podman => None,
            EngineName::Kubernetes => return Err(NO_CLUSTER.to_owned()),
        };
        let unshared = Unshared::new(&mounts(dir.path(), size, rootless))?;
        let mut engine = Self {
            name,
            more: more(dir.path())?,
            daemon: None,
            unshared,
            dir,
            rootless,
        };
        engine.prepare(ctx).map_err(|error| error.to_string())?;
        engine.restart()?;
        let endpoint = engine.endpoint();
        ctx.call("image build base porter")
            .env("LAZARET_ENGINE", &endpoint)
            .run()?
            .expect_code(0)?;
        Ok(engine)
    }

    /// The daemon's settings and a directory that its user may enter.
    fn prepare(&self, ctx: &Ctx) -> std::io::Result<()> {
        // Where setup found no need for settings, there is no file.
        let settings = fs::read(ctx.containers_conf()).unwrap_or_default();
        fs::write(self.settings(), settings)?;
        fs::set_permissions(self.dir.path(), fs::Permissions::from_mode(0o755))?;
        if let Some((uid, gid)) = self.rootless {
            std::os::unix::fs::chown(self.dir.path(), Some(uid), Some(gid))?;
        }
        Ok(())
    }

    fn settings(&self) -> PathBuf {
        self.dir.path().join("containers.conf")
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("engine.sock")
    }

    /// What `LAZARET_ENGINE` takes.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// The namespaces that it runs in.
    pub(crate) fn unshared(&self) -> &Unshared {
        &self.unshared
    }

    /// Where its data is, as the outside sees it.
    fn data(&self) -> PathBuf {
        self.unshared.path(&self.dir.path().join("data"))
    }

    /// Fills its disk up to where `bytes` are left, or gives room back.
    ///
    /// # Errors
    /// It has not that much room at all.
    pub(crate) fn leave_room(&self, bytes: u64) -> Result<(), String> {
        let filler = self.data().join("filler");
        drop(fs::remove_file(&filler));
        let at = |error: std::io::Error| format!("{}: {error}", filler.display());
        let disk = rustix::fs::statvfs(self.data()).map_err(|error| error.to_string())?;
        let size = (disk.f_bavail * disk.f_frsize)
            .checked_sub(bytes)
            .ok_or("the private disk is too small")?;
        let file = fs::File::create(&filler).map_err(at)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size)
            .map_err(|error| at(error.into()))
    }

    /// Containers and volumes of the scenario's store.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn objects(&self, ctx: &Ctx) -> Result<Vec<Object>, String> {
        ctx.objects_at(&self.socket())
    }

    /// Starts the daemon, or starts it again after [`PrivateEngine::kill`].
    ///
    /// # Errors
    /// It does not come up; with the end of its log.
    pub(crate) fn restart(&mut self) -> Result<(), String> {
        let at = |name: &str| self.dir.path().join(name).display().to_string();
        // A socket without a listener keeps Podman from binding.
        drop(fs::remove_file(self.socket()));
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.path().join("engine.log"))
            .map_err(|error| error.to_string())?;
        let mut environment = BTreeMap::from([
            ("PATH".to_owned(), SYSTEM_PATH.to_owned()),
            ("HOME".to_owned(), at("data")),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("CONTAINERS_CONF".to_owned(), at("containers.conf")),
        ]);
        if let Some((uid, _)) = self.rootless {
            environment.insert("XDG_RUNTIME_DIR".to_owned(), format!("/run/user/{uid}"));
        }
        let daemon = self
            .unshared
            .command(&self.argv())
            .full_env(environment)
            .stdin_null()
            .stderr_to_stdout()
            .stdout_file(log)
            .unchecked()
            .start()
            .map_err(|error| format!("start {}: {error}", self.name))?;
        let deadline = Instant::now() + START;
        while !api::answers(&self.socket()) {
            let ended = daemon.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || Instant::now() > deadline {
                drop(daemon.kill());
                return Err(format!(
                    "a private {} did not start\n{}",
                    self.name,
                    self.tail()
                ));
            }
            std::thread::sleep(POLL);
        }
        self.daemon = Some(daemon);
        Ok(())
    }

    fn argv(&self) -> Vec<String> {
        let at = |name: &str| self.dir.path().join(name).display().to_string();
        let mut argv = Vec::new();
        if let Some((uid, gid)) = self.rootless {
            argv.push("setpriv".to_owned());
            argv.push(format!("--reuid={uid}"));
            argv.push(format!("--regid={gid}"));
            argv.push("--init-groups".to_owned());
        }
        let line: &[(&str, &str)] = match self.name {
            EngineName::Docker => &[
                ("--data-root", "data/root"),
                ("--exec-root", "data/exec"),
                ("--pidfile", "data/pid"),
            ],
            EngineName::Podman | EngineName::PodmanRootless | EngineName::Kubernetes => &[
                ("--root", "data/root"),
                ("--runroot", "data/run"),
                ("--tmpdir", "data/tmp"),
                ("--volumepath", "data/volumes"),
            ],
        };
        let places = line
            .iter()
            .flat_map(|(flag, path)| [(*flag).to_owned(), at(path)]);
        match self.name {
            EngineName::Docker => {
                argv.push("dockerd".to_owned());
                argv.extend(places);
                // Its network has nothing in it, and needs nothing.
                argv.push("--bridge=none".to_owned());
                argv.push("--iptables=false".to_owned());
                argv.extend(self.more.iter().cloned());
                argv.push("--host".to_owned());
            }
            EngineName::Podman | EngineName::PodmanRootless | EngineName::Kubernetes => {
                argv.push("podman".to_owned());
                argv.extend(places);
                argv.push("--storage-driver=overlay".to_owned());
                argv.extend(["system", "service", "--time=0"].map(str::to_owned));
            }
        }
        argv.push(self.endpoint());
        argv
    }

    /// Kills the daemon, and it alone: containers go on, as far as the engine's own helpers
    /// keep them.
    ///
    /// # Errors
    /// It is not running.
    pub(crate) fn kill(&mut self) -> Result<(), String> {
        let daemon = self.daemon.take().ok_or("the daemon is not running")?;
        let entered = daemon.pids().first().copied().unwrap_or(0);
        let program = match self.name {
            EngineName::Docker => "--data-root",
            EngineName::Podman | EngineName::PodmanRootless | EngineName::Kubernetes => "service",
        };
        let mut killed = 0;
        // The first only entered the namespaces, and is to bury the daemon.
        for pid in family(entered).into_iter().skip(1) {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_daemon = line
                .split(|byte| *byte == 0)
                .any(|word| word == program.as_bytes());
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid.filter(|_| is_daemon) {
                kill_process(pid, Signal::KILL).map_err(|error| error.to_string())?;
                killed += 1;
            }
        }
        daemon.wait().map_err(|error| error.to_string())?;
        match killed {
            0 => Err("no process of the daemon was found".to_owned()),
            _ => Ok(()),
        }
    }

    fn tail(&self) -> String {
        let log = fs::read_to_string(self.dir.path().join("engine.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

/// Private directories for what an engine keeps in well-known places, and its data on a
/// memory file system: an overlay can lie on it wherever `/tmp` itself lies, and it goes
/// with the enclosure.
fn mounts(dir: &Path, size: &str, rootless: Option<(u32, u32)>) -> String {
    let data = dir.join("data");
    let data = data.display();
    let mut script = format!(
        "ip link set lo up\n\
         mkdir -p {data}\n\
         mount -t tmpfs -o mode=0755 tmpfs /run\n\
         mount -t tmpfs -o mode=1777 tmpfs /dev/shm\n\
         mount -t tmpfs -o mode=0755,size={size} tmpfs {data}\n"
    );
    if let Some((uid, gid)) = rootless {
        script.push_str(&format!(
            "mkdir -p -m 0755 /run/user\n\
             mkdir -m 0700 /run/user/{uid}\n\
             chown {uid}:{gid} /run/user/{uid} {data}\n"
        ));
    }
    script
}

/// Uid and gid of an account.
fn account(name: &str) -> Result<(u32, u32), String> {
    let passwd = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    let line = passwd
        .lines()
        .find(|line| line.split(':').next() == Some(name));
    let ids = line.and_then(|line| {
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    ids.ok_or_else(|| format!("there is no user `{name}`; `cargo xtask setup` makes it"))
}

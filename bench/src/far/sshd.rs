//! `Sshd`: a real one on the loopback, and the `ssh` and `scp` of a user who may log in there.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use xshell::{Cmd, Shell, cmd};

use xtask::engines::machine;

use crate::station::Address;

/// What the user calls the far machine.
const HOST: &str = "far";
/// What sshd wants to have as an empty root of its own.
const EMPTY_ROOT: &str = "/run/sshd";
const START: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// Ends with this value.
#[derive(Debug)]
pub(super) struct Sshd {
    dir: PathBuf,
    shell: Shell,
    child: Child,
}

impl Sshd {
    /// # Errors
    /// It is not installed, or does not listen.
    pub(super) fn start(sh: &Shell, scratch: &Path) -> Result<Self> {
        let dir = scratch.join("sshd");
        fs::create_dir(&dir).with_context(|| dir.display().to_string())?;
        fs::create_dir_all(EMPTY_ROOT).context(EMPTY_ROOT)?;
        write_files(sh, &dir)?;
        let log = dir.join("log");
        let config = dir.join("server");
        let child = Command::from(cmd!(sh, "/usr/sbin/sshd -D -e -f {config}"))
            .stderr(fs::File::create(&log)?)
            .spawn()
            .context("start sshd: `cargo xtask setup` installs openssh-server")?;
        let sshd = Self {
            dir,
            shell: sh.clone(),
            child,
        };
        let deadline = Instant::now() + START;
        while !fs::read_to_string(&log)?.contains("Server listening") {
            if Instant::now() > deadline {
                bail!("sshd does not listen: {}", fs::read_to_string(&log)?);
            }
            thread::sleep(POLL);
        }
        Ok(sshd)
    }

    /// The engine that listens at a socket of the far machine.
    pub(super) fn engine(&self, socket: &Path) -> Address {
        let path = self.shell.var("PATH").unwrap_or_default();
        Address {
            engine: format!("ssh://{HOST}{}", socket.display()),
            path: format!("{}:{path}:{}", self.dir.display(), machine::SYSTEM_PATH),
        }
    }

    /// A command line there.
    pub(super) fn ssh(&self, line: &str) -> Cmd<'_> {
        let ssh = self.dir.join("ssh");
        cmd!(self.shell, "{ssh} {HOST} {line}").quiet()
    }

    /// A directory copied there.
    pub(super) fn scp(&self, from: &Path, to: &str) -> Cmd<'_> {
        let config = self.dir.join("client");
        cmd!(self.shell, "scp -q -F {config} -r {from} {HOST}:{to}").quiet()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // One that has ended can't be ended again.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Keys, both configurations, and an `ssh` that reads ours.
fn write_files(sh: &Shell, dir: &Path) -> Result<()> {
    for name in ["host", "user"] {
        let key = dir.join(name);
        cmd!(sh, "ssh-keygen -q -t ed25519 -N '' -f {key}")
            .quiet()
            .run()?;
    }
    let at = |name: &str| dir.join(name).display().to_string();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let server = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n\
         StrictModes no\nPermitRootLogin prohibit-password\nUsePAM no\nPidFile none\n\
         Subsystem sftp internal-sftp\n",
        at("host"),
        at("user.pub"),
    );
    let client = format!(
        "Host {HOST}\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n \
         UserKnownHostsFile {}\n",
        at("user"),
        at("known"),
    );
    let host = fs::read_to_string(dir.join("host.pub"))?;
    let ssh = dir.join("ssh");
    let client_file = at("client");
    fs::write(dir.join("server"), server)?;
    fs::write(&client_file, client)?;
    fs::write(dir.join("known"), format!("[127.0.0.1]:{port} {host}"))?;
    fs::write(
        &ssh,
        format!("#!/bin/sh\nexec /usr/bin/ssh -F {client_file} \"$@\"\n"),
    )?;
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

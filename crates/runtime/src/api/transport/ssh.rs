//! The tunnel to an engine of another machine: the user's own `ssh` forwards a socket.
//!
//! One `ssh` serves all requests of a process. It takes everything from its own configuration,
//! agent and known hosts, and never asks (`BatchMode`). It reads a pipe that ends with this
//! process, so it does not outlive a killed one. One that is gone is started again by the next
//! request.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeWriter};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::sync::Mutex;

use crate::SshAddress;

/// Where Docker listens if the address does not say.
const SOCKET: &str = "/var/run/docker.sock";

/// How long `ssh` may take until it forwards.
pub(super) const START_LIMIT: Duration = Duration::from_secs(30);

/// Between two looks whether it does.
const TICK: Duration = Duration::from_millis(10);

/// Bytes of what `ssh` writes that are looked at.
const MOST_SAID: usize = 64 << 10;

/// Options that an address can't lower: no question, no forwarding but ours, and an end within
/// 45 seconds when the other machine is gone.
const OPTIONS: [&str; 11] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "StreamLocalBindMask=0177",
    "StreamLocalBindUnlink=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
];

/// Runs `ssh`, with a program on the other machine that ends with its input, and tidies up.
///
/// Where the user's ssh shares one connection (`ControlMaster`), that one forwards, and goes on
/// until it is told; without one that fails at once.
const SCRIPT: &str = r#"ssh=$1 directory=$2; shift 2
"$ssh" "$@" cat
"$ssh" -O cancel "$@" 2>/dev/null
rm -rf "$directory""#;

/// The way to one engine.
#[derive(Debug)]
pub(super) struct Tunnel {
    address: SshAddress,
    running: Mutex<Option<Ssh>>,
}

/// A running `ssh`, whose socket lies in a directory that only this user can enter. It ends when
/// this value is dropped or this process is killed, since the pipe that it reads does.
#[derive(Debug)]
struct Ssh {
    directory: PathBuf,
    child: duct::Handle,
    said: File,
    _alive: PipeWriter,
}

impl Tunnel {
    pub(super) fn new(address: SshAddress) -> Self {
        Self {
            address,
            running: Mutex::default(),
        }
    }

    /// # Errors
    /// `ssh`'s, with its last words.
    pub(super) async fn connect(&self) -> io::Result<UnixStream> {
        let mut running = self.running.lock().await;
        if let Some(ssh) = &*running
            && let Ok(stream) = UnixStream::connect(ssh.socket()).await
        {
            return Ok(stream);
        }
        let address = self.address.clone();
        let started = tokio::task::spawn_blocking(move || Ssh::start(&address)).await?;
        let ssh = running.insert(started?);
        UnixStream::connect(ssh.socket()).await
    }

    /// Returns why `ssh` carried nothing, where it said so.
    pub(super) async fn last_words(&self) -> Option<String> {
        let running = self.running.lock().await;
        let ssh = running.as_ref()?;
        let said = ssh.last_line()?;
        if matches!(ssh.child.try_wait(), Ok(Some(_))) {
            return Some(said);
        }
        said.contains("open failed").then(|| {
            let socket = remote_socket(&self.address).display();
            format!("ssh is connected, but {socket} can't be reached there ({said})")
        })
    }
}

impl Ssh {
    fn start(address: &SshAddress) -> io::Result<Self> {
        let program = address.program.clone().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "there is no `ssh` on the PATH")
        })?;
        // 0700; a socket's path may not be longer than 104 bytes, so not under a deep one.
        let directory = tempfile::Builder::new()
            .prefix("lazaret-ssh-")
            .tempdir_in("/tmp")?;
        let (input, alive) = io::pipe()?;
        let said = tempfile::tempfile()?;
        let mut arguments: Vec<OsString> = ["-c", SCRIPT, "sh"].map(OsString::from).to_vec();
        arguments.extend([program.into(), directory.path().into()]);
        arguments.extend(arguments_of(address, directory.path()));
        let child = duct::cmd("/bin/sh", arguments)
            .stdin_file(input)
            .stdout_null()
            .stderr_file(said.try_clone()?)
            .unchecked()
            // Ctrl-C is for the command, whose results still have to come through here.
            .before_spawn(|command| {
                command.process_group(0);
                Ok(())
            })
            .start()?;
        let ssh = Self {
            directory: directory.keep(),
            child,
            said,
            _alive: alive,
        };
        ssh.wait_until_it_forwards()?;
        Ok(ssh)
    }

    fn wait_until_it_forwards(&self) -> io::Result<()> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if std::os::unix::net::UnixStream::connect(self.socket()).is_ok() {
                return Ok(());
            }
            if self.child.try_wait()?.is_some() {
                let said = self.last_line();
                let said = said.unwrap_or_else(|| "ssh: it ended at once".to_owned());
                return Err(io::Error::other(said));
            }
            if Instant::now() > deadline {
                let said = self.last_line();
                let said = said.unwrap_or_else(|| "ssh: it does not forward".to_owned());
                return Err(io::Error::new(io::ErrorKind::TimedOut, said));
            }
            std::thread::sleep(TICK);
        }
    }

    fn socket(&self) -> PathBuf {
        socket(&self.directory)
    }

    /// Returns the last line that it wrote, which begins with `ssh: `.
    fn last_line(&self) -> Option<String> {
        let mut said = vec![0; MOST_SAID];
        let length = self.said.read_at(&mut said, 0).ok()?;
        said.truncate(length);
        let said = String::from_utf8_lossy(&said);
        let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.next_back()?;
        Some(match line.starts_with("ssh: ") {
            true => line.to_owned(),
            false => format!("ssh: {line}"),
        })
    }
}

/// Returns what both calls of `ssh` have in common.
fn arguments_of(address: &SshAddress, directory: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-T".into()];
    for option in OPTIONS {
        arguments.extend(["-o".into(), option.into()]);
    }
    if let Some(user) = &address.user {
        arguments.extend(["-l".into(), user.into()]);
    }
    if let Some(port) = address.port {
        arguments.extend(["-p".into(), port.to_string().into()]);
    }
    let mut forward = socket(directory).into_os_string();
    forward.push(":");
    forward.push(remote_socket(address));
    arguments.extend(["-L".into(), forward]);
    let host = address.host.trim_start_matches('[').trim_end_matches(']');
    arguments.extend(["--".into(), host.into()]);
    arguments
}

fn remote_socket(address: &SshAddress) -> &Path {
    address.socket.as_deref().unwrap_or(Path::new(SOCKET))
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("engine.sock")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// An `ssh` that forwards by a link to a socket that is there, and writes down how it was
    /// called.
    const SSH: &str = r#"#!/bin/sh
here=${0%/*}
echo "$*" >> "$here/calls"
case $* in *"-O cancel"*) exit;; esac
for argument; do case $argument in /*:/*) ln -s "$here/engine" "${argument%%:*}";; esac; done
exec cat
"#;

    struct Far {
        directory: tempfile::TempDir,
        engine: UnixListener,
    }

    impl Far {
        fn new(script: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let ssh = directory.path().join("ssh");
            std::fs::write(&ssh, script).unwrap();
            std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
            let engine = UnixListener::bind(directory.path().join("engine")).unwrap();
            Self { directory, engine }
        }

        fn tunnel(&self, address: &str) -> Tunnel {
            let crate::Endpoint::Ssh(address) = address.parse().unwrap() else {
                panic!("{address}");
            };
            Tunnel::new(SshAddress {
                program: Some(self.directory.path().join("ssh")),
                ..address
            })
        }

        fn calls(&self) -> Vec<String> {
            let calls = std::fs::read_to_string(self.directory.path().join("calls")).unwrap();
            calls.lines().map(str::to_owned).collect()
        }
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(work)
    }

    /// Waits for what another process does.
    #[track_caller]
    fn until(mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + START_LIMIT;
        while !done() {
            assert!(Instant::now() < deadline, "it did not come to that");
            std::thread::sleep(TICK);
        }
    }

    #[test]
    fn one_ssh_serves_all_requests_and_ends_with_its_user() {
        let far = Far::new(SSH);
        let tunnel = far.tunnel("ssh://me@[::1]:2222/run/e.sock");
        let directory = block_on(async {
            for _ in 0..3 {
                drop(tunnel.connect().await.unwrap());
            }
            tunnel
                .running
                .lock()
                .await
                .as_ref()
                .unwrap()
                .directory
                .clone()
        });
        drop(far.engine.accept().unwrap());
        assert_eq!(far.calls().len(), 1, "{:?}", far.calls());
        let expected = format!(
            "-l me -p 2222 -L {}/engine.sock:/run/e.sock -- ::1 cat",
            directory.display()
        );
        assert!(far.calls()[0].ends_with(&expected), "{:?}", far.calls());
        assert!(far.calls()[0].contains("-o BatchMode=yes "));
        drop(tunnel);
        until(|| !directory.exists());
        assert!(
            far.calls()[1].starts_with("-O cancel -T "),
            "{:?}",
            far.calls()
        );
    }

    #[test]
    fn one_that_is_gone_is_started_again() {
        let far = Far::new(SSH);
        let tunnel = far.tunnel("ssh://h");
        block_on(async {
            drop(tunnel.connect().await.unwrap());
            let directory = {
                let mut running = tunnel.running.lock().await;
                let ssh = running.as_mut().unwrap();
                // As a connection that breaks: the far end of the pipe.
                ssh._alive = io::pipe().unwrap().1;
                ssh.directory.clone()
            };
            until(|| !directory.exists());
            drop(tunnel.connect().await.unwrap());
        });
        let starts = far
            .calls()
            .iter()
            .filter(|call| call.ends_with(" cat"))
            .count();
        assert_eq!(starts, 2);
    }

    #[test]
    fn what_it_says_last_is_the_error() {
        for (script, expected) in [
            (
                "#!/bin/sh\necho noise >&2; echo 'Host key verification failed.' >&2; exit 255",
                "ssh: Host key verification failed.",
            ),
            (
                "#!/bin/sh\necho 'ssh: Could not resolve hostname h' >&2; exit 255",
                "ssh: Could not resolve hostname h",
            ),
            ("#!/bin/sh\nexit 255", "ssh: it ended at once"),
        ] {
            let far = Far::new(script);
            let error = block_on(far.tunnel("ssh://h").connect()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_socket_that_is_not_there_is_told_from_a_host_that_is_not() {
        let script = SSH.replace("exec cat", "echo 'channel 2: open failed: x' >&2; exec cat");
        let far = Far::new(&script);
        let tunnel = far.tunnel("ssh://h");
        let said = block_on(async {
            drop(tunnel.connect().await.unwrap());
            until(|| far.calls().len() == 1);
            loop {
                if let Some(said) = tunnel.last_words().await {
                    return said;
                }
            }
        });
        assert_eq!(
            said,
            "ssh is connected, but /var/run/docker.sock can't be reached there (ssh: channel 2: \
             open failed: x)"
        );
    }
}

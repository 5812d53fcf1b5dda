//! The engines that are measured, and the command line of each.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use xshell::{Cmd, Shell};

use xtask::engines::machine::{Authority, Machine};
use xtask::engines::ping;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EngineName {
    Docker,
    Podman,
    PodmanRootless,
}

impl EngineName {
    pub(super) const ALL: [Self; 3] = [Self::Docker, Self::Podman, Self::PodmanRootless];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::PodmanRootless => "podman-rootless",
        }
    }

    /// The program that users of this engine type.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman | Self::PodmanRootless => "podman",
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EngineName {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
        found.with_context(|| {
            format!("there is no engine `{text}`: name docker, podman or podman-rootless")
        })
    }
}

/// An engine that answers, and how its own command line is called.
#[derive(Clone, Debug)]
pub(super) struct Cli {
    pub(super) name: EngineName,
    /// Where it listens.
    pub(super) socket: PathBuf,
    /// What stands before the program: nothing, or a change of user.
    prefix: Vec<String>,
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Whose files it may read and write, where that is another user.
    pub(super) owner: Option<(u32, u32)>,
}

impl Cli {
    /// `None` where the engine does not answer.
    ///
    /// # Errors
    /// When it answers and its command line is missing.
    pub(super) fn find(machine: &Machine, name: EngineName) -> Result<Option<Self>> {
        let socket = match name {
            EngineName::Docker => Some(machine.docker_socket()),
            EngineName::Podman => Some(machine.podman_socket()),
            EngineName::PodmanRootless => machine.rootless_socket(),
        };
        let Some(socket) = socket.filter(|socket| ping::answers(socket)) else {
            return Ok(None);
        };
        if name == EngineName::Podman && machine.authority != Authority::Root {
            bail!("only root can measure rootful Podman: leave it out by --engine");
        }
        let mut cli = Self {
            name,
            socket: socket.to_owned(),
            prefix: Vec::new(),
            program: name.program().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            owner: None,
        };
        let mut settings = machine.state.join("containers.conf");
        if name == EngineName::Docker {
            cli.env("DOCKER_HOST", format!("unix://{}", socket.display()));
        }
        if name == EngineName::PodmanRootless {
            settings = cli.become_rootless(machine)?;
        }
        // The settings of the services that `cargo xtask setup` starts.
        if name != EngineName::Docker && settings.exists() {
            cli.env("CONTAINERS_CONF", settings.display().to_string());
        }
        Ok(Some(cli))
    }

    /// Returns where the settings of this user's service would be.
    fn become_rootless(&mut self, machine: &Machine) -> Result<PathBuf> {
        let account = machine.rootless.account.as_ref().context("no account")?;
        let settings = account.home.join(".config/lazaret/containers.conf");
        if settings.exists() {
            // As `cargo xtask setup` starts the service.
            self.arguments.push("--storage-driver=overlay".to_owned());
        }
        if machine.authority == Authority::Root {
            self.prefix = vec![
                "setpriv".to_owned(),
                format!("--reuid={}", account.uid),
                format!("--regid={}", account.gid),
                "--init-groups".to_owned(),
            ];
            self.owner = Some((account.uid, account.gid));
            let runtime = machine.runtime_dir().context("no account")?;
            self.env("HOME", account.home.display().to_string());
            self.env("XDG_RUNTIME_DIR", runtime.display().to_string());
        }
        Ok(settings)
    }

    fn env(&mut self, name: &str, value: String) {
        self.environment.push((name.to_owned(), value));
    }

    /// A call of the engine's program, as its user types it.
    pub(super) fn cmd<'a>(&self, sh: &'a Shell) -> Cmd<'a> {
        self.any(sh, &self.program).args(&self.arguments)
    }

    /// A call of any program as the engine's user.
    pub(super) fn any<'a>(&self, sh: &'a Shell, program: &str) -> Cmd<'a> {
        let mut line = self.prefix.iter().map(String::as_str).chain([program]);
        let first = line.next().unwrap_or(program);
        let cmd = sh.cmd(first).args(line);
        cmd.envs(self.environment.iter().cloned()).quiet()
    }
}

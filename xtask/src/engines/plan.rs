//! What has to be done until the three engines answer, as a list that can be shown first.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::machine::{Authority, Init, Machine, PodmanNeeds, SSH_SERVER};
use super::ping;

/// How many subordinate ids a rootless user gets: the usual range.
pub(super) const SUBIDS: u32 = 65_536;
pub(super) const TUN: &str = "/dev/net/tun";

/// One thing to do. The order of [`plan`] is the order in which they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Install(Vec<&'static str>),
    CreateUser(String),
    AddSubids(String),
    OpenTun,
    StartDocker(Init),
    StartPodman(Init),
    StartRootless(Init),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = |init: &Init| match init {
            Init::Systemd => "by systemd",
            Init::None => "as a background process",
        };
        match self {
            Self::Install(packages) => {
                write!(f, "install Debian packages: {}", packages.join(" "))?;
                match packages.contains(&SSH_SERVER) {
                    true => f.write_str(", whose server is not started"),
                    false => Ok(()),
                }
            }
            Self::CreateUser(name) => {
                write!(
                    f,
                    "create the unprivileged user `{name}`, for rootless Podman"
                )
            }
            Self::AddSubids(name) => {
                write!(
                    f,
                    "give `{name}` a range of {SUBIDS} subordinate user and group ids"
                )
            }
            Self::OpenTun => write!(
                f,
                "make {TUN} usable for every user (network of rootless Podman)"
            ),
            Self::StartDocker(init) => write!(f, "start dockerd {}", how(init)),
            Self::StartPodman(init) => write!(f, "start Podman's service for root {}", how(init)),
            Self::StartRootless(init) => {
                write!(
                    f,
                    "start Podman's service for the unprivileged user {}",
                    how(init)
                )
            }
        }
    }
}

/// The steps that this machine still needs. Empty when all three engines answer.
pub(crate) fn plan(machine: &Machine) -> Vec<Step> {
    let docker = ping::answers(&machine.docker_socket());
    let podman = ping::answers(&machine.podman_socket());
    let rootless = machine
        .rootless_socket()
        .is_some_and(|socket| ping::answers(&socket));
    // A unit of systemd can't be given the settings that this machine needs.
    let podman_init = match machine.podman == PodmanNeeds::default() {
        true => machine.init,
        false => Init::None,
    };

    let mut steps = Vec::new();
    if !machine.missing.is_empty() {
        steps.push(Step::Install(
            machine
                .missing
                .iter()
                .map(|(_, package)| *package)
                .collect(),
        ));
    }
    if !docker {
        steps.push(Step::StartDocker(machine.init));
    }
    // Its socket is root's alone: an ordinary user could not use what was started.
    if !podman && machine.authority == Authority::Root {
        steps.push(Step::StartPodman(podman_init));
    }
    if !rootless {
        if machine.rootless.account.is_none() {
            steps.push(Step::CreateUser(machine.rootless.name.clone()));
        }
        if !machine.rootless.has_subids {
            steps.push(Step::AddSubids(machine.rootless.name.clone()));
        }
        if !tun_is_open() {
            steps.push(Step::OpenTun);
        }
        steps.push(Step::StartRootless(podman_init));
    }
    steps
}

impl Step {
    /// True when the caller may do it, by sudo or not.
    pub(crate) fn may(&self, authority: Authority) -> bool {
        match (authority, self) {
            (Authority::Root, _) | (_, Self::StartRootless(_)) => true,
            // A daemon in the background of sudo would not be ours to end.
            (_, Self::StartDocker(Init::None) | Self::StartPodman(_)) => false,
            (Authority::Sudo, _) => true,
            (Authority::User, _) => false,
        }
    }
}

fn tun_is_open() -> bool {
    fs::metadata(TUN).is_ok_and(|tun| tun.permissions().mode() & 0o006 == 0o006)
}

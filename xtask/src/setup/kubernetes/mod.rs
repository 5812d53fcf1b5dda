//! `cargo xtask setup --kubernetes`: a cluster of one node or two on this machine, and down again.
//!
//! [`programs`] makes the programs from Debian's packages, [`start`] brings a cluster up, [`trace`]
//! says what is there and takes it down. Everything of a cluster is below one directory ([`home`])
//! and one cgroup ([`cgroups`]), so that an interrupted command leaves nothing that `--down` misses.

mod cgroups;
mod control_plane;
mod daemons;
mod home;
mod network;
mod node;
mod pause;
mod pki;
mod programs;
mod sources;
mod start;
mod trace;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::Shell;

use super::{Action, consent};
use crate::engines::machine::{Authority, Machine, find};
use crate::engines::plan;
use crate::section::Section;
use cgroups::Cgroups;
use home::{Home, VERSION};
use node::{Node, NodeCount, PAUSE_IMAGE};
use trace::{Logs, Trace};

const COMMAND: &str = "cargo xtask setup --kubernetes";

/// `sun_path` of unix(7), without its last zero.
const SOCKET_PATH: usize = 107;

/// Programs of the system that a cluster needs, and the Debian package that brings each.
const PROGRAMS: [(&str, &str); 7] = [
    ("apt-get", "apt"),
    ("dpkg-source", "dpkg-dev"),
    ("ip", "iproute2"),
    ("mount", "mount"),
    ("nsenter", "util-linux"),
    ("openssl", "openssl"),
    ("setsid", "util-linux"),
];

/// One thing to do. The order of [`Plan::steps`] is the order in which they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Install(Vec<&'static str>),
    RemoveRest,
    MakePrograms,
    Start(NodeCount),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Install(packages) => {
                write!(f, "install Debian packages: {}", packages.join(" "))
            }
            Self::RemoveRest => write!(f, "take down what an earlier start left"),
            Self::MakePrograms => write!(
                f,
                "build Kubernetes {VERSION} from Debian's source package, once: 5 to 12 minutes, \
                 3 GB of disk meanwhile"
            ),
            Self::Start(count) => write!(f, "start a cluster of {count}"),
        }
    }
}

/// What `setup --kubernetes` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// None takes what runs, or one node.
    nodes: Option<NodeCount>,
}

impl Request {
    pub(super) fn parse(nodes: Option<u32>) -> Result<Self> {
        let nodes = nodes.map(NodeCount::parse).transpose()?;
        Ok(Self { nodes })
    }

    pub(super) fn run(self, sh: &Shell, action: Action) -> Result<()> {
        let mut machine = Machine::inspect(sh)?;
        let home = Home::of(&machine);
        let cgroups = Cgroups::of(&home)?;
        match action {
            Action::Down => down(sh, &home, &cgroups),
            Action::DryRun => {
                show(&home, &self.plan(&machine, &home, &cgroups)?);
                Ok(())
            }
            Action::Up(consent) => {
                let steps = self.plan(&machine, &home, &cgroups)?;
                if !steps.is_empty() {
                    show(&home, &steps);
                    refuse_unable(&machine, &home)?;
                    consent.obtain()?;
                    self.up(sh, &mut machine, &home, &cgroups)?;
                }
                report(sh, &home);
                Ok(())
            }
        }
    }

    /// The steps that are left. Empty when the cluster is up.
    fn plan(self, machine: &Machine, home: &Home, cgroups: &Cgroups) -> Result<Vec<Step>> {
        trace::refuse_foreign(cgroups)?;
        let mut steps = Vec::new();
        match Trace::of(home, cgroups) {
            Trace::Cluster(count) if self.nodes.is_none_or(|wanted| wanted == count) => {
                return Ok(steps);
            }
            Trace::Cluster(count) => {
                bail!("a cluster of {count} runs. Take it down first: `{COMMAND} --down`")
            }
            Trace::Rest => steps.push(Step::RemoveRest),
            Trace::Nothing => {}
        }
        let missing = missing(&machine.path);
        if !missing.is_empty() {
            steps.push(Step::Install(missing));
        }
        if !programs::are_there(home) {
            steps.push(Step::MakePrograms);
        }
        steps.push(Step::Start(self.nodes.unwrap_or(NodeCount::One)));
        Ok(steps)
    }

    fn up(self, sh: &Shell, machine: &mut Machine, home: &Home, cgroups: &Cgroups) -> Result<()> {
        let _lock = trace::lock(home)?;
        for step in self.plan(machine, home, cgroups)? {
            let outcome = match &step {
                Step::Install(packages) => {
                    let _section = Section::new(sh, &step.to_string());
                    plan::Step::Install(packages.clone()).run(sh, machine)
                }
                Step::RemoveRest => trace::remove(sh, home, cgroups, Logs::Remove).map(|_| ()),
                Step::MakePrograms => {
                    cgroups.create()?;
                    programs::make(sh, home, cgroups)
                }
                Step::Start(count) => {
                    cgroups.create()?;
                    start::start(sh, home, cgroups, *count)
                }
            };
            if let Err(error) = outcome {
                // Half a cluster would only be in the way of the next try.
                trace::remove(sh, home, cgroups, Logs::Keep)?;
                return Err(error);
            }
        }
        Ok(())
    }
}

fn down(sh: &Shell, home: &Home, cgroups: &Cgroups) -> Result<()> {
    if Trace::of(home, cgroups) == Trace::Nothing {
        eprintln!("nothing to take down: no cluster was started by `{COMMAND}`");
        return Ok(());
    }
    let _lock = trace::lock(home)?;
    let removed = trace::remove(sh, home, cgroups, Logs::Remove)?;
    eprintln!(
        "took the cluster down: ended {} processes",
        removed.processes
    );
    if programs::are_there(home) {
        eprintln!("kept for the next one: {}", home.programs().display());
    }
    Ok(())
}

fn missing(path: &str) -> Vec<&'static str> {
    let mut packages: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| find(path, program).is_none())
        .map(|(_, package)| *package)
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Nothing is begun that can't be finished.
fn refuse_unable(machine: &Machine, home: &Home) -> Result<()> {
    let os_release = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    if !is_debian_12(&os_release) {
        bail!(
            "cannot build Kubernetes: only Debian 12 has the source package of {VERSION} and the \
             compiler that builds it"
        );
    }
    let socket = Node::FIRST.runtime_socket(home);
    if socket.as_os_str().len() > SOCKET_PATH {
        bail!(
            "cannot listen on `{}`: a socket's path has at most {SOCKET_PATH} bytes. \
             Set XDG_STATE_HOME to a shorter path",
            socket.display()
        );
    }
    match machine.authority {
        Authority::Root => Ok(()),
        Authority::Sudo | Authority::User => {
            bail!("only root can start a cluster; run `{COMMAND}` as root")
        }
    }
}

fn is_debian_12(os_release: &str) -> bool {
    let has = |wanted: &str| os_release.lines().any(|line| line == wanted);
    has("ID=debian") && has("VERSION_ID=\"12\"")
}

fn show(home: &Home, steps: &[Step]) {
    match steps.is_empty() {
        true => eprintln!("Nothing to do: the cluster is up."),
        false => {
            consent::show(COMMAND, steps);
            eprintln!("Everything is in {}.", home.dir.display());
        }
    }
}

fn report(sh: &Shell, home: &Home) {
    let [kubectl, config] = [home.kubectl(), home.kubeconfig()].map(shown);
    let nodes = start::kubectl(sh, home).args(["get", "nodes"]).read();
    eprintln!("\n{}", nodes.unwrap_or_else(|error| error.to_string()));
    eprintln!("Kubeconfig: {config}");
    eprintln!("Try:");
    eprintln!("  {kubectl} --kubeconfig {config} get nodes");
    eprintln!(
        "  {kubectl} --kubeconfig {config} run hello --image {PAUSE_IMAGE} \
         --image-pull-policy Never"
    );
    let socket = shown(Node::FIRST.runtime_socket(home));
    let ctr = shown(home.programs().join("bin/ctr"));
    eprintln!("  {ctr} --address {socket} --namespace k8s.io images import IMAGE.tar");
    eprintln!("Down again: {COMMAND} --down");
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_release_with_the_packages_is_taken() {
        assert!(is_debian_12("ID=debian\nVERSION_ID=\"12\"\n"));
        assert!(!is_debian_12("ID=debian\nVERSION_ID=\"13\"\n"));
        assert!(!is_debian_12("ID=ubuntu\nVERSION_ID=\"12\"\n"));
    }

    #[test]
    fn a_package_is_asked_for_once() {
        let packages = missing("/nowhere");
        assert!(packages.contains(&"dpkg-dev"));
        let count = packages
            .iter()
            .filter(|name| **name == "util-linux")
            .count();
        assert_eq!(count, 1);
    }
}

//! What a cluster leaves on the machine, and how to remove it.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use xshell::Shell;

use super::cgroups::Cgroups;
use super::daemons::{self, Daemon, State};
use super::home::{Home, link_of_cgroup};
use super::network;
use super::node::{Node, NodeCount};
use super::programs;
use crate::engines::service::create_private;

/// What is there of the cluster of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// Nothing that `down` would end or remove.
    Nothing,
    /// A start was interrupted, or a process ended.
    Rest,
    Cluster(NodeCount),
}

impl Trace {
    pub(super) fn of(home: &Home, cgroups: &Cgroups) -> Self {
        let daemons = daemons::recorded(home);
        let is_complete = home.kubeconfig().exists() && daemons.iter().all(runs);
        match (is_complete, count(&daemons)) {
            (true, Some(count)) => Self::Cluster(count),
            _ if cgroups.exist() || !files(home, Logs::Remove).is_empty() => Self::Rest,
            _ => Self::Nothing,
        }
    }
}

fn runs(daemon: &Daemon) -> bool {
    daemon.state == State::Runs
}

fn count(daemons: &[Daemon]) -> Option<NodeCount> {
    let has = |node: Node| {
        daemons
            .iter()
            .any(|daemon| daemon.name == node.kubelet_name())
    };
    match (has(Node::FIRST), has(Node::SECOND)) {
        (true, true) => Some(NodeCount::Two),
        (true, false) => Some(NodeCount::One),
        (false, _) => None,
    }
}

/// What becomes of the logs of a cluster that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logs {
    /// An error names them.
    Keep,
    Remove,
}

/// Files of a home that are not kept for the next cluster.
fn files(home: &Home, logs: Logs) -> Vec<PathBuf> {
    let mut kept = vec![home.dir.join("programs"), home.lock()];
    if logs == Logs::Keep {
        kept.push(home.logs());
    }
    let entries = fs::read_dir(&home.dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| !kept.contains(path)).collect()
}

/// Refuses while the cluster of another home has a process: both would use the same addresses.
pub(super) fn refuse_foreign(cgroups: &Cgroups) -> Result<()> {
    let Some(cgroup) = cgroups.living_foreign()?.into_iter().next() else {
        return Ok(());
    };
    let alias = link_of_cgroup(&cgroup).and_then(|link| network::alias(&link));
    let Some(dir) = alias.filter(|alias| !alias.is_empty()) else {
        bail!("another cluster is being started here (cgroup `{cgroup}`): try again later");
    };
    let state = dir.strip_suffix("/lazaret/kubernetes").unwrap_or(&dir);
    bail!(
        "another cluster runs on this machine, in `{dir}`. Take it down first:\n  \
         XDG_STATE_HOME={state} cargo xtask setup --kubernetes --down"
    )
}

/// Keeps every other setup of this home away until it is dropped.
pub(super) fn lock(home: &Home) -> Result<File> {
    create_private(&home.dir)?;
    let lock = File::create(home.lock()).context("the lock of the state directory")?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another `cargo xtask setup --kubernetes`");
            lock.lock().context("the lock of the state directory")?;
        }
        Err(TryLockError::Error(error)) => return Err(error).context("lock the state directory"),
    }
    Ok(lock)
}

/// What was taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Removed {
    pub(super) processes: usize,
}

/// Ends every process of the cluster and removes what it left. The programs stay.
///
/// Mounts and namespaces are the processes' own, so the kernel removes them.
pub(super) fn remove(sh: &Shell, home: &Home, cgroups: &Cgroups, logs: Logs) -> Result<Removed> {
    let processes = cgroups.kill()?;
    cgroups.remove()?;
    network::part_from_host(sh, home)?;
    programs::remove_build(home)?;
    for path in files(home, logs) {
        match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        }
        .with_context(|| format!("remove `{}`", path.display()))?;
    }
    Ok(Removed { processes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_nodes_is_that_of_the_kubelets() {
        let daemon = |name: &str| Daemon {
            name: name.to_owned(),
            state: State::Runs,
        };
        let mut daemons = vec![daemon("etcd")];
        assert_eq!(count(&daemons), None);
        daemons.push(daemon("kubelet-1"));
        assert_eq!(count(&daemons), Some(NodeCount::One));
        daemons.push(daemon("kubelet-2"));
        assert_eq!(count(&daemons), Some(NodeCount::Two));
    }
}

//! Where a cluster keeps its files, and the names by which the rest of it is found.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::engines::machine::Machine;

/// The release that the settings of this module are written for: Debian 12's.
pub(super) const VERSION: &str = "1.20.2";

/// Where a node's mount namespace shows the cluster's directory.
pub(super) const INSIDE: &str = "/run/cluster";

/// What the names of cgroups begin with.
pub(super) const CGROUP_PREFIX: &str = "lazaret-kubernetes-";
/// What the names of links begin with; at most 15 bytes with the tag (`IFNAMSIZ`).
const LINK_PREFIX: &str = "lzk-";

/// The directory of one cluster.
///
/// Cgroups and links are named by a tag of its path, so that two state directories never take
/// each other's cluster for their own.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) dir: PathBuf,
    tag: String,
}

impl Home {
    pub(super) fn of(machine: &Machine) -> Self {
        let state = machine.state.parent().unwrap_or(&machine.state);
        let state = fs::canonicalize(state).unwrap_or_else(|_| state.to_owned());
        Self::at(state.join("kubernetes"))
    }

    pub(super) fn at(dir: PathBuf) -> Self {
        let digest = Sha256::digest(dir.as_os_str().as_encoded_bytes());
        let tag = digest[..4].iter().map(|byte| format!("{byte:02x}"));
        Self {
            tag: tag.collect(),
            dir,
        }
    }

    /// The cgroup below which every process of the cluster runs, in each hierarchy.
    pub(super) fn cgroup(&self) -> String {
        format!("{CGROUP_PREFIX}{}", self.tag)
    }

    /// The host's end of the link by which clients reach the API server.
    pub(super) fn link(&self) -> String {
        format!("{LINK_PREFIX}{}", self.tag)
    }

    /// Written last, so a cluster that has it was complete once.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// Programs and the pause image; `down` leaves them there.
    pub(super) fn programs(&self) -> PathBuf {
        self.dir.join("programs").join(VERSION)
    }

    pub(super) fn kubectl(&self) -> PathBuf {
        self.programs().join("bin/kubectl")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub(super) fn records(&self) -> PathBuf {
        self.dir.join("records")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub(super) fn pki(&self) -> PathBuf {
        self.dir.join("pki")
    }
}

/// Names the link of the cluster that has this cgroup.
pub(super) fn link_of_cgroup(cgroup: &str) -> Option<String> {
    let tag = cgroup.strip_prefix(CGROUP_PREFIX)?;
    Some(format!("{LINK_PREFIX}{tag}"))
}

/// Path of a file of the cluster in its nodes.
pub(super) fn inside(relative: impl AsRef<Path>) -> String {
    Path::new(INSIDE).join(relative).display().to_string()
}

/// Path of a program in the nodes.
pub(super) fn program(name: &str) -> String {
    inside(format!("programs/{VERSION}/bin/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_state_directories_have_names_of_their_own() {
        let [one, two] = ["/a/kubernetes", "/b/kubernetes"].map(|dir| Home::at(dir.into()));
        assert_ne!(one.cgroup(), two.cgroup());
        assert_eq!(one.cgroup(), Home::at("/a/kubernetes".into()).cgroup());
        assert_eq!(link_of_cgroup(&one.cgroup()), Some(one.link()));
    }

    #[test]
    fn the_kernel_takes_the_name_of_the_link() {
        assert!(Home::at("/a".into()).link().len() <= 15);
    }
}

//! The cgroups of a cluster: they bound its pods, and they say which processes are its own.
//!
//! Every process of a cluster runs below one directory, and children inherit it. So `down` finds
//! them all without a record, and never finds one that belongs to others.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;

use super::home::{CGROUP_PREFIX, Home};
use super::node::Node;
use crate::engines::service;

/// How long killed processes may take to be gone.
const END: Duration = Duration::from_secs(30);

/// The cgroup of etcd, the API server, the kubelets and the rest, beside those of the nodes.
const DAEMONS: &str = "daemons";

/// One directory in every hierarchy.
#[derive(Clone, Debug)]
pub(super) struct Cgroups {
    hierarchies: Vec<Hierarchy>,
    name: String,
}

/// A mounted hierarchy: one of version 1's, or version 2's only one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    V2,
    /// Of version 1 and made for tracking processes.
    Named,
    V1,
}

impl Cgroups {
    pub(super) fn of(home: &Home) -> Result<Self> {
        Ok(Self {
            hierarchies: mounted()?,
            name: home.cgroup(),
        })
    }

    /// Names of other clusters that have a process.
    pub(super) fn living_foreign(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.members().mount)?.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let other = Self {
                name,
                ..self.clone()
            };
            if other.name.starts_with(CGROUP_PREFIX)
                && other.name != self.name
                && !other.processes().is_empty()
            {
                names.push(other.name);
            }
        }
        Ok(names)
    }

    /// True while a process or a directory is left.
    pub(super) fn exist(&self) -> bool {
        self.roots().any(|root| root.is_dir())
    }

    /// Creates the cgroup of the daemons.
    pub(super) fn create(&self) -> Result<()> {
        create(&self.members().mount, &[&self.name, DAEMONS])
    }

    /// Creates the cgroup of a node's pods in every hierarchy, which the kubelet asks for.
    pub(super) fn create_node(&self, node: Node) -> Result<()> {
        for hierarchy in &self.hierarchies {
            create(&hierarchy.mount, &[&self.name, &node.name()])?;
        }
        Ok(())
    }

    /// A process that writes `0` into this file is the cluster's from then on.
    pub(super) fn entrance(&self) -> PathBuf {
        let daemons = self.members().mount.join(&self.name).join(DAEMONS);
        daemons.join("cgroup.procs")
    }

    /// Pids of the cluster, in any hierarchy.
    pub(super) fn processes(&self) -> Vec<i32> {
        let mut pids: Vec<i32> = self
            .roots()
            .flat_map(|root| below(&root))
            .filter_map(|dir| fs::read_to_string(dir.join("cgroup.procs")).ok())
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|line| line.parse().ok())
            .collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Kills every process, and those that were forked meanwhile.
    pub(super) fn kill(&self) -> Result<usize> {
        let count = self.processes().len();
        let are_gone = service::wait_until(END, || {
            let pids = self.processes();
            // A frozen process does not see a signal before it is thawed.
            for dir in self.roots().flat_map(|root| below(&root)) {
                thaw(&dir);
            }
            // One that may not be signalled is reported when the time is over.
            let _outcome = service::signal(&pids, Signal::KILL);
            pids.is_empty()
        });
        match are_gone {
            true => Ok(count),
            false => bail!(
                "cannot end processes {:?}: they are there {} s after SIGKILL",
                self.processes(),
                END.as_secs()
            ),
        }
    }

    /// Removes the directories, after [`Cgroups::kill`].
    pub(super) fn remove(&self) -> Result<()> {
        for root in self.roots() {
            for dir in below(&root).iter().rev() {
                // The kernel lets go of a cgroup a moment after its last process.
                let is_gone = service::wait_until(END, || match fs::remove_dir(dir) {
                    Ok(()) => true,
                    Err(error) => error.kind() == ErrorKind::NotFound,
                });
                if !is_gone {
                    bail!("cannot remove `{}`: it is in use", dir.display());
                }
            }
        }
        Ok(())
    }

    fn roots(&self) -> impl Iterator<Item = PathBuf> {
        self.hierarchies
            .iter()
            .map(|hierarchy| hierarchy.mount.join(&self.name))
    }

    /// The hierarchy in which the daemons are kept together.
    fn members(&self) -> &Hierarchy {
        self.hierarchies
            .iter()
            .min_by_key(|hierarchy| hierarchy.kind)
            .expect("a machine without hierarchies was refused")
    }
}

fn mounted() -> Result<Vec<Hierarchy>> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    let hierarchies = parse(&mounts);
    match hierarchies.is_empty() {
        true => bail!("no cgroup hierarchy is mounted: mount one at /sys/fs/cgroup"),
        false => Ok(hierarchies),
    }
}

fn parse(mounts: &str) -> Vec<Hierarchy> {
    let hierarchy = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let kind = match (*fields.get(2)?, *fields.get(3)?) {
            ("cgroup2", _) => Kind::V2,
            ("cgroup", options) if options.contains("name=") => Kind::Named,
            ("cgroup", _) => Kind::V1,
            _ => return None,
        };
        let mount = PathBuf::from(fields[1]);
        Some(Hierarchy { mount, kind })
    };
    mounts.lines().filter_map(hierarchy).collect()
}

/// Creates a directory below `mount`, step by step.
fn create(mount: &Path, steps: &[&str]) -> Result<()> {
    let mut dir = mount.to_owned();
    for step in steps {
        pass_controllers_on(&dir)?;
        let parent = dir.clone();
        dir.push(step);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("create `{}`", dir.display()));
            }
            _ => copy_cpuset(&parent, &dir)?,
        }
    }
    Ok(())
}

/// Version 2: a child has only the controllers that its parent passes on.
fn pass_controllers_on(dir: &Path) -> Result<()> {
    let controllers = fs::read_to_string(dir.join("cgroup.controllers")).unwrap_or_default();
    let file = dir.join("cgroup.subtree_control");
    let passed = fs::read_to_string(&file).unwrap_or_default();
    for controller in controllers.split_whitespace() {
        if passed.split_whitespace().all(|name| name != controller) {
            fs::write(&file, format!("+{controller}"))
                .with_context(|| format!("pass `{controller}` on in `{}`", dir.display()))?;
        }
    }
    Ok(())
}

/// Version 1: a cpuset without processors or memory takes no process.
fn copy_cpuset(parent: &Path, dir: &Path) -> Result<()> {
    for name in ["cpuset.cpus", "cpuset.mems"] {
        let is_empty = |text: String| text.trim().is_empty();
        let is_v1 = dir.join("cpuset.cpu_exclusive").exists();
        if is_v1 && fs::read_to_string(dir.join(name)).is_ok_and(is_empty) {
            fs::write(dir.join(name), fs::read(parent.join(name))?)
                .with_context(|| format!("set {name} of `{}`", dir.display()))?;
        }
    }
    Ok(())
}

fn thaw(dir: &Path) {
    for [name, running] in [["freezer.state", "THAWED"], ["cgroup.freeze", "0"]] {
        if dir.join(name).exists() {
            // A cgroup that is gone by now needs none.
            let _outcome = fs::write(dir.join(name), running);
        }
    }
}

/// A directory and all below it, parents first; none if it does not exist.
fn below(dir: &Path) -> Vec<PathBuf> {
    if !dir.is_dir() {
        return Vec::new();
    }
    let children = fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = children
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    std::iter::once(dir.to_owned())
        .chain(folders.flat_map(|path| below(&path)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_hierarchy_is_found() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                      cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n\
                      cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let kinds: Vec<Kind> = parse(mounts).iter().map(|found| found.kind).collect();
        assert_eq!(kinds, [Kind::V1, Kind::Named, Kind::V2]);
        assert_eq!(parse("proc /proc proc rw 0 0\n"), []);
    }

    #[test]
    fn daemons_are_kept_where_no_controller_has_to_be_set() {
        let of = |mounts: &str| Cgroups {
            hierarchies: parse(mounts),
            name: "lazaret-kubernetes-1".to_owned(),
        };
        let pids = "cgroup /c/pids cgroup rw,pids 0 0\n";
        let named = "cgroup /c/systemd cgroup rw,name=systemd 0 0\n";
        let unified = "cgroup2 /c/unified cgroup2 rw 0 0\n";
        for [mounts, expected] in [
            [[pids, named, unified].concat(), "/c/unified".to_owned()],
            [[pids, named].concat(), "/c/systemd".to_owned()],
            [pids.to_owned(), "/c/pids".to_owned()],
        ] {
            let entrance = of(&mounts).entrance();
            assert!(entrance.starts_with(expected), "{}", entrance.display());
        }
    }
}

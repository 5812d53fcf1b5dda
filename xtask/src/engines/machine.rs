//! What kind of machine this is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

/// Programs that the engines and the matrix need, and the Debian package that brings each.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("dockerd", "docker.io"),
    ("podman", "podman"),
    ("crun", "crun"),
    ("runc", "runc"),
    ("newuidmap", "uidmap"),
    ("slirp4netns", "slirp4netns"),
    ("fuse-overlayfs", "fuse-overlayfs"),
    ("iptables", "iptables"),
    ("mmdebstrap", "mmdebstrap"),
    ("ssh", "openssh-client"),
    ("sshd", SSH_SERVER),
];

/// The package whose service is not to be started: the matrix runs a server of its own.
pub(crate) const SSH_SERVER: &str = "openssh-server";

/// The unprivileged user that runs rootless Podman when setup itself is root.
pub(crate) const ROOTLESS_USER: &str = "lazaret";

/// Bit of `CAP_SYS_RESOURCE` in the capability sets: without it a hard limit can't be raised.
const CAP_SYS_RESOURCE: u32 = 24;

/// Podman's own default for a container's open files and processes.
const PODMAN_ULIMIT: u64 = 1_048_576;

/// Facts about the machine, read once.
#[derive(Debug)]
pub struct Machine {
    pub(crate) packages: Packages,
    /// What the caller may do.
    pub authority: Authority,
    pub(crate) init: Init,
    pub(crate) missing: Vec<(&'static str, &'static str)>,
    pub(crate) podman: PodmanNeeds,
    /// The caller's search path behind the system's, whose `sbin` folders hold the daemons.
    pub(crate) path: String,
    /// Pids and logs of the engines that setup starts.
    pub state: PathBuf,
    /// The account of rootless Podman.
    pub rootless: RootlessUser,
}

/// Where packages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packages {
    Apt,
    /// Not Debian's family; the name is the system's own.
    Unknown(String),
}

/// What the caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The superuser.
    Root,
    /// An ordinary user, `sudo` is there.
    Sudo,
    /// An ordinary user and nothing else.
    User,
}

/// What starts services here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Init {
    Systemd,
    None,
}

/// Settings without which Podman can't start a container on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodmanNeeds {
    /// The OCI runtime to name: crun refuses hybrid cgroups.
    pub(crate) runtime: Option<&'static str>,
    /// Hard limits for open files and processes, where Podman's default can't be set.
    pub(crate) ulimits: Option<Ulimits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ulimits {
    pub(crate) nofile: u64,
    pub(crate) nproc: u64,
}

/// The account of rootless Podman. `uid` and `home` are known once it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootlessUser {
    pub(crate) name: String,
    /// None while it does not exist.
    pub account: Option<Account>,
    pub(crate) has_subids: bool,
}

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Home directory.
    pub home: PathBuf,
}

impl Machine {
    /// Reads everything, and changes nothing.
    pub fn inspect(sh: &Shell) -> Result<Self> {
        let path = format!("{SYSTEM_PATH}:{}", sh.var("PATH").unwrap_or_default());
        let missing = PROGRAMS
            .iter()
            .filter(|(program, _)| find(&path, program).is_none())
            .copied()
            .collect();
        let status = fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
        let uid = effective_uid(&status).context("no Uid in /proc/self/status")?;
        let authority = match uid {
            0 => Authority::Root,
            _ if find(&path, "sudo").is_some() => Authority::Sudo,
            _ => Authority::User,
        };
        let user = match authority {
            Authority::Root => ROOTLESS_USER.to_owned(),
            Authority::Sudo | Authority::User => cmd!(sh, "id -un").quiet().read()?,
        };
        let mounts = fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
        let limits = fs::read_to_string("/proc/self/limits").context("/proc/self/limits")?;
        let pid_max = fs::read_to_string("/proc/sys/kernel/pid_max")
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        Ok(Self {
            packages: packages(&os_release),
            authority,
            init: match Path::new("/run/systemd/system").is_dir() {
                true => Init::Systemd,
                false => Init::None,
            },
            missing,
            podman: podman_needs(&mounts, &status, &limits, pid_max),
            path,
            state: state_home(sh)?.join("lazaret/engines"),
            rootless: rootless_user(&user)?,
        })
    }

    /// Absolute path of a program that [`PROGRAMS`] names.
    pub(crate) fn program(&self, name: &str) -> Result<String> {
        let path = find(&self.path, name).with_context(|| format!("`{name}` is not installed"))?;
        Ok(path.display().to_string())
    }

    /// Returns the socket of Docker.
    pub fn docker_socket(&self) -> PathBuf {
        PathBuf::from("/var/run/docker.sock")
    }

    /// Returns the socket of rootful Podman.
    pub fn podman_socket(&self) -> PathBuf {
        PathBuf::from("/run/podman/podman.sock")
    }

    /// None while the account does not exist.
    pub fn rootless_socket(&self) -> Option<PathBuf> {
        Some(self.runtime_dir()?.join("podman/podman.sock"))
    }

    /// The rootless account's `XDG_RUNTIME_DIR`; None while the account does not exist.
    pub fn runtime_dir(&self) -> Option<PathBuf> {
        let account = self.rootless.account.as_ref()?;
        Some(PathBuf::from(format!("/run/user/{}", account.uid)))
    }

    /// Reads the account again, after it was created.
    pub(crate) fn refresh_rootless(&mut self) -> Result<()> {
        self.rootless = rootless_user(&self.rootless.name)?;
        Ok(())
    }
}

/// `$XDG_STATE_HOME`, or what the specification puts in its place.
fn state_home(sh: &Shell) -> Result<PathBuf> {
    match sh
        .var_os("XDG_STATE_HOME")
        .filter(|value| !value.is_empty())
    {
        Some(value) => Ok(PathBuf::from(value)),
        None => {
            let home = sh
                .var_os("HOME")
                .context("neither XDG_STATE_HOME nor HOME is set")?;
            Ok(PathBuf::from(home).join(".local/state"))
        }
    }
}

/// Where a system's own programs are: what daemons get, whatever the caller's path is.
pub const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// First file of that name on the search path.
pub fn find(path: &str, program: &str) -> Option<PathBuf> {
    path.split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| Path::new(folder).join(program))
        .find(|candidate| candidate.is_file())
}

fn packages(os_release: &str) -> Packages {
    let field = |name: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map(|value| value.trim_matches('"'))
            .unwrap_or_default()
    };
    let family = format!("{} {}", field("ID"), field("ID_LIKE"));
    match family
        .split_whitespace()
        .any(|id| id == "debian" || id == "ubuntu")
    {
        true => Packages::Apt,
        false => Packages::Unknown(match field("PRETTY_NAME") {
            "" => "an unknown system".to_owned(),
            name => name.to_owned(),
        }),
    }
}

fn effective_uid(status: &str) -> Option<u32> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1)?.parse().ok()
}

/// Podman lowers its own limit on processes to the largest pid, and without
/// `CAP_SYS_RESOURCE` nothing below it can go higher again.
fn podman_needs(mounts: &str, status: &str, limits: &str, pid_max: Option<u64>) -> PodmanNeeds {
    let is_cgroup = |wanted: &str| {
        mounts
            .lines()
            .any(|line| line.split_whitespace().nth(2) == Some(wanted))
    };
    let hybrid = is_cgroup("cgroup") && is_cgroup("cgroup2");
    let hard = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        // "unlimited" does not parse: no limit to respect.
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    let raises = effective & (1 << CAP_SYS_RESOURCE) != 0;
    let nofile = hard("Max open files").unwrap_or(PODMAN_ULIMIT);
    let nproc = hard("Max processes")
        .unwrap_or(PODMAN_ULIMIT)
        .min(pid_max.unwrap_or(PODMAN_ULIMIT));
    let low = nofile < PODMAN_ULIMIT || nproc < PODMAN_ULIMIT;
    PodmanNeeds {
        runtime: hybrid.then_some("runc"),
        ulimits: (low && !raises).then(|| Ulimits {
            nofile: nofile.min(PODMAN_ULIMIT),
            nproc: nproc.min(PODMAN_ULIMIT),
        }),
    }
}

fn rootless_user(name: &str) -> Result<RootlessUser> {
    let passwd = fs::read_to_string("/etc/passwd").context("/etc/passwd")?;
    let has_range = |file: &str| {
        fs::read_to_string(file)
            .unwrap_or_default()
            .lines()
            .any(|line| line.split(':').next() == Some(name))
    };
    Ok(RootlessUser {
        account: account(&passwd, name),
        has_subids: has_range("/etc/subuid") && has_range("/etc/subgid"),
        name: name.to_owned(),
    })
}

fn account(passwd: &str, name: &str) -> Option<Account> {
    let line = passwd
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some(Account {
        uid: fields.next()?.parse().ok()?,
        gid: fields.next()?.parse().ok()?,
        home: PathBuf::from(fields.nth(1)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_family_is_known_by_id_or_likeness() {
        assert_eq!(packages("ID=debian\n"), Packages::Apt);
        assert_eq!(
            packages("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"),
            Packages::Apt
        );
        assert_eq!(
            packages("ID=alpine\nPRETTY_NAME=\"Alpine Linux v3.20\"\n"),
            Packages::Unknown("Alpine Linux v3.20".to_owned())
        );
        assert_eq!(
            packages(""),
            Packages::Unknown("an unknown system".to_owned())
        );
    }

    #[test]
    fn hybrid_cgroups_and_a_low_hard_limit_need_settings() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let limits = "Max processes             96365                96365                processes\n\
                      Max open files            20000                20000                files\n";
        let needs = podman_needs(mounts, "CapEff:\t000001fffeffffff\n", limits, Some(32768));
        assert_eq!(needs.runtime, Some("runc"));
        assert_eq!(
            needs.ulimits,
            Some(Ulimits {
                nofile: 20000,
                nproc: 32768
            })
        );

        let able = podman_needs(mounts, "CapEff:\t000001ffffffffff\n", limits, None);
        assert_eq!(able.ulimits, None);
        let unified = podman_needs("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "", "", None);
        assert_eq!(unified, PodmanNeeds::default());
    }

    #[test]
    fn an_account_is_read_from_passwd() {
        let passwd =
            "root:x:0:0:root:/root:/bin/bash\nlazaret:x:1001:1002::/home/lazaret:/bin/sh\n";
        let account = account(passwd, "lazaret").expect("is there");
        assert_eq!((account.uid, account.gid), (1001, 1002));
        assert_eq!(account.home, Path::new("/home/lazaret"));
        assert_eq!(super::account(passwd, "laz"), None);
    }
}

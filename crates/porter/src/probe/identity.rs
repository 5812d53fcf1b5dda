//! CON-01 to CON-03, CON-12 to CON-14, CON-22, CON-23: who we are and what we inherited.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::{ForeignNamespace, IdMapping};

use super::{Outcome, ProbeContext};

/// CON-01: numeric ids, the same in all four places, no further groups.
pub(super) fn user(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    for (line, id) in [("Uid", scene.expected.uid), ("Gid", scene.expected.gid)] {
        let wanted = [
            id.to_string(),
            id.to_string(),
            id.to_string(),
            id.to_string(),
        ];
        let found = scene.status.words(line);
        if found != wanted {
            complaints.push(format!("{line} {}", found.join(" ")));
        }
    }
    let gid = scene.expected.gid.to_string();
    let groups = scene.status.words("Groups");
    if groups.iter().any(|group| *group != gid) {
        complaints.push(format!("Groups {}", groups.join(" ")));
    }
    Outcome::of(
        &complaints,
        format!("uid {} gid {}", scene.expected.uid, scene.expected.gid),
    )
}

/// CON-02: five empty sets. (The exporter's one capability is in three of them.)
pub(super) fn capabilities(scene: &ProbeContext) -> Outcome {
    let mask = scene.expected.capabilities;
    let others = scene.status.other_capabilities([0, mask, mask, mask, 0]);
    let complaints: Vec<String> = others
        .iter()
        .map(|line| format!("{line} {}", scene.status.words(line).join(" ")))
        .collect();
    Outcome::of(&complaints, format!("{mask:#x}"))
}

/// CON-03.
pub(super) fn no_new_privileges(scene: &ProbeContext) -> Outcome {
    match scene.status.is("NoNewPrivs", "1") {
        true => Outcome::Pass("set".to_owned()),
        false => Outcome::Fail("not set".to_owned()),
    }
}

/// CON-12: nothing is open but 0, 1 and 2, and every way out of a process leads inside.
///
/// Must run before anything else opens a file.
pub(super) fn descriptors(workdir: &str) -> Outcome {
    let mut complaints = Vec::new();
    match open_descriptors("/proc/self/fd") {
        Ok(open) => complaints.extend(open),
        Err(error) => complaints.push(format!("/proc/self/fd: {error}")),
    }
    match settled_descriptors("/proc/1/fd") {
        Ok(open) => complaints.extend(open.iter().map(|found| format!("PID 1: {found}"))),
        Err(error) => complaints.push(format!("/proc/1/fd: {error}")),
    }
    for process in ["self", "1"] {
        complaints.extend(outside(&format!("/proc/{process}/cwd"), workdir));
        complaints.extend(outside(&format!("/proc/{process}/root"), "/"));
    }
    Outcome::of(&complaints, "0 to 2 only")
}

/// Lists what PID 1 has open once it has started, two seconds at most: its start-up code reads
/// `/proc/self/maps`. A descriptor that stays is listed, as is one that comes and goes for ever.
fn settled_descriptors(directory: &str) -> io::Result<Vec<String>> {
    let give_up = Instant::now() + Duration::from_secs(2);
    loop {
        let open = open_descriptors(directory)?;
        if open.is_empty() || Instant::now() >= give_up {
            return Ok(open);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Lists the descriptors above 2, and those below that are directories or block devices.
fn open_descriptors(directory: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(target) = fs::read_link(entry.path()) else {
            // The descriptor that lists the directory is gone when it is looked at; that
            // can't happen to one of ours.
            continue;
        };
        let target = target.to_string_lossy().into_owned();
        // The listing itself: `/proc/<pid>/fd`, by the pid that we have inside.
        let own = format!("/proc/{}/fd", std::process::id());
        let is_listing = target == own || (target == directory && directory != "/proc/self/fd");
        let is_stream = ["pipe:", "socket:", "/dev/null", "/dev/pts/", "/dev/console"]
            .iter()
            .any(|known| target.starts_with(known));
        if !is_listing && (number > 2 || !is_stream) {
            found.push(format!("descriptor {number} is {target}"));
        }
    }
    Ok(found)
}

/// Compares where a link of `/proc` leads with the directory that it should be
/// (CVE-2024-21626: the working directory was outside).
fn outside(link: &str, wanted: &str) -> Option<String> {
    let found = match fs::metadata(link) {
        Ok(found) => found,
        Err(error) => return Some(format!("{link}: {error}")),
    };
    let same = fs::metadata(wanted)
        .is_ok_and(|wanted| (wanted.dev(), wanted.ino()) == (found.dev(), found.ino()));
    match same {
        true => None,
        false => Some(format!("{link} is not {wanted}")),
    }
}

/// CON-13: confined, where the host has a security module that could.
pub(super) fn lsm_label() -> Outcome {
    let label = [
        "/proc/self/attr/apparmor/current",
        "/proc/self/attr/current",
    ]
    .into_iter()
    .find_map(|path| fs::read_to_string(path).ok());
    let label = label.unwrap_or_default();
    let label = label.trim_end_matches(['\n', '\0']);
    match label {
        "" => Outcome::NotApplicable("the host has no security module with labels".to_owned()),
        // The labels of AppArmor, the kernel and SMACK for a process that is not confined.
        "unconfined" | "kernel" | "_" => Outcome::Fail(format!("label {label}")),
        _ if label.contains("unconfined") => Outcome::Fail(format!("label {label}")),
        _ => Outcome::Pass(label.to_owned()),
    }
}

/// CON-14: root inside is not root outside.
pub(super) fn user_namespace(scene: &ProbeContext) -> Outcome {
    let map = match fs::read_to_string("/proc/self/uid_map") {
        Ok(map) => map,
        Err(error) => return Outcome::Fail(format!("/proc/self/uid_map: {error}")),
    };
    let words: Vec<&str> = map.split_ascii_whitespace().collect();
    match (words == ["0", "0", "4294967295"], scene.expected.ids) {
        (false, _) => Outcome::Pass(format!("uid_map {}", words.join(" "))),
        (true, IdMapping::Mapped) => Outcome::Fail("uid_map is the host's".to_owned()),
        (true, IdMapping::Host) => {
            Outcome::NotApplicable("this engine maps no ids: uid 1000 is the host's".to_owned())
        }
    }
}

/// CON-22: namespaces of our own.
///
/// Inodes of namespaces are only unique on one kernel, which is the case that matters:
/// the initial namespaces have the same numbers everywhere, and those of a local launcher
/// come with the expectations.
pub(super) fn namespaces(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    for ForeignNamespace { kind, inode } in &scene.expected.foreign_namespaces {
        match fs::metadata(format!("/proc/self/ns/{kind}")) {
            Ok(own) if own.ino() == *inode => {
                complaints.push(format!("{kind} namespace is the host's"));
            }
            Ok(_) => {}
            Err(error) => complaints.push(format!("{kind} namespace: {error}")),
        }
    }
    // Our own PID 1 is this very program.
    let first = fs::metadata("/proc/1/exe").map(|file| (file.dev(), file.ino()));
    let own = fs::metadata("/proc/self/exe").map(|file| (file.dev(), file.ino()));
    match (first, own) {
        (Ok(first), Ok(own)) if first == own => {}
        _ => complaints.push("PID 1 is not the porter".to_owned()),
    }
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if hostname.trim_end() != scene.expected.hostname {
        complaints.push("the host name is not ours".to_owned());
    }
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own_cgroup = |foreign: &ForeignNamespace| foreign.kind == "cgroup";
    if scene.expected.foreign_namespaces.iter().any(own_cgroup)
        && let Some(line) = cgroups.lines().find(|line| !line.ends_with(":/"))
    {
        complaints.push(format!("cgroup {line}"));
    }
    let kinds: Vec<&str> = ["pid", "ipc", "uts", "cgroup", "user"]
        .into_iter()
        .filter(|kind| {
            let mut foreign = scene.expected.foreign_namespaces.iter();
            foreign.any(|found| found.kind == *kind)
        })
        .collect();
    Outcome::of(&complaints, kinds.join(" "))
}

/// CON-23: the names that were asked for and no other.
pub(super) fn environment(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    let mut count = 0;
    for (name, _) in std::env::vars_os() {
        count += 1;
        let known = name
            .to_str()
            .is_some_and(|name| scene.expected.env.iter().any(|known| known == name));
        if !known {
            // The name only: the value may be a secret.
            complaints.push(format!("{name:?} is set"));
        }
    }
    Outcome::of(&complaints, format!("{count} names"))
}

//! CON-06 to CON-11, CON-19, CON-21: what can be seen, written and executed.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use lazaret_protocol::SizedPath;
use rustix::fs::{Access, CWD, FileType, Mode};

use super::mounts::is_below;
use super::{Outcome, ProbeContext};

const SCRATCH: &str = ".lazaret-probe";

/// CON-06: the root file system can't be written.
pub(super) fn read_only_root(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    match scene.mounts.at("/") {
        Some(root) if root.is_read_only() => {}
        Some(_) => complaints.push("/ is mounted for writing".to_owned()),
        None => complaints.push("/ is not mounted".to_owned()),
    }
    for directory in ["/", "/usr", "/etc"] {
        let scratch = Path::new(directory).join(SCRATCH);
        if File::create_new(&scratch).is_ok() {
            // Nothing to do about a file that can't be removed: the start is refused anyway.
            let _left = fs::remove_file(&scratch);
            complaints.push(format!("{directory} can be written"));
        }
    }
    Outcome::of(&complaints, "ro")
}

/// CON-07: every tmpfs is as small as asked, and holds no programs.
pub(super) fn tmpfs(scene: &ProbeContext) -> Outcome {
    let mut complaints: Vec<String> = Vec::new();
    for wanted in &scene.expected.tmpfs {
        complaints.extend(scratch_space(scene, wanted));
        complaints.extend(executes(&wanted.path));
    }
    // An engine may add some of its own (Podman: /run, /var/tmp): without a limit of their
    // own they would be half of the host's memory each.
    let others = scene.mounts.iter().filter(|mount| {
        mount.kind == "tmpfs"
            && !mount.is_read_only()
            && !is_engines_own(&mount.point)
            && mount.point != "/dev/shm"
            // The engine's own storage may be one: a volume is a part of that.
            && !scene.expected.volumes.contains(&mount.point)
            && !scene
                .expected
                .tmpfs
                .iter()
                .any(|tmpfs| tmpfs.path == mount.point)
    });
    complaints.extend(others.map(|mount| format!("{} was not asked for", mount.point)));
    Outcome::of(&complaints, "noexec,nosuid,nodev, sized")
}

/// CON-08.
pub(super) fn shm(scene: &ProbeContext) -> Outcome {
    let wanted = SizedPath {
        path: "/dev/shm".to_owned(),
        bytes: scene.expected.shm,
    };
    Outcome::of(&scratch_space(scene, &wanted), "noexec,nosuid,nodev, sized")
}

fn scratch_space(scene: &ProbeContext, wanted: &SizedPath) -> Vec<String> {
    let path = &wanted.path;
    let Some(mount) = scene.mounts.at(path).filter(|mount| mount.kind == "tmpfs") else {
        return vec![format!("{path} is no tmpfs")];
    };
    let mut complaints: Vec<String> = ["noexec", "nosuid", "nodev"]
        .into_iter()
        .filter(|option| !mount.has(option))
        .map(|option| format!("{path} lacks {option}"))
        .collect();
    // A page more: the kernel rounds up.
    match rustix::fs::statvfs(path.as_str()) {
        Ok(found) => {
            let bytes = found.f_blocks.saturating_mul(found.f_frsize);
            if bytes == 0 || bytes > wanted.bytes.saturating_add(found.f_frsize) {
                complaints.push(format!("{path} holds {bytes} bytes"));
            }
        }
        Err(error) => complaints.push(format!("{path}: {error}")),
    }
    complaints
}

/// Whether a program there could be executed: the kernel refuses even to say yes.
fn executes(directory: &str) -> Option<String> {
    let scratch = Path::new(directory).join(SCRATCH);
    let created = rustix::fs::open(
        &scratch,
        rustix::fs::OFlags::CREATE | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC,
        Mode::RWXU,
    );
    let complaint = match created {
        Ok(_) => match rustix::fs::access(&scratch, Access::EXEC_OK) {
            Err(rustix::io::Errno::ACCESS) => None,
            Err(error) => Some(format!("{directory}: {error}")),
            Ok(()) => Some(format!("{directory} holds programs")),
        },
        // What can't be written to holds no programs of the command's.
        Err(_) => None,
    };
    let _absent = fs::remove_file(&scratch);
    complaint
}

/// CON-09: what tells about the host tells nothing.
pub(super) fn masked_paths(scene: &ProbeContext) -> Outcome {
    let complaints: Vec<String> = scene
        .expected
        .masked
        .iter()
        .filter(|path| speaks(path).unwrap_or(false))
        .map(|path| format!("{path} is readable"))
        .collect();
    Outcome::of(
        &complaints,
        format!("{} paths", scene.expected.masked.len()),
    )
}

/// Whether there is anything to read. Whatever can't be opened says nothing.
fn speaks(path: &str) -> io::Result<bool> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Ok(fs::read_dir(path)?.next().is_some());
    }
    let mut byte = [0];
    Ok(File::open(path)?.read(&mut byte)? > 0)
}

/// CON-10: what steers the host can't be written.
pub(super) fn read_only_proc(scene: &ProbeContext) -> Outcome {
    let mut complaints: Vec<String> = scene
        .expected
        .read_only
        .iter()
        .filter(|path| Path::new(path).exists())
        .filter(|path| {
            !scene
                .mounts
                .of(path)
                .is_some_and(super::mounts::Mount::is_read_only)
        })
        .map(|path| format!("{path} can be written"))
        .collect();
    // All of sysfs and the cgroups, wherever they are.
    let writable = scene.mounts.iter().filter(|mount| {
        matches!(mount.kind.as_str(), "sysfs" | "cgroup" | "cgroup2")
            && !mount.is_read_only()
            && is_in_reach(&mount.point)
    });
    complaints.extend(writable.map(|mount| format!("{} can be written", mount.point)));
    Outcome::of(
        &complaints,
        format!("{} paths, sysfs, cgroups", scene.expected.read_only.len()),
    )
}

/// Whether a path leads to a mount. None leads below a mask, which is an empty directory, and only
/// a capability could take that away.
fn is_in_reach(point: &str) -> bool {
    let found = fs::symlink_metadata(point);
    !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// CON-11: a mask is a mount of its own, not the thing that it hides (CVE-2025-31133: a
/// symlink in place of `/dev/null` made the runtime mount something else).
pub(super) fn mask_integrity(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    complaints.extend(device("/dev/null", (1, 3)));
    for path in &scene.expected.masked {
        let Ok(found) = fs::symlink_metadata(path) else {
            continue;
        };
        let hidden = scene
            .mounts
            .iter()
            .any(|mount| is_below(path, &mount.point) && is_mask(&mount.kind, &mount.point, path));
        let is_null = found.file_type().is_char_device() && found.rdev() == makedev(1, 3);
        if !hidden || !(is_null || found.is_dir()) {
            complaints.push(format!("{path} is not masked"));
        }
    }
    Outcome::of(&complaints, "masks are mounts, /dev/null is 1:3")
}

/// A mount that hides `path`: at the path or above it, but not `/`, nor the file systems `/proc` and
/// `/sys` themselves.
fn is_mask(kind: &str, point: &str, path: &str) -> bool {
    !matches!(kind, "proc" | "sysfs") && point != "/" && is_below(path, point)
}

/// CON-19: nothing of the host but the volumes, and no socket to talk to.
pub(super) fn host_mounts(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    for mount in scene.mounts.iter().filter(|mount| may_enter(&mount.point)) {
        let point = mount.point.as_str();
        let expected = point == "/"
            || is_engines_own(point)
            || scene.expected.volumes.iter().any(|volume| volume == point)
            || (mount.kind == "tmpfs"
                && scene.expected.tmpfs.iter().any(|tmpfs| tmpfs.path == point));
        let remote = matches!(
            mount.kind.as_str(),
            "9p" | "virtiofs" | "nfs" | "nfs4" | "cifs"
        );
        if !expected || remote {
            complaints.push(format!("{} at {point}", mount.kind));
        }
    }
    for volume in &scene.expected.read_only_volumes {
        let mount = scene.mounts.at(volume);
        if !mount.is_some_and(super::mounts::Mount::is_read_only) {
            complaints.push(format!("the volume at {volume} can be written"));
        }
    }
    for directory in ["/run", "/var/run", "/tmp"] {
        complaints.extend(sockets(Path::new(directory), 3));
    }
    Outcome::of(
        &complaints,
        format!("{} mounts", scene.mounts.iter().count()),
    )
}

/// Whether a path leads somewhere: to what lies in a closed directory of root's, no process here
/// has a way.
fn may_enter(point: &str) -> bool {
    let found = fs::symlink_metadata(point);
    !found.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Mounts that every engine makes: kernel file systems, and files that it writes itself.
fn is_engines_own(point: &str) -> bool {
    ["/proc", "/sys", "/dev"]
        .into_iter()
        .any(|directory| is_below(point, directory))
        || [
            "/etc/resolv.conf",
            "/etc/hostname",
            "/etc/hosts",
            "/run/.containerenv",
            // Podman's own copies, with the user's line where the image lacks it.
            "/etc/passwd",
            "/etc/group",
        ]
        .contains(&point)
}

fn sockets(directory: &Path, depth: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return vec![];
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_socket() => found.push(format!("socket {:?}", entry.path())),
            Ok(kind) if kind.is_dir() && depth > 0 => {
                found.extend(sockets(&entry.path(), depth - 1));
            }
            _ => {}
        }
    }
    found
}

/// CON-21: the devices that every program may have, and no way to make another.
pub(super) fn devices() -> Outcome {
    const HARMLESS: [(&str, (u32, u32)); 6] = [
        ("null", (1, 3)),
        ("zero", (1, 5)),
        ("full", (1, 7)),
        ("random", (1, 8)),
        ("urandom", (1, 9)),
        ("tty", (5, 0)),
    ];
    // Links and directories that runtimes make; `console` is a pty of the container's own.
    const OTHERS: [&str; 10] = [
        "console", "core", "fd", "mqueue", "ptmx", "pts", "shm", "stderr", "stdin", "stdout",
    ];
    let mut complaints = Vec::new();
    match fs::read_dir("/dev") {
        Ok(entries) => {
            for entry in entries.flatten() {
                let name = entry.file_name();
                let name = name.to_str().unwrap_or("?");
                match HARMLESS.iter().find(|(harmless, _)| *harmless == name) {
                    Some((_, numbers)) => {
                        complaints.extend(device(&format!("/dev/{name}"), *numbers));
                    }
                    None if OTHERS.contains(&name) => {}
                    None => complaints.push(format!("/dev/{name}")),
                }
            }
        }
        Err(error) => complaints.push(format!("/dev: {error}")),
    }
    let scratch = Path::new("/tmp").join(SCRATCH);
    let made = rustix::fs::mknodat(
        CWD,
        &scratch,
        FileType::CharacterDevice,
        Mode::RUSR,
        rustix::fs::makedev(1, 3),
    );
    if made != Err(rustix::io::Errno::PERM) {
        let _absent = fs::remove_file(&scratch);
        complaints.push("a device can be made".to_owned());
    }
    Outcome::of(&complaints, "the harmless ones")
}

fn device(path: &str, (major, minor): (u32, u32)) -> Option<String> {
    let right = fs::symlink_metadata(path).is_ok_and(|found| {
        found.file_type().is_char_device() && found.rdev() == makedev(major, minor)
    });
    (!right).then(|| format!("{path} is not the device {major}:{minor}"))
}

fn makedev(major: u32, minor: u32) -> u64 {
    rustix::fs::makedev(major, minor)
}

//! CON-04, CON-05, CON-24: what the system call filter refuses.
//!
//! Every call has arguments that can't work, so that it has no effect where the filter is
//! missing: the kernel then answers EFAULT, EBADF or EINVAL. Some calls look at the
//! capabilities first, and then EPERM is the kernel's; for those the answer proves that
//! the call is refused, and `Seccomp: 2` with the others that the filter is ours.

use std::io;

use libc::{c_int, c_long};

use super::{Outcome, ProbeContext};
use crate::syscall::{BAD_POINTER as BAD, ForeignEntry, attempt, try_32_bit, try_x32};

/// A call that must be refused.
struct Refused {
    name: &'static str,
    number: c_long,
    arguments: [c_long; 6],
}

const fn call(name: &'static str, number: c_long, arguments: [c_long; 6]) -> Refused {
    Refused {
        name,
        number,
        arguments,
    }
}

/// A flag that no call has: where the filter is missing, the kernel answers EINVAL.
const BAD_FLAGS: c_long = 0x7fff_ffff;

/// Kernel calls that are newer than some of the C library's headers.
const SYS_MOVE_MOUNT: c_long = 429;
const SYS_FSOPEN: c_long = 430;
const SYS_IO_URING_SETUP: c_long = 425;
const SYS_CLONE3: c_long = 435;

/// `READ_IMPLIES_EXEC`: the one call here that works where the filter is missing; it is
/// forgotten with the probe's process.
const READ_IMPLIES_EXEC: c_long = 0x0040_0000;

/// A new user namespace together with a shared file system state: the kernel refuses the pair.
const NEWUSER_SHARING_FS: c_long = (libc::CLONE_NEWUSER | libc::CLONE_FS) as c_long;

const REFUSED: &[Refused] = &[
    call("mount", libc::SYS_mount, [BAD, BAD, BAD, 0, BAD, 0]),
    call("umount2", libc::SYS_umount2, [BAD, BAD_FLAGS, 0, 0, 0, 0]),
    call("fsopen", SYS_FSOPEN, [BAD, BAD_FLAGS, 0, 0, 0, 0]),
    call(
        "move_mount",
        SYS_MOVE_MOUNT,
        [-1, BAD, -1, BAD, BAD_FLAGS, 0],
    ),
    call("pivot_root", libc::SYS_pivot_root, [BAD, BAD, 0, 0, 0, 0]),
    call("chroot", libc::SYS_chroot, [BAD, 0, 0, 0, 0, 0]),
    call("bpf", libc::SYS_bpf, [-1, BAD, 0, 0, 0, 0]),
    call("io_uring_setup", SYS_IO_URING_SETUP, [0, BAD, 0, 0, 0, 0]),
    call(
        "userfaultfd",
        libc::SYS_userfaultfd,
        [BAD_FLAGS, 0, 0, 0, 0, 0],
    ),
    call("keyctl", libc::SYS_keyctl, [BAD_FLAGS, 0, 0, 0, 0, 0]),
    call("add_key", libc::SYS_add_key, [BAD, BAD, BAD, 0, 0, 0]),
    call(
        "request_key",
        libc::SYS_request_key,
        [BAD, BAD, BAD, 0, 0, 0],
    ),
    call(
        "perf_event_open",
        libc::SYS_perf_event_open,
        [BAD, 0, -1, -1, BAD_FLAGS, 0],
    ),
    call(
        "open_by_handle_at",
        libc::SYS_open_by_handle_at,
        [-1, BAD, 0, 0, 0, 0],
    ),
    call(
        "kexec_load",
        libc::SYS_kexec_load,
        [0, BAD_FLAGS, BAD, BAD_FLAGS, 0, 0],
    ),
    call("init_module", libc::SYS_init_module, [BAD, 0, BAD, 0, 0, 0]),
    call(
        "finit_module",
        libc::SYS_finit_module,
        [-1, BAD, BAD_FLAGS, 0, 0, 0],
    ),
    call(
        "delete_module",
        libc::SYS_delete_module,
        [BAD, BAD_FLAGS, 0, 0, 0, 0],
    ),
    call("setns", libc::SYS_setns, [-1, 0, 0, 0, 0, 0]),
    call(
        "unshare",
        libc::SYS_unshare,
        [NEWUSER_SHARING_FS | BAD_FLAGS, 0, 0, 0, 0, 0],
    ),
    call(
        "clone",
        libc::SYS_clone,
        [NEWUSER_SHARING_FS, 0, 0, 0, 0, 0],
    ),
    call(
        "personality",
        libc::SYS_personality,
        [READ_IMPLIES_EXEC, 0, 0, 0, 0, 0],
    ),
    call(
        "quotactl",
        libc::SYS_quotactl,
        [BAD_FLAGS, BAD, 0, BAD, 0, 0],
    ),
    call(
        "fanotify_init",
        libc::SYS_fanotify_init,
        [BAD_FLAGS, 0, 0, 0, 0, 0],
    ),
];

/// CON-04: the filter is there, is ours, and can't be walked around.
pub(super) fn filter(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    if !scene.status.is("Seccomp", "2") {
        complaints.push(format!(
            "Seccomp {}",
            scene.status.words("Seccomp").join(" ")
        ));
    }
    for refused in REFUSED {
        let outcome = attempt(refused.number, refused.arguments);
        if errno(&outcome) != Some(libc::EPERM) {
            complaints.push(format!("{}: {}", refused.name, words(&outcome)));
        }
    }
    let clone3 = attempt(SYS_CLONE3, [BAD, 0, 0, 0, 0, 0]);
    if errno(&clone3) != Some(libc::ENOSYS) {
        complaints.push(format!("clone3: {}", words(&clone3)));
    }
    for (name, entry) in [("32-bit calls", try_32_bit()), ("x32 calls", try_x32())] {
        match entry {
            Ok(ForeignEntry::Refused) => {}
            Ok(ForeignEntry::Reached) => complaints.push(format!("{name} reach the kernel")),
            Err(error) => complaints.push(format!("{name}: {error}")),
        }
    }
    Outcome::of(&complaints, format!("{} calls refused", REFUSED.len() + 3))
}

/// CON-05: families with a history of holes, and sockets that talk to the host.
pub(super) fn socket_families() -> Outcome {
    // A type that no family has: where the filter lets the family through, the kernel
    // says that there is no such family (EAFNOSUPPORT) or type.
    const NO_TYPE: c_int = 9;
    let families = [
        ("AF_ALG", libc::AF_ALG, NO_TYPE, 0),
        ("AF_VSOCK", libc::AF_VSOCK, NO_TYPE, 0),
        ("AF_PACKET", libc::AF_PACKET, NO_TYPE, 0),
        ("AF_KEY", libc::AF_KEY, NO_TYPE, 0),
        ("AF_RXRPC", libc::AF_RXRPC, NO_TYPE, 0),
        ("AF_TIPC", libc::AF_TIPC, NO_TYPE, 0),
        ("AF_BLUETOOTH", libc::AF_BLUETOOTH, NO_TYPE, 0),
        (
            "AF_NETLINK netfilter",
            libc::AF_NETLINK,
            NO_TYPE,
            libc::NETLINK_NETFILTER,
        ),
        ("AF_INET sctp", libc::AF_INET, NO_TYPE, libc::IPPROTO_SCTP),
    ];
    let mut complaints = Vec::new();
    for (name, family, kind, protocol) in families {
        let outcome = socket(family, kind, protocol);
        if errno(&outcome) != Some(libc::EPERM) {
            complaints.push(format!("{name}: {}", words(&outcome)));
        }
    }
    // A family that the filter allows, of a type that does not exist: the kernel answers.
    let unix = socket(libc::AF_UNIX, NO_TYPE, 0);
    if errno(&unix) != Some(libc::ESOCKTNOSUPPORT) {
        complaints.push(format!("AF_UNIX: {}", words(&unix)));
    }
    Outcome::of(&complaints, format!("{} families refused", families.len()))
}

/// CON-24: nothing can be typed on a terminal, nor pasted from a console.
pub(super) fn terminal() -> Outcome {
    const TIOCSTI: c_long = 0x5412;
    const TIOCLINUX: c_long = 0x541c;
    const TIOCSETD: c_long = 0x5423;
    // The kernel looks at 32 bits only; a filter that compares 64 misses this one (CVE-2019-10063).
    const HIGH: c_long = 1 << 32;
    let mut complaints = Vec::new();
    for (name, request) in [
        ("TIOCSTI", TIOCSTI),
        ("TIOCSTI with high bits", TIOCSTI | HIGH),
        ("TIOCLINUX", TIOCLINUX),
        ("TIOCLINUX with high bits", TIOCLINUX | HIGH),
        ("TIOCSETD", TIOCSETD),
    ] {
        let outcome = attempt(libc::SYS_ioctl, [-1, request, BAD, 0, 0, 0]);
        if errno(&outcome) != Some(libc::EPERM) {
            complaints.push(format!("{name}: {}", words(&outcome)));
        }
    }
    for descriptor in 0..3 {
        complaints.extend(foreign_terminal(descriptor));
    }
    Outcome::of(&complaints, "no terminal of the host")
}

/// Describes a terminal that is not in the container's own `/dev/pts`, so is not the container's.
fn foreign_terminal(descriptor: u32) -> Option<String> {
    let path = format!("/proc/self/fd/{descriptor}");
    let target = std::fs::read_link(&path).ok()?;
    let name = target.to_str().unwrap_or("?");
    let is_tty = name.starts_with("/dev/tty") || name.starts_with("/dev/pts");
    (is_tty && !std::path::Path::new(name).exists())
        .then(|| format!("descriptor {descriptor} is {name}, which is not ours"))
}

fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<c_long> {
    let arguments = [family.into(), kind.into(), protocol.into(), 0, 0, 0];
    attempt(libc::SYS_socket, arguments)
}

fn errno(outcome: &io::Result<c_long>) -> Option<i32> {
    outcome.as_ref().err()?.raw_os_error()
}

fn words(outcome: &io::Result<c_long>) -> String {
    match outcome {
        Ok(value) => format!("succeeded ({value})"),
        Err(error) => match error.raw_os_error() {
            Some(libc::EFAULT | libc::EBADF | libc::EINVAL) => "reached the kernel".to_owned(),
            _ => error.to_string(),
        },
    }
}

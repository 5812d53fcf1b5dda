//! CON-18 where every container has an interface: no process can make a socket that leads to it.

use std::fs;
use std::io;

use lazaret_protocol::PORTER_PATH;
use libc::{c_int, c_long};
use rustix::fs::Access;
use rustix::io::Errno;

use super::{Outcome, ProbeContext};
use crate::syscall::attempt;

/// The families of sockets that Linux numbers (`AF_MAX` in the kernel's `include/linux/socket.h`),
/// and room for new ones.
const FAMILIES: std::ops::Range<c_int> = 0..64;

/// The sysctl by which a process that may not be dumped can be (`man 5 proc`).
const SUID_DUMPABLE: &str = "/proc/sys/fs/suid_dumpable";

/// The kernel makes no socket but Unix ones, and no process here is without that filter.
pub(super) fn refused(scene: &ProbeContext) -> Outcome {
    let mut complaints = Vec::new();
    for family in FAMILIES.filter(|family| *family != libc::AF_UNIX) {
        for (call, number) in [
            ("socket", libc::SYS_socket),
            ("socketpair", libc::SYS_socketpair),
        ] {
            for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW] {
                if !is_refused(number, family, kind) {
                    complaints.push(format!("{call} of family {family} and type {kind}"));
                }
            }
        }
    }
    complaints.extend(unfiltered_first(scene));
    complaints.extend(readable_porter());
    Outcome::of(&complaints, "no socket but Unix ones")
}

fn is_refused(number: c_long, family: c_int, kind: c_int) -> bool {
    let arguments = [family.into(), kind.into(), 0, 0, 0, 0];
    let outcome = attempt(number, arguments);
    outcome.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
}

/// Says so if PID 1 has fewer filters than this process.
fn unfiltered_first(scene: &ProbeContext) -> Option<String> {
    let first = match fs::read_to_string("/proc/1/status") {
        Ok(text) => text,
        Err(error) => return Some(format!("/proc/1/status: {error}")),
    };
    let filters = |line: &str| line.strip_prefix("Seccomp_filters:")?.trim().parse().ok();
    let first: Option<u64> = first.lines().find_map(filters);
    // A kernel before 5.9 does not count them.
    let own = scene.status.words("Seccomp_filters");
    let own: Option<u64> = own.first().and_then(|word| word.parse().ok());
    (first < own).then(|| format!("PID 1 has {} filters", first.unwrap_or_default()))
}

/// Says so if the agent could attach to a porter before that has installed its filter.
fn readable_porter() -> Option<String> {
    match rustix::fs::access(PORTER_PATH, Access::READ_OK) {
        Err(Errno::ACCESS) => {}
        Ok(()) => return Some(format!("{PORTER_PATH} can be read")),
        Err(error) => return Some(format!("{PORTER_PATH}: {error}")),
    }
    match fs::read_to_string(SUID_DUMPABLE)
        .as_deref()
        .map(str::trim_end)
    {
        Ok("1") => Some(format!("{SUID_DUMPABLE} is 1")),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("{SUID_DUMPABLE}: {error}")),
    }
}

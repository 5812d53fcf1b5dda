//! The limits of a process, set where no engine can forget them.
//!
//! Rootless Podman drops the limits that its Docker-compatible API is asked for. A process
//! may always lower its own hard limits, and nothing below it can raise them again
//! (`man 2 getrlimit`).

use std::io;

use lazaret_protocol::{Resource, Ulimit};
use rustix::process::{Rlimit, getrlimit, setrlimit};

/// No core dumps, whether asked for or not: a core file holds what the process knew.
pub(crate) const NO_CORE: Ulimit = Ulimit {
    resource: Resource::Core,
    limit: 0,
};

/// Lowers a limit of this process; one that is lower already stays.
pub(crate) fn lower(ulimit: Ulimit) -> io::Result<()> {
    let resource = of_kernel(ulimit.resource);
    let hard = getrlimit(resource).maximum;
    let lowest = Some(hard.map_or(ulimit.limit, |hard| hard.min(ulimit.limit)));
    let wanted = Rlimit {
        current: lowest,
        maximum: lowest,
    };
    Ok(setrlimit(resource, wanted)?)
}

/// Returns the kernel's name of a resource.
pub(crate) fn of_kernel(resource: Resource) -> rustix::process::Resource {
    match resource {
        Resource::Core => rustix::process::Resource::Core,
        Resource::Data => rustix::process::Resource::Data,
        Resource::Fsize => rustix::process::Resource::Fsize,
        Resource::Nofile => rustix::process::Resource::Nofile,
        Resource::Nproc => rustix::process::Resource::Nproc,
    }
}

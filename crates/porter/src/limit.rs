//! `--limit NAME=NUMBER`: the limits of a process, set where no engine can forget them.
//!
//! Rootless Podman drops the limits that its Docker-compatible API is asked for. A process
//! may always lower its own hard limits, and nothing below it can raise them again
//! (`man 2 getrlimit`).

use std::ffi::OsString;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A limit to set, soft and hard alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    resource: Resource,
    number: u64,
}

impl Limit {
    /// No core dumps, whether asked for or not: a core file holds what the process knew.
    pub(crate) const NO_CORE: Self = Self {
        resource: Resource::Core,
        number: 0,
    };

    /// Parses `nofile=1024`.
    pub(crate) fn parse(argument: &OsString) -> Option<Self> {
        let (name, number) = argument.to_str()?.split_once('=')?;
        Some(Self {
            resource: resource(name)?,
            number: number.parse().ok()?,
        })
    }

    /// Lowers the limit to the number; one that is lower already stays.
    pub(crate) fn apply(self) -> io::Result<()> {
        let lowest =
            |found: Option<u64>| Some(found.map_or(self.number, |found| found.min(self.number)));
        let hard = lowest(getrlimit(self.resource).maximum);
        let wanted = Rlimit {
            current: hard,
            maximum: hard,
        };
        Ok(setrlimit(self.resource, wanted)?)
    }
}

/// Finds a resource by the engines' name for it.
pub(crate) fn resource(name: &str) -> Option<Resource> {
    match name {
        "core" => Some(Resource::Core),
        "data" => Some(Resource::Data),
        "fsize" => Some(Resource::Fsize),
        "nofile" => Some(Resource::Nofile),
        "nproc" => Some(Resource::Nproc),
        _ => None,
    }
}

//! `Ulimit`: a per-process limit that the porter sets before it becomes a command.

use std::fmt;
use std::str::FromStr;

use crate::ArgumentError;

/// What a per-process limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Size of a core dump, bytes.
    Core,
    /// Private writable memory of one process, bytes.
    Data,
    /// Size of a file, bytes.
    Fsize,
    /// Open files.
    Nofile,
    /// Processes of the user.
    Nproc,
}

impl Resource {
    /// Every resource.
    pub const ALL: [Self; 5] = [
        Self::Core,
        Self::Data,
        Self::Fsize,
        Self::Nofile,
        Self::Nproc,
    ];

    /// Returns the name that engines use: `nofile`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Data => "data",
            Self::Fsize => "fsize",
            Self::Nofile => "nofile",
            Self::Nproc => "nproc",
        }
    }
}

/// A per-process limit, soft and hard alike (CON-17). Its text is `nofile=1024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ulimit {
    /// Of what.
    pub resource: Resource,
    /// How much.
    pub limit: u64,
}

impl fmt::Display for Ulimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.resource.name(), self.limit)
    }
}

impl FromStr for Ulimit {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let parsed = text.split_once('=').and_then(|(name, limit)| {
            let mut all = Resource::ALL.into_iter();
            let resource = all.find(|resource| resource.name() == name)?;
            let limit = limit.parse().ok()?;
            Some(Self { resource, limit })
        });
        parsed.ok_or_else(|| ArgumentError::value("limit", "NAME=NUMBER", text))
    }
}

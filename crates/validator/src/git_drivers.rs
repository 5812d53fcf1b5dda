//! `GitDrivers`: the programs that a `.gitattributes` can choose, as far as the user's own
//! git configuration has them (GIT-11).

use std::collections::BTreeSet;

/// What a driver is for; the attribute and the section of the configuration have this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriverKind {
    /// Runs on checkout and on commit.
    Filter,
    /// Runs when differences are shown.
    Diff,
    /// Runs in a merge.
    Merge,
}

/// Whether git would find a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// The configuration has it.
    Configured,
    /// A part of the configuration could not be read, so it may have it.
    Unknown,
    /// The configuration does not have it.
    Absent,
}

/// The drivers of the user's own git configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitDrivers {
    known: BTreeSet<(DriverKind, Vec<u8>)>,
    unreadable: bool,
}

impl DriverKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Filter, Self::Diff, Self::Merge];

    /// The attribute's name, and the section's in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Diff => "diff",
            Self::Merge => "merge",
        }
    }
}

impl GitDrivers {
    /// Adds one by its name, which tells capital letters from small ones.
    pub fn add(&mut self, kind: DriverKind, name: &[u8]) {
        self.known.insert((kind, name.to_owned()));
    }

    /// Notes that a part of the configuration could not be read: from now on no driver is
    /// known to be absent.
    pub fn note_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Says whether git would find a driver.
    pub fn find(&self, kind: DriverKind, name: &[u8]) -> Driver {
        if self.known.contains(&(kind, name.to_owned())) {
            Driver::Configured
        } else if self.unreadable {
            Driver::Unknown
        } else {
            Driver::Absent
        }
    }
}

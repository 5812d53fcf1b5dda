//! The drivers in the user's own git configuration: what a `.gitattributes` of a batch could
//! have git run on this machine (GIT-11).
//!
//! The files are read here, and no program is started: `git` may be absent, and where it is
//! there it would look into the workspace. What is read is more than git would read at one
//! place and time, never less: conditional includes count whatever their condition says,
//! because the branch or the directory may be another one tomorrow, and what git stops at as
//! an error is skipped. A file that can't be read, or is larger than anybody's, is noted; no
//! driver is known to be absent then.

mod identity;
mod parse;
mod places;

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use lazaret_validator::{DriverKind, GitDrivers};
use rustix::fs::{Mode, OFlags};

use crate::environment::Environment;
pub use identity::{Identity, identity};
use parse::{Variable, split};

/// The most bytes of one file, and of all together.
const MOST_BYTES: u64 = 1 << 20;
const MOST_BYTES_IN_ALL: u64 = 8 << 20;
/// The most files, included ones with them.
const MOST_FILES: usize = 256;

/// Reads what git would for somebody who works in `workspace`: the system's, the user's and
/// the repository's configuration, what they include, and the variables `GIT_CONFIG_*`.
pub fn drivers(env: &Environment, workspace: &Path) -> GitDrivers {
    let mut reading = Reading {
        home: env.home().ok().map(Path::to_owned),
        drivers: GitDrivers::default(),
        files: VecDeque::new(),
        seen: HashSet::new(),
        left: MOST_BYTES_IN_ALL,
    };
    reading.files.extend(places::files(env));
    match places::repository(workspace) {
        Ok(files) => reading.files.extend(files),
        Err(_) => reading.drivers.note_unreadable(),
    }
    for (name, value) in places::variables(env) {
        reading.variable(
            &Variable {
                name: name.into_bytes(),
                value: value.into_bytes(),
            },
            Path::new("/"),
        );
    }
    while let Some(file) = reading.files.pop_front() {
        reading.file(&file);
    }
    reading.drivers
}

struct Reading {
    home: Option<PathBuf>,
    drivers: GitDrivers,
    /// Still to be read.
    files: VecDeque<PathBuf>,
    seen: HashSet<PathBuf>,
    left: u64,
}

impl Reading {
    fn file(&mut self, path: &Path) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        if self.seen.len() > MOST_FILES {
            return self.drivers.note_unreadable();
        }
        let bytes = match read(path, MOST_BYTES.min(self.left)) {
            Ok(bytes) => bytes,
            Err(error) if is_absent(&error) => return,
            Err(_) => return self.drivers.note_unreadable(),
        };
        self.left -= bytes.len() as u64;
        let dir = path.parent().unwrap_or(Path::new("/"));
        for variable in parse::variables(&bytes) {
            self.variable(&variable, dir);
        }
    }

    /// Takes one variable, as git names it: `filter.lfs.clean`.
    fn variable(&mut self, variable: &Variable, dir: &Path) {
        let (section, subsection, key) = split(&variable.name);
        let kind = DriverKind::ALL
            .into_iter()
            .find(|kind| section.eq_ignore_ascii_case(kind.as_str().as_bytes()));
        let includes = section.eq_ignore_ascii_case(b"include") && subsection.is_none()
            || section.eq_ignore_ascii_case(b"includeif") && subsection.is_some();
        match (kind, subsection) {
            (Some(kind), Some(name)) => self.drivers.add(kind, name),
            _ if includes && key.eq_ignore_ascii_case(b"path") => {
                match places::included(&variable.value, dir, self.home.as_deref()) {
                    Some(path) => self.files.push_back(path),
                    None => self.drivers.note_unreadable(),
                }
            }
            _ => {}
        }
    }
}

/// Whether git has nothing from there either: what this user can't read, this user's git
/// can't.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

/// Reads a regular file of at most so many bytes; nothing else is waited for. `/dev/null`,
/// with which people switch a file off, holds nothing.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if path == Path::new("/dev/null") {
        return Ok(Vec::new());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests;

//! The user's own git configuration: which drivers a `.gitattributes` of a batch could choose
//! (GIT-11), and what git runs or reads in the workspace (GIT-27).
//!
//! The files are read here, and no program is started: `git` may be absent, and where it is
//! there it would look into the workspace. They are read when a batch is judged, not when it
//! was made: the configuration that counts is the one that git will read afterwards. What
//! can't be read is a finding, and no driver is known to be absent then.

mod environment;
mod hooks;
mod identity;
mod keys;
mod parse;
mod path_resolver;
mod places;
mod settings;
mod uses;
mod words;

use std::io::{self, Read as _};
use std::path::Path;

use lazaret_tree::Tree;
use lazaret_validator::{DriverKind, GitConfig};
use rustix::fs::{Mode, OFlags};

pub use environment::GitEnvironment;
pub use identity::{Identity, identity};
use parse::split;
use path_resolver::PathResolver;
use settings::Settings;

/// The most bytes of one file.
const MOST_BYTES: u64 = 1 << 20;

/// Reads what git would when it runs in `workspace`, and what it has git run or read
/// there. `tree` is what the workspace holds: repositories are looked for in its directories.
pub fn configuration(env: GitEnvironment<'_>, workspace: &Path, tree: &Tree) -> GitConfig {
    let resolver = PathResolver::new(env, workspace);
    let settings = Settings::read(env, workspace, tree, &resolver);
    let mut git = GitConfig::default();
    for problem in &settings.unreadable {
        git.note_unreadable(problem.clone());
    }
    for problem in &settings.broken {
        git.note_broken(problem.clone());
    }
    for setting in &settings.list {
        let (section, subsection, _) = split(&setting.variable.name);
        let mut kinds = DriverKind::ALL.into_iter();
        let kind = kinds.find(|kind| section.eq_ignore_ascii_case(kind.as_str().as_bytes()));
        if let (Some(kind), Some(name)) = (kind, subsection) {
            git.add_driver(kind, name);
        }
    }
    uses::note(&settings, env, &resolver, &mut git);
    for file in settings::excludes(&settings, env, workspace) {
        git.add_excludes(file);
    }
    git
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
#[cfg(test)]
mod uses_tests;

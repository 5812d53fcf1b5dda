//! `OwnDirs`: the directories of lazaret on the host, and whether it may trust them.
//!
//! What lies in them says what a session holds, what may run and what is allowed. So other
//! users must not be able to write to them, and nothing in them may keep the launcher waiting.
//! They are checked before a verb does anything; an enemy with the user's own id is out of
//! scope.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::resolve::git::TEMP_REPOSITORY;

/// Any other user may write.
const OTHERS_WRITE: u32 = 0o002;
/// The group or any other user may write.
const GROUP_AND_OTHERS_WRITE: u32 = 0o022;
/// How many directories deep files of lazaret lie.
const DEPTH: usize = 5;
/// Files that are always where they are expected: there, a socket is no service of lazaret's.
const FILES: [&str; 3] = ["store-id", "lock", "session.json"];

/// One of the directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnDir {
    kind: Kind,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    State,
    Config,
    Cache,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Config => "config",
            Self::Cache => "cache",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::State => "XDG_STATE_HOME",
            Self::Config => "XDG_CONFIG_HOME",
            Self::Cache => "XDG_CACHE_HOME",
        }
    }
}

/// Returns the directories that the environment names, whether they are there or not.
pub fn all(env: &Environment) -> Vec<OwnDir> {
    let of = |kind, path: Result<PathBuf, Failure>| {
        Some(OwnDir {
            kind,
            path: path.ok()?,
        })
    };
    [
        of(Kind::State, env.state_dir()),
        of(Kind::Config, env.config_dir()),
        of(Kind::Cache, env.cache_dir()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Checks each of them.
///
/// # Errors
/// The first that can't be trusted, with what to type.
pub fn check(env: &Environment) -> Result<(), Failure> {
    all(env).iter().try_for_each(|dir| dir.check(env.uid))
}

impl OwnDir {
    /// Returns what it is for: `state`, `config` or `cache`.
    pub fn word(&self) -> &'static str {
        self.kind.word()
    }

    /// Checks the directory for the user `uid`. One that is not there yet is fine: it is made
    /// private.
    ///
    /// # Errors
    /// When it belongs to another user, others can write to it, or something in it is no file.
    /// What the configuration directory holds was written by hand, so there root may own it,
    /// and a group may write, as with the umask 002 of systems that give each user a group.
    pub fn check(&self, uid: u32) -> Result<(), Failure> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Failure::new(FailureKind::State, error).context(self.doing())),
        };
        if !found.is_dir() {
            return Err(self
                .refuse("it is not a directory")
                .hinted(self.elsewhere()));
        }
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        let is_trusted = owner == uid || (self.kind == Kind::Config && owner == 0);
        if !is_trusted {
            let reason = format!("it belongs to uid {owner}, and lazaret runs as uid {uid}");
            return Err(self
                .refuse(&reason)
                .hinted(format!(
                    "Run lazaret as uid {owner}: `sudo -u '#{owner}' lazaret …`."
                ))
                .hinted(self.elsewhere()));
        }
        let (bits, who) = match self.kind {
            Kind::Config => (OTHERS_WRITE, "o-w"),
            Kind::State | Kind::Cache => (GROUP_AND_OTHERS_WRITE, "go-w"),
        };
        if mode & bits != 0 {
            let reason = format!("other users can write to it (mode {mode:04o})");
            let hint = format!(
                "Take that right away: `chmod {who} {}`.",
                self.path.display()
            );
            return Err(self.refuse(&reason).hinted(hint));
        }
        self.check_inside(&self.path, DEPTH)
    }

    /// Refuses what would block an open (`man 7 fifo`).
    fn check_inside(&self, dir: &Path, depth: usize) -> Result<(), Failure> {
        // What can't be listed says so to the verb that needs it.
        let Ok(entries) = fs::read_dir(dir) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if let Some(what) = odd(&entry, kind) {
                let path = entry.path();
                let place = path.strip_prefix(&self.path).unwrap_or(&path);
                let reason = format!("{} in it is {what}, not a file", place.display());
                let hint = format!("Remove it: `rm {}`.", path.display());
                return Err(self.refuse(&reason).hinted(hint));
            }
            // A directory that git works in holds no file of lazaret's.
            let name = entry.file_name();
            let is_temp = depth == DEPTH && name.to_string_lossy().starts_with(TEMP_REPOSITORY);
            if kind.is_dir() && depth > 1 && !is_temp {
                self.check_inside(&entry.path(), depth - 1)?;
            }
        }
        Ok(())
    }

    /// Whether a directory lies in this one, is it, or holds it.
    fn touches(&self, dir: &Path) -> bool {
        let own = resolved(&self.path);
        own.starts_with(dir) || dir.starts_with(&own)
    }

    fn refuse(&self, reason: &str) -> Failure {
        Failure::message(FailureKind::State, format!("{}: {reason}", self.doing()))
    }

    fn doing(&self) -> String {
        let (word, path) = (self.kind.word(), self.path.display());
        format!("cannot use the {word} directory {path}")
    }

    fn elsewhere(&self) -> String {
        let variable = self.kind.variable();
        format!("Or name a directory of your own: `export {variable}=DIR`.")
    }
}

/// Refuses a workspace that holds one of the directories, or lies in one: a copy would take the
/// records and contents of other sessions along, and an apply could change them.
///
/// # Errors
/// Names the directory.
pub fn check_workspace(workspace: &Path, env: &Environment) -> Result<(), Failure> {
    let Some(dir) = all(env).into_iter().find(|dir| dir.touches(workspace)) else {
        return Ok(());
    };
    let (word, own) = (dir.kind.word(), resolved(&dir.path));
    let how = match own.starts_with(workspace) {
        true => "contains",
        false => "lies in",
    };
    let text = format!(
        "cannot use the workspace {}: it {how} lazaret's {word} directory {}",
        workspace.display(),
        own.display()
    );
    let hint = format!(
        "Choose another workspace with --workspace DIR, or move the directory: `export {}=DIR`.",
        dir.kind.variable()
    );
    Err(Failure::message(FailureKind::Workspace, text).hinted(hint))
}

/// Says what an entry is that no file of lazaret's can be.
fn odd(entry: &DirEntry, kind: fs::FileType) -> Option<&'static str> {
    // The user's own files may be links.
    let kind = match kind.is_symlink() {
        true => fs::metadata(entry.path()).ok()?.file_type(),
        false => kind,
    };
    let is_file = FILES.iter().any(|name| entry.file_name() == *name);
    if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_block_device() || kind.is_char_device() {
        Some("a device")
    } else if kind.is_socket() && is_file {
        Some("a socket")
    } else {
        None
    }
}

/// Returns where a path leads, links followed, also if its end is not there yet.
fn resolved(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let Ok(real) = fs::canonicalize(there) {
            return match path.strip_prefix(there) {
                Ok(rest) if rest.as_os_str().is_empty() => real,
                Ok(rest) => real.join(rest),
                Err(_) => real,
            };
        }
    }
    path.to_path_buf()
}

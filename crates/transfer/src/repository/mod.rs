//! `Repository`: what git takes for the repository of a workspace, found without running
//! git and without believing what the workspace says.

mod clean;
mod config;
mod modules;
mod pointer;

use lazaret_tree::{RelPath, RelPathBuf};
use rustix::fs::{AtFlags, FileType};

pub(crate) use clean::{is_hex, packed_refs, reference, reflog, shallow};
pub(crate) use config::{ConfigSource, synthetic_config};
pub use modules::Module;

use crate::WorkspaceDir;

/// The directories of a repository.
///
/// Invariant: `own` is `.git` itself or points back at the workspace, `common` is the
/// directory that `own` lies in, and neither borrows objects from a third.
#[derive(Debug)]
pub struct Repository {
    own: WorkspaceDir,
    common: Option<WorkspaceDir>,
    refs: RefStorage,
    modules: Vec<Module>,
}

/// How a repository stores its refs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefStorage {
    /// A file for each, and `packed-refs`.
    Files,
    /// Binary tables, reflogs among them: only git reads those.
    Tables,
}

/// Why a repository stays out although it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GitProblem {
    /// `.git` is a symbolic link, or no file at all.
    #[error("a link instead of a repository; it is not followed")]
    Link,
    /// The `.git` file says nothing.
    #[error("names no repository")]
    NoPointer,
    /// What the `.git` file names can't be opened.
    #[error("names a repository that is not there")]
    Missing,
    /// What the `.git` file names does not name this directory.
    #[error(
        "names a repository that does not point back here; `git worktree repair` mends a moved worktree"
    )]
    NoWayBack,
    /// Objects or refs lie in a third place.
    #[error(
        "borrows from another repository, which is not followed; to make it whole: git repack -a -d, and remove objects/info/alternates"
    )]
    Borrows,
    /// It can't be read.
    #[error("can't be read")]
    Unreadable,
    /// Git is needed to read it, and nothing was made.
    #[error("its form needs a git on this machine to be read")]
    Unmade,
}

impl GitProblem {
    /// Returns a stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Link => "skip.git_link",
            Self::NoPointer | Self::Missing => "skip.git_file",
            Self::NoWayBack => "skip.git_back",
            Self::Borrows => "skip.git_borrows",
            Self::Unreadable => "skip.git_unreadable",
            Self::Unmade => "skip.git_unmade",
        }
    }
}

impl Repository {
    /// Finds the repository of a workspace: its `.git` directory, or that of the linked
    /// worktree or submodule which the workspace is. `None` where it has no `.git`.
    ///
    /// # Errors
    /// Why what is there is not used.
    pub fn find(workspace: &WorkspaceDir) -> Result<Option<Self>, GitProblem> {
        let Ok(name) = RelPath::new(".git") else {
            return Ok(None);
        };
        let stat = rustix::fs::statat(workspace.fd(), ".git", AtFlags::SYMLINK_NOFOLLOW);
        let Ok(stat) = stat else {
            return Ok(None);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let own = workspace.subdir(name).map_err(|_| GitProblem::Unreadable)?;
                Self::directory(workspace, own).map(Some)
            }
            FileType::RegularFile => {
                let contents = workspace.small(".git").ok_or(GitProblem::NoPointer)?;
                let pointed = pointer::follow(workspace, &contents)?;
                Self::open(workspace, pointed.own, pointed.common).map(Some)
            }
            _ => Err(GitProblem::Link),
        }
    }

    /// A repository that is one directory.
    fn directory(workspace: &WorkspaceDir, own: WorkspaceDir) -> Result<Self, GitProblem> {
        match own.has("commondir") {
            true => Err(GitProblem::Borrows),
            false => Self::open(workspace, own, None),
        }
    }

    fn open(
        workspace: &WorkspaceDir,
        own: WorkspaceDir,
        common: Option<WorkspaceDir>,
    ) -> Result<Self, GitProblem> {
        let shared = common.as_ref().unwrap_or(&own);
        let is_link = |name: &str| {
            rustix::fs::statat(shared.fd(), name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        };
        let alternates = "objects/info/alternates";
        let borrows = match shared.small(alternates) {
            Some(contents) => {
                let mut lines = contents.split(|&byte| byte == b'\n');
                lines.any(|line| !line.is_empty() && !line.starts_with(b"#"))
            }
            None => shared.has(alternates),
        };
        if is_link("objects") || is_link("refs") || borrows {
            return Err(GitProblem::Borrows);
        }
        let config = shared.small("config").unwrap_or_default();
        let refs = match config::value(&config, "extensions", "refstorage") {
            Some(word) if word.eq_ignore_ascii_case("reftable") => RefStorage::Tables,
            _ => RefStorage::Files,
        };
        let modules = modules::find(workspace, &own);
        Ok(Self {
            own,
            common,
            refs,
            modules,
        })
    }

    /// Returns where `HEAD` and the index are.
    pub fn own(&self) -> &WorkspaceDir {
        &self.own
    }

    /// Returns where objects, refs and the configuration are.
    pub fn common(&self) -> &WorkspaceDir {
        self.common.as_ref().unwrap_or(&self.own)
    }

    /// Whether it is a linked worktree.
    pub fn is_worktree(&self) -> bool {
        self.common.is_some()
    }

    /// Returns how refs are stored.
    pub fn refs(&self) -> RefStorage {
        self.refs
    }

    /// Whether its objects have names of SHA-256.
    pub fn is_sha256(&self) -> bool {
        let config = self.common().small("config").unwrap_or_default();
        config::value(&config, "extensions", "objectformat")
            .is_some_and(|word| word.eq_ignore_ascii_case("sha256"))
    }

    /// Returns this repository and those of its submodules, with theirs, by where each lies
    /// in a copy.
    pub fn all(&self) -> Vec<(RelPathBuf, &Self)> {
        let mut all = Vec::new();
        self.collect(".git", &mut all);
        all
    }

    fn collect<'a>(&'a self, at: &str, all: &mut Vec<(RelPathBuf, &'a Self)>) {
        // One that lies deeper than a path may be is not sent either.
        if let Ok(path) = at.parse() {
            all.push((path, self));
            for module in &self.modules {
                let at = format!("{at}/modules/{}", module.name);
                module.repository.collect(&at, all);
            }
        }
    }

    /// Returns the submodules that are checked out, by name.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Returns the repository of the submodule whose directory is `path`.
    pub(crate) fn module_at(&self, path: &RelPath) -> Option<&Self> {
        let above = |module: &&Module| path.starts_with(&module.path);
        let module = self.modules.iter().find(above)?;
        match *module.path == *path {
            true => Some(&module.repository),
            false => module.repository.module_at(path),
        }
    }

    /// Returns the original configuration, and the one of the worktree alone.
    pub(crate) fn configs(&self) -> [Vec<u8>; 2] {
        let shared = self.common().small("config").unwrap_or_default();
        let own = match config::value(&shared, "extensions", "worktreeconfig") {
            Some(_) => self.own.small("config.worktree").unwrap_or_default(),
            None => Vec::new(),
        };
        [shared, own]
    }
}

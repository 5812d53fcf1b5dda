//! `Skipped`: what stays out of a copy, and why.

use std::fmt;

use lazaret_tree::{LinkTargetError, RelPathError, finding_code};

use crate::GitProblem;

/// One thing that stays out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The raw path below the root; show it through [`escape`](lazaret_tree::escape()) only.
    pub name: Vec<u8>,
    /// Why.
    pub reason: SkipReason,
    /// The size of a regular file; `None` for the rest, directories above all.
    pub bytes: Option<u64>,
}

/// Why something stays out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It looks like a secret.
    Secret,
    /// It has the name of a secret, and may be an example.
    LikelySecret,
    /// It holds a private key.
    PrivateKey,
    /// A cache directory.
    Cache,
    /// A `.lazaretignore` says so.
    LazaretIgnore,
    /// A `.gitignore` or `.git/info/exclude` says so.
    GitIgnore,
    /// The profile's `exclude` says so.
    Profile,
    /// The repository, under [`GitMode::None`](super::GitMode::None).
    GitNone,
    /// A part of `.git` that is never sent.
    GitPart,
    /// A repository inside the workspace.
    GitNested,
    /// A `.git` further down that is no submodule of this repository.
    GitFile,
    /// The workspace's repository, which can't be sent.
    Git(GitProblem),
    /// The repository, under [`GitMode::Shallow`](super::GitMode::Shallow), when nothing was made.
    GitShallow,
    /// What a partial clone never fetched; the rest of the repository goes in.
    GitPartial,
    /// It is of the project, and not of the workspace in it.
    Elsewhere,
    /// [`INCOMING_DIR`](lazaret_tree::INCOMING_DIR), at the root.
    Reserved,
    /// Another file system, or anything mounted.
    Mount,
    /// A FIFO.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A device.
    Device,
    /// A type that this program does not know.
    Unknown,
    /// A name that is not carried.
    Name(RelPathError),
    /// A link target that is not carried.
    Target(LinkTargetError),
}

impl SkipReason {
    /// Returns a stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Secret | Self::LikelySecret => "skip.secret",
            Self::PrivateKey => "skip.private_key",
            Self::Cache => "skip.cache",
            Self::LazaretIgnore => "skip.lazaretignore",
            Self::GitIgnore => "skip.gitignore",
            Self::Profile => "skip.profile",
            Self::GitNone => "skip.git_none",
            Self::GitPart => "skip.git_part",
            Self::GitNested => "skip.git_nested",
            Self::GitFile => "skip.git_file",
            Self::Git(problem) => problem.code(),
            Self::GitShallow => "skip.git_shallow",
            Self::GitPartial => "skip.git_partial",
            Self::Elsewhere => "skip.elsewhere",
            Self::Reserved => "skip.reserved",
            Self::Mount => "skip.mount",
            Self::Fifo => finding_code::TYPE_FIFO.id,
            Self::Socket => finding_code::TYPE_SOCKET.id,
            Self::Device => finding_code::TYPE_DEVICE.id,
            Self::Unknown => finding_code::TYPE_UNKNOWN.id,
            Self::Name(error) => error.code().id,
            Self::Target(_) => "link.target",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret => "looks like a secret",
            Self::LikelySecret => {
                "looks like a secret; a line `!PATH` in .lazaretignore takes it in"
            }
            Self::PrivateKey => "holds a private key; a line `!PATH` in .lazaretignore takes it in",
            Self::Cache => "a cache directory",
            Self::LazaretIgnore => "left out by .lazaretignore",
            Self::GitIgnore => "left out by .gitignore",
            Self::Profile => "left out by the profile",
            Self::GitNone => "the profile sends no repository",
            Self::GitPart => "a part of the repository that is never sent",
            Self::GitNested => "another repository inside the workspace",
            Self::GitFile => "a link to a repository elsewhere",
            Self::Git(problem) => return problem.fmt(f),
            Self::GitShallow => "no history of one commit was made",
            Self::GitPartial => {
                "a partial clone: objects that were never fetched are missing inside"
            }
            Self::Elsewhere => "outside of the workspace, and not shared with it",
            Self::Reserved => "a name that lazaret needs in the copy",
            Self::Mount => "another file system",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "neither file, nor directory, nor link",
            Self::Name(error) => return error.fmt(f),
            Self::Target(error) => return error.fmt(f),
        })
    }
}

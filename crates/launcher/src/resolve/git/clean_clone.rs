//! `CleanClone`: the files and the history of one commit, and nothing else of the user's.
//!
//! The user's git writes both, in repositories of the launcher's own (see [`super`]). So files
//! are what `git checkout` makes of the commit on a machine without configuration: the commit's
//! own `.gitattributes` decide about line endings and encodings, and no filter runs, because a
//! filter is a program that only configuration names. A file of Git LFS is its pointer, and a
//! submodule is an empty directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lazaret_commits::quarantine::bare_config;
use lazaret_runtime::SessionId;
use lazaret_transfer::{GitMode, RefStorage, Repository, WorkspaceDir};
use lazaret_tree::AtPath as _;

use super::borrowed_repository::{BorrowedRepository, write};
use super::branch;
use super::pack::{self, PackContents};
use super::program::Program;
use super::temp_repository::TempRepository;
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use lazaret_session::cancel::Cancel;
use lazaret_session::store::from_branch::FromBranch;

/// A clone without the user's working tree. It is removed when this is dropped.
#[derive(Debug)]
pub struct CleanClone {
    dir: WorkspaceDir,
    from: FromBranch,
    _temp: TempRepository,
}

/// How much of the past a clone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// As much as the user's repository has.
    Whole,
    /// None: one commit.
    OneCommit,
}

impl History {
    /// Returns as much as a copy is to hold.
    pub fn of(mode: GitMode) -> Self {
        match mode {
            GitMode::Full => Self::Whole,
            GitMode::Shallow | GitMode::None => Self::OneCommit,
        }
    }
}

/// What to clone.
#[derive(Debug, Clone, Copy)]
pub struct CloneRequest<'a> {
    /// The workspace, whose repository is read.
    pub workspace: &'a WorkspaceDir,
    /// A branch, a tag or a commit, as typed or as recorded.
    pub name: &'a str,
    /// The session, after which the branch inside is named.
    pub session: &'a SessionId,
    /// How much of the past goes along.
    pub history: History,
}

impl CleanClone {
    /// Makes a clone. `accept` is asked once it is known what `name` leads to, before anything is
    /// written.
    ///
    /// # Errors
    /// If the workspace has no repository that can be read, the name leads to no commit, an object
    /// is missing, there is no git, or what `accept` returns.
    pub fn make(
        request: CloneRequest<'_>,
        env: &Environment,
        cancel: &Cancel,
        accept: impl FnOnce(&FromBranch) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let workspace = request.workspace;
        let repository = repository(workspace)?;
        let program = Program::find(env, workspace).ok_or_else(|| {
            let text = "`--from` needs git, and there is none on this machine";
            Failure::message(FailureKind::Workspace, text).hinted("Install git.")
        })?;
        let temp = TempRepository::create(&env.state_dir()?)?;
        let dir = temp.path().join("borrowed");
        let borrowed = BorrowedRepository::build(&dir, &repository, &program, cancel)?;
        let from = branch::resolve(&borrowed, request.name)?;
        accept(&from)?;
        let clone = temp.path().join("clone");
        let git = clone.join(".git");
        for part in ["objects/pack", "refs"] {
            let path = git.join(part);
            fs::create_dir_all(&path).at(&path)?;
        }
        end_history(&borrowed, &from, request.history, &git)?;
        let packed = pack::write(&borrowed, &git, PackContents::Commit, Some(&from.commit));
        packed.map_err(|failure| {
            failure.hinted(
                "Objects may be missing, as in a partial clone; `workspace.git` = \"shallow\" needs \
                 those of one commit only.",
            )
        })?;
        refs(&from, request.session, &git)?;
        let config = bare_config(&repository, RefStorage::Files);
        write(&git.join("config"), config.as_bytes())?;
        check_out(&program, &git, &from, cancel)?;
        Ok(Self {
            dir: WorkspaceDir::open_ambient(&clone)?,
            from,
            _temp: temp,
        })
    }

    /// Returns the directory of the files.
    pub fn dir(&self) -> &WorkspaceDir {
        &self.dir
    }

    /// Returns what it is a clone of.
    pub fn from(&self) -> &FromBranch {
        &self.from
    }
}

/// Finds the repository of the workspace.
fn repository(workspace: &WorkspaceDir) -> Result<Repository, Failure> {
    let path = workspace.path();
    let refuse =
        |why: &str| Failure::message(FailureKind::Workspace, format!("{} {why}", path.display()));
    let is_bare = || path.join("HEAD").is_file() && path.join("objects").is_dir();
    match Repository::find(workspace) {
        Ok(Some(repository)) => Ok(repository),
        Ok(None) if is_bare() => Err(refuse("is a bare repository")
            .hinted("Name a clone with a working tree with `--workspace DIR`.")),
        Ok(None) => Err(refuse("is not the root of a git repository").hinted(
            "Name it with `--workspace DIR`, or take the whole repository in with \
             `workspace.isolation` = \"project\".",
        )),
        Err(problem) => Err(refuse(&format!(
            "has a `.git` that can't be used: {problem}"
        ))),
    }
}

/// Says where history ends, in both repositories: a commit whose parents stay out.
fn end_history(
    borrowed: &BorrowedRepository<'_>,
    FromBranch { commit, .. }: &FromBranch,
    history: History,
    git: &Path,
) -> Result<(), Failure> {
    let shallow = borrowed.dir().join("shallow");
    let ends = match history {
        History::OneCommit => {
            let ends = format!("{commit}\n");
            write(&shallow, ends.as_bytes())?;
            ends
        }
        History::Whole if !shallow.exists() => return Ok(()),
        History::Whole => {
            let known = fs::read_to_string(&shallow).at(&shallow)?;
            let known: BTreeSet<&str> = known.lines().collect();
            let first = borrowed.git(&["rev-list", "--max-parents=0", commit], "")?;
            let first = first.text("list where the history ends")?;
            let ends = first.lines().filter(|commit| known.contains(commit));
            ends.flat_map(|commit| [commit, "\n"]).collect()
        }
    };
    match ends.is_empty() {
        true => Ok(()),
        false => write(&git.join("shallow"), ends.as_bytes()),
    }
}

/// Writes a branch of the session's, checked out, and the ref that says where it started. A
/// branch of the user's keeps its name below `host`, so it can't clash with the session's.
fn refs(from: &FromBranch, session: &SessionId, git: &Path) -> Result<(), Failure> {
    let FromBranch { branch, commit } = from;
    let start = match branch.starts_with("refs/") || branch == commit {
        true => "start",
        false => branch,
    };
    write(
        &git.join("HEAD"),
        format!("ref: refs/heads/{session}\n").as_bytes(),
    )?;
    let refs = format!("{commit} refs/heads/{session}\n{commit} refs/remotes/host/{start}\n");
    write(&git.join("packed-refs"), refs.as_bytes())
}

/// Writes index and files. The index keeps no file times, so that of an unmoved branch is the
/// same in each clone, and an update leaves alone what the command has staged.
fn check_out(
    program: &Program,
    git: &Path,
    from: &FromBranch,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let files = git.parent().unwrap_or(git).to_string_lossy();
    let run = |arguments: &[&str], doing: &'static str| {
        let ended = program.run(git, None, arguments, "", cancel)?;
        ended.text(doing)
    };
    run(&["read-tree", &from.commit], "read the commit's tree")?;
    run(
        &[
            // What these name by default is the user's or the machine's.
            "-c",
            "core.attributesFile=/dev/null",
            "-c",
            "core.autocrlf=false",
            // In a directory of the working tree, git writes only what is below that.
            "-C",
            &files,
            "--work-tree=.",
            "checkout-index",
            "--all",
            "--quiet",
        ],
        "write the commit's files",
    )?;
    Ok(())
}

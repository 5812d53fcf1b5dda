//! What of a repository only git can make: a history of one commit, refs out of tables, and a
//! clean clone of a branch.
//!
//! Everything else is sent as it is, without git (`transfer::Repository`). Here the user's git
//! runs on objects that an attacker may have written, and on nothing else of the repository. It
//! works in a directory that the launcher makes and configures, to which objects and refs are
//! linked by name. So it reads no key of the repository's configuration, no hook, no attribute
//! and no filter, and alternates lead nowhere (GIT-24).
//!
//! Git and not a library: it is the one reader of every format that git writes, it reads packs
//! at the speed of the disk, and users with repositories have it.

mod borrowed_repository;
mod branch;
mod clean_clone;
mod environment;
mod pack;
mod program;
mod refs;
mod shallow;
mod temp_repository;

use std::collections::BTreeMap;

use lazaret_transfer::{FileSelector, GitMode, RefStorage, Repository, WorkspaceDir};
use lazaret_tree::{RelPathBuf, escape};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use borrowed_repository::BorrowedRepository;
pub use clean_clone::{CleanClone, CloneRequest, History};
pub use environment::variables;
use lazaret_session::cancel::Cancel;
use program::Program;
pub(crate) use temp_repository::PREFIX as TEMP_REPOSITORY;
use temp_repository::TempRepository;

/// What takes in what was made. The directory in which that lies goes with it.
#[derive(Debug)]
#[must_use = "what was made is removed with it"]
pub struct PreparedHistory {
    /// The selector that knows of it.
    pub selector: FileSelector,
    _repository: Option<TempRepository>,
}

/// Makes what `selector` needs of the workspace's repository and its submodules.
///
/// # Errors
/// When a history of one commit is wanted and can't be made: there is no git, or objects are
/// missing. Refs out of tables are not made without git; the repository stays out then, and
/// the walk says so.
pub fn make(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    env: &Environment,
    cancel: &Cancel,
) -> Result<PreparedHistory, Failure> {
    let nothing = || PreparedHistory {
        selector: selector.clone(),
        _repository: None,
    };
    let Ok(Some(repository)) = Repository::find(workspace) else {
        return Ok(nothing());
    };
    let needs = |repository: &Repository| match selector.git() {
        GitMode::None => false,
        GitMode::Full => repository.refs() == RefStorage::Tables,
        GitMode::Shallow => true,
    };
    let all = repository.all();
    let needed: Vec<_> = all.into_iter().filter(|(_, one)| needs(one)).collect();
    if needed.is_empty() {
        return Ok(nothing());
    }
    let Some(program) = Program::find(env, workspace) else {
        return match selector.git() {
            GitMode::Shallow => Err(Failure::message(
                FailureKind::Workspace,
                "a history of one commit is made by git, and there is none on this machine",
            )
            .hinted("Install git, or set `workspace.git` to \"full\" or \"none\".")),
            GitMode::Full | GitMode::None => Ok(nothing()),
        };
    };
    let temp = TempRepository::create(&env.state_dir()?)?;
    let mut made: BTreeMap<RelPathBuf, WorkspaceDir> = BTreeMap::new();
    for (index, (at, repository)) in needed.into_iter().enumerate() {
        let dir = temp.path().join(index.to_string());
        let borrowed = BorrowedRepository::build(&dir, repository, &program, cancel)?;
        let done = match selector.git() {
            GitMode::Shallow => shallow::make(&borrowed),
            GitMode::Full | GitMode::None => refs::make(&borrowed),
        };
        done.map_err(|failure| failure.context(escape(at.as_str().as_bytes()).to_string()))?;
        made.insert(at, WorkspaceDir::open_ambient(&borrowed.made())?);
    }
    Ok(PreparedHistory {
        selector: selector.clone().with_made(made),
        _repository: Some(temp),
    })
}

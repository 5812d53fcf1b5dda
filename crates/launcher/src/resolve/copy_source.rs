//! `CopySource`: the directory that goes in, which is the workspace or a clean clone of it.

use lazaret_commits::git::Git;
use lazaret_runtime::SessionId;
use lazaret_transfer::WorkspaceDir;

use crate::app::App;
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::resolve::git::{CleanClone, CloneRequest, History};
use lazaret_session::commits::history_source::{BranchRefs, HistorySource};
use lazaret_session::store::from_branch::FromBranch;
use lazaret_session::store::record::Record;

/// Where the files of a copy are read.
#[derive(Debug)]
pub struct CopySource<'a> {
    workspace: &'a WorkspaceDir,
    /// A clone of a branch of its repository; `None` to copy its files as they are.
    clone: Option<CleanClone>,
}

/// What a copy is asked for.
#[derive(Debug, Clone, Copy)]
pub struct CopyRequest<'a> {
    /// The name after `--from`.
    pub from: Option<&'a str>,
    /// The session.
    pub session: &'a SessionId,
    /// Its record; `None` if it is new.
    pub record: Option<&'a Record>,
    /// How much of the past a clone has.
    pub history: History,
}

impl<'a> CopySource<'a> {
    /// Chooses the directory, and makes the clone if it is one. A session stays on the branch that
    /// it started from.
    ///
    /// # Errors
    /// If `from` is another branch than the session's, or the clone can't be made.
    pub fn choose(
        workspace: &'a WorkspaceDir,
        request: CopyRequest<'_>,
        app: &App,
    ) -> Result<Self, Failure> {
        let CopyRequest {
            session, history, ..
        } = request;
        let kept = request.record.and_then(Record::from_branch);
        if let (Some(record), Some(from), None) = (request.record, request.from, kept) {
            let text = format!("session {session} copies the files of the workspace");
            let free = format!("Start another session for {from}: `lazaret run --name NAME …`.");
            let stay = format!("Continue {} without --from.", record.id);
            let refused = Failure::message(FailureKind::Refused, text);
            return Err(refused.hinted(free).hinted(stay));
        }
        let Some(name) = request.from.or(kept.map(|kept| kept.branch.as_str())) else {
            return Ok(Self::of_files(workspace));
        };
        let clone = CloneRequest {
            workspace,
            name,
            session,
            history,
        };
        let clone = CleanClone::make(clone, &app.env, &app.cancel, |from| {
            stays(session, kept, from)?;
            app.ui.status(&format!(
                "cloning {from}; uncommitted changes of the workspace stay out"
            ));
            Ok(())
        })?;
        Ok(Self {
            workspace,
            clone: Some(clone),
        })
    }

    /// Returns the workspace's own files.
    pub fn of_files(workspace: &'a WorkspaceDir) -> Self {
        Self {
            workspace,
            clone: None,
        }
    }

    /// Returns the workspace, to which changes are applied.
    pub fn workspace(&self) -> &WorkspaceDir {
        self.workspace
    }

    /// Returns the directory whose files go in.
    pub fn dir(&self) -> &WorkspaceDir {
        self.clone.as_ref().map_or(self.workspace, CleanClone::dir)
    }

    /// Returns by what its history is read; `None` if there is no git.
    pub fn history(&self, env: &Environment) -> Option<HistorySource> {
        let path = env.for_detection().path?;
        Some(HistorySource {
            git: Git::find(&path, self.workspace.path())?,
            branches: match self.clone {
                Some(_) => BranchRefs::Clone,
                None => BranchRefs::Heads,
            },
        })
    }

    /// Returns what is cloned; `None` if nothing is.
    pub fn from_branch(&self) -> Option<&FromBranch> {
        self.clone.as_ref().map(CleanClone::from)
    }
}

/// Checks that a session goes on with the branch that it started from.
fn stays(session: &SessionId, kept: Option<&FromBranch>, from: &FromBranch) -> Result<(), Failure> {
    let Some(kept) = kept.filter(|kept| kept.branch != from.branch) else {
        return Ok(());
    };
    let text = format!("session {session} is a clone of {kept}, not of {from}");
    Err(Failure::message(FailureKind::Refused, text)
        .hinted("Leave --from out to continue it, or start another session with another --name."))
}

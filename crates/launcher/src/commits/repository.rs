//! The user's repositories, and the git of the user's that works on commits.

use lazaret_commits::git::Git;
use lazaret_commits::linked::LinkedRepository;
use lazaret_session::store::SessionDir;
use lazaret_session::store::record::Record;
use lazaret_session::store::sync_state::read_tips;
use lazaret_transfer::{ObjectId, Repository, WorkspaceDir};
use lazaret_tree::RelPath;

use crate::app::App;
use crate::decide::case::workspace_of;

/// Finds the user's git, and nothing in the workspace that has its name.
pub(crate) fn find_git(app: &App, workspace: &WorkspaceDir) -> Option<Git> {
    let search_path = app.env.for_detection().path.unwrap_or_default();
    Git::find(&search_path, workspace.path())
}

/// Returns the user's repository for the one that lies at `inside` in a copy: the workspace's
/// own, or that of a submodule.
pub(crate) fn repository_for<'a>(
    repository: &'a Repository,
    inside: &RelPath,
) -> Option<&'a Repository> {
    let all = repository.all().into_iter();
    let mut found = all.filter(|(path, _)| **path == *inside);
    found.next().map(|(_, repository)| repository)
}

/// What the user's repositories have, as far as that can be told.
#[derive(Debug)]
pub(crate) struct KnownObjects<'a> {
    app: &'a App,
    dir: &'a SessionDir,
    git: Option<Git>,
    repository: Option<Repository>,
}

impl<'a> KnownObjects<'a> {
    /// Finds the repositories of a session's workspace.
    pub(crate) fn of(dir: &'a SessionDir, record: &Record, app: &'a App) -> Self {
        let workspace = workspace_of(record).ok();
        let git = workspace
            .as_ref()
            .and_then(|workspace| find_git(app, workspace));
        let repository = workspace.map(|workspace| Repository::find(&workspace).ok().flatten());
        Self {
            app,
            dir,
            git,
            repository: repository.flatten(),
        }
    }

    /// Returns what the repository for `inside` has; nothing where that can't be told.
    pub(crate) fn refs(&self, inside: &RelPath) -> Vec<ObjectId> {
        self.ask(inside, |linked| {
            let is_cancelled = || self.app.cancel.check().is_err();
            linked.known(&read_tips(self.dir).ids(), &is_cancelled).ok()
        })
        .unwrap_or_default()
    }

    /// Returns which of `ids` the repository for `inside` has, or has sent.
    pub(crate) fn having(&self, inside: &RelPath, ids: &[ObjectId]) -> Vec<ObjectId> {
        let having = self.ask(inside, |linked| {
            let is_cancelled = || self.app.cancel.check().is_err();
            linked.having(ids, &is_cancelled).ok()
        });
        let sent = read_tips(self.dir);
        having.unwrap_or_else(|| ids.iter().filter(|id| sent.has(id)).copied().collect())
    }

    fn ask<T>(
        &self,
        inside: &RelPath,
        ask: impl FnOnce(&LinkedRepository) -> Option<T>,
    ) -> Option<T> {
        let repository = repository_for(self.repository.as_ref()?, inside)?;
        let dir = self.dir.file("fetched").join("known.git");
        let linked = LinkedRepository::create(self.git.clone()?, &dir, repository).ok()?;
        ask(&linked)
    }
}

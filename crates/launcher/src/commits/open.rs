//! `OpenCommits`: a session whose commits were fetched and examined.

use lazaret_commits::examine::{Examination, ExaminedTip, Rules, examine};
use lazaret_commits::land_name::{LandName, LandNames};
use lazaret_commits::refusal::Refusal;
use lazaret_transfer::Repository;
use lazaret_tree::RelPathBuf;
use lazaret_validator::Policy;

use super::repository::{find_git, repository_inside};
use super::tips::{Lost, Pending, Tip};
use crate::app::App;
use crate::decide::case::{policy_of, workspace_of};
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::session_access::{session_context, waiting};
use lazaret_session::captures::saved_pack;
use lazaret_session::commits::fetch::{CommitSource, FetchRequest, FetchedCommits, fetch};
use lazaret_session::store::record::Phase;
use lazaret_session::store::sync_state::read_collection;
use lazaret_session::store::{LockedSession, Store};

/// Which commits are opened, and by what they are judged.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    /// Whether what only a reflog names is wanted.
    pub(crate) lost: Lost,
    /// Paths that the user allows although a rule blocks them.
    pub(crate) allow: Vec<RelPathBuf>,
}

/// What was found of a session's commits.
#[derive(Debug)]
pub(crate) struct OpenCommits {
    pub(crate) repository: Repository,
    /// `None` where nothing can be fetched.
    pub(crate) fetched: Option<FetchedCommits>,
    pub(crate) tips: Vec<OpenTip>,
    pub(crate) examination: Examination,
    /// What stays in the copy, in words.
    pub(crate) stays: Vec<String>,
}

/// A tip, and the name that it gets.
#[derive(Debug)]
pub(crate) struct OpenTip {
    pub(crate) tip: Tip,
    pub(crate) name: LandName,
}

/// Fetches and examines what waits in a session.
///
/// # Errors
/// When the session waits for nothing, the engine or git fails, or the pack is refused.
pub(crate) fn open(
    store: &Store,
    session: &LockedSession,
    request: OpenRequest,
    app: &App,
) -> Result<OpenCommits, Failure> {
    let record = session.record();
    if record.phase != Phase::Collected {
        return Err(waiting::not_waiting(record));
    }
    let Pending { tips, stays } = Pending::of(&record.commits, request.lost);
    let workspace = workspace_of(record)?;
    let repository = Repository::find(&workspace)
        .map_err(|problem| no_repository(&problem.to_string()))?
        .ok_or_else(|| no_repository("the workspace has none"))?;
    let mut names = LandNames::of(record.id.as_str());
    let tips: Vec<OpenTip> = tips
        .into_iter()
        .map(|tip| OpenTip {
            name: names.give(&tip.source),
            tip,
        })
        .collect();
    if tips.is_empty() {
        return Ok(OpenCommits {
            repository,
            fetched: None,
            tips,
            examination: Examination::default(),
            stays,
        });
    }
    let git = find_git(app, &workspace).ok_or_else(|| {
        let text = "commits are read by git, and there is none on this machine";
        Failure::message(FailureKind::Workspace, text).hinted("Install git.")
    })?;
    let ids: Vec<_> = tips.iter().map(|one| one.tip.id).collect();
    let fetching = |source| -> Result<FetchRequest<'_>, Failure> {
        Ok(FetchRequest {
            source,
            git,
            repository: &repository,
            inside: repository_inside()?,
            tips: ids.clone(),
        })
    };
    let fetched = match saved_pack(session.dir())? {
        Some(pack) => fetch(session, fetching(CommitSource::Pack(pack, &app.cancel))?)?,
        None => {
            let detected = app.engine_of(record)?;
            let base = image::ensure(app, &detected, "base")?.pinned;
            let cx = session_context(app, store, detected);
            let request = fetching(CommitSource::Volume(&cx, &base))?;
            cx.phase("fetch commits", |_| fetch(session, request))?
        }
    };
    let (baseline, _) = read_collection(session.dir())?;
    let policy = policy_of(record, &app.env, session.dir(), &baseline)?;
    let rules = Rules {
        // What a commit deletes is in its parent.
        policy: Policy {
            index: None,
            ..policy
        },
        allow: request.allow,
    };
    let is_cancelled = || app.cancel.check().is_err();
    let examination = examine(&fetched.quarantine, &ids, &rules, &is_cancelled)?;
    Ok(OpenCommits {
        repository,
        fetched: Some(fetched),
        tips,
        examination,
        stays,
    })
}

/// Whether a tip can be landed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TipState<'a> {
    /// The rules block nothing of it.
    Good(&'a ExaminedTip),
    /// A rule blocks something, which the user can allow.
    Blocked(&'a ExaminedTip),
    /// It is not taken at all.
    Refused(&'a Refusal),
}

impl OpenCommits {
    /// Iterates over all tips, each with what was found of it.
    pub(crate) fn examined(&self) -> impl Iterator<Item = (&OpenTip, TipState<'_>)> {
        let states = self.examination.tips.iter().map(|examined| match examined {
            Err(refusal) => TipState::Refused(refusal),
            Ok(tip) if self.examination.blocks(tip).next().is_some() => TipState::Blocked(tip),
            Ok(tip) => TipState::Good(tip),
        });
        self.tips.iter().zip(states)
    }
}

fn no_repository(why: &str) -> Failure {
    let text = format!("there is no repository to bring commits to: {why}");
    Failure::message(FailureKind::Workspace, text)
        .hinted("Run `git init` in the workspace if it has none, and try again.")
}

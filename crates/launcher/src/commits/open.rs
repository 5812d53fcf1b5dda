//! `OpenCommits`: a session whose commits were fetched and examined.

use std::collections::BTreeSet;

use lazaret_commits::examine::{Examination, ExaminedTip, Rules, examine};
use lazaret_commits::git::Git;
use lazaret_commits::land_name::{LandName, LandNames};
use lazaret_commits::refusal::Refusal;
use lazaret_transfer::Repository;
use lazaret_tree::{RelPathBuf, Tree, escape};
use lazaret_validator::Policy;

use super::repository::{find_git, repository_for};
use super::tips::{Lost, Pending, Tip};
use crate::app::App;
use crate::decide::case::{policy_of, workspace_of};
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::session_access::{session_context, waiting};
use lazaret_session::captures::{captured_of, saved_pack};
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
    repository: Repository,
    fetched: Vec<FetchedRepository>,
    /// Those of one repository after those of another.
    pub(crate) tips: Vec<OpenTip>,
    pub(crate) examination: Examination,
    /// What stays in the copy, in words.
    pub(crate) stays: Vec<String>,
}

/// The commits of one repository of the copy.
#[derive(Debug)]
pub(crate) struct FetchedRepository {
    /// Where it lies inside.
    pub(crate) inside: RelPathBuf,
    pub(crate) commits: FetchedCommits,
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
/// When the session waits for nothing, the engine or git fails, or a pack is refused.
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
    let mut opened = OpenCommits {
        repository,
        fetched: Vec::new(),
        tips: Vec::new(),
        examination: Examination::default(),
        stays,
    };
    let places: BTreeSet<RelPathBuf> = tips.iter().map(|tip| tip.repository.clone()).collect();
    let mut all = tips;
    for inside in places {
        let (here, others) = all.into_iter().partition(|tip| tip.repository == inside);
        all = others;
        opened.add(inside, here, record.id.as_str());
    }
    if opened.tips.is_empty() {
        return Ok(opened);
    }
    let git = find_git(app, &workspace).ok_or_else(|| {
        let text = "commits are read by git, and there is none on this machine";
        Failure::message(FailureKind::Workspace, text).hinted("Install git.")
    })?;
    opened.fetch(store, session, &git, app)?;
    let (baseline, _) = read_collection(session.dir())?;
    let policy = policy_of(record, &app.env, session.dir(), &baseline)?;
    let rules = Rules {
        // What a commit deletes is in its parent.
        policy: Policy {
            index: None,
            ..policy
        },
        allow: request.allow,
        copied: None,
    };
    opened.examine(&rules, &baseline, app)?;
    Ok(opened)
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
    /// Adds the tips of one repository. They stay in the copy if the user has none for it.
    fn add(&mut self, inside: RelPathBuf, tips: Vec<Tip>, session: &str) {
        if repository_for(&self.repository, &inside).is_none() {
            let place = escape(inside.as_str().as_bytes());
            self.stays.extend(tips.iter().map(|tip| {
                let (kind, label) = (tip.source.kind(), tip.label());
                format!("{kind} {label}: your repository has no {place}")
            }));
            return;
        }
        let mut names = LandNames::of(session);
        self.tips.extend(tips.into_iter().map(|tip| OpenTip {
            name: names.give(&tip.source),
            tip,
        }));
    }

    /// Fetches the tips of each repository.
    fn fetch(
        &mut self,
        store: &Store,
        session: &LockedSession,
        git: &Git,
        app: &App,
    ) -> Result<(), Failure> {
        let engine = match captured_of(session.dir()) {
            // Its packs lie in its directory.
            Some(_) => None,
            None => {
                let detected = app.engine_of(session.record())?;
                let base = image::ensure(app, &detected, "base")?.pinned;
                Some((session_context(app, store, detected), base))
            }
        };
        let places = self.tips.iter().map(|one| one.tip.repository.clone());
        let mut places: Vec<RelPathBuf> = places.collect();
        places.dedup();
        for inside in places {
            let Some(repository) = repository_for(&self.repository, &inside) else {
                continue;
            };
            let here = self.tips.iter().filter(|one| one.tip.repository == inside);
            let tips: Vec<_> = here.map(|one| one.tip.id).collect();
            let request = |source| FetchRequest {
                source,
                git: git.clone(),
                repository,
                inside: inside.clone(),
                tips,
            };
            let commits = match &engine {
                Some((cx, base)) => {
                    let request = request(CommitSource::Volume(cx, base));
                    cx.phase("fetch commits", |_| fetch(session, request))?
                }
                None => {
                    let pack = saved_pack(session.dir(), &inside)?.ok_or_else(no_pack)?;
                    fetch(session, request(CommitSource::Pack(pack, &app.cancel)))?
                }
            };
            self.fetched.push(FetchedRepository { inside, commits });
        }
        Ok(())
    }

    /// Judges the tips of each repository by themselves.
    fn examine(&mut self, rules: &Rules, copied: &Tree, app: &App) -> Result<(), Failure> {
        let is_cancelled = || app.cancel.check().is_err();
        for FetchedRepository { inside, commits } in &self.fetched {
            let here = self.tips.iter().filter(|one| one.tip.repository == *inside);
            let ids: Vec<_> = here.map(|one| one.tip.id).collect();
            // The files of a submodule lie elsewhere in the copy than its repository.
            let is_main = inside.as_str() == ".git";
            let rules = Rules {
                copied: is_main.then(|| copied.clone()),
                ..rules.clone()
            };
            let found = examine(&commits.quarantine, &ids, &rules, &is_cancelled)?;
            self.examination.append(found);
        }
        Ok(())
    }

    /// Iterates over all tips, each with what was found of it.
    pub(crate) fn examined(&self) -> impl Iterator<Item = (&OpenTip, TipState<'_>)> {
        let states = self.examination.tips.iter().map(|examined| match examined {
            Err(refusal) => TipState::Refused(refusal),
            Ok(tip) if self.examination.blocks(tip).next().is_some() => TipState::Blocked(tip),
            Ok(tip) => TipState::Good(tip),
        });
        self.tips.iter().zip(states)
    }

    /// Returns the repositories of which something was fetched, each with the user's.
    pub(crate) fn fetched(&self) -> impl Iterator<Item = (&FetchedRepository, &Repository)> {
        self.fetched.iter().filter_map(|fetched| {
            let repository = repository_for(&self.repository, &fetched.inside)?;
            Some((fetched, repository))
        })
    }
}

fn no_pack() -> Failure {
    let text = "the pack of the commits is not in the session any more";
    Failure::message(FailureKind::State, text)
}

fn no_repository(why: &str) -> Failure {
    let text = format!("there is no repository to bring commits to: {why}");
    Failure::message(FailureKind::Workspace, text)
        .hinted("Run `git init` in the workspace if it has none, and try again.")
}

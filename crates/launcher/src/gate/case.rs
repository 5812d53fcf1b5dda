//! `Case`: a collected session before the gate.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use lazaret_transfer::{BaseStore, HistoryState, Quarantine, Skipped, WorkspaceDir};
use lazaret_tree::{Change, Note, Refusal, RelPath, RelPathBuf, Tree, diff};
use lazaret_validator::{Allowance, Destination, GitConfig, Limits, Policy, link_ends};
use rustix::fs::AtFlags;

use super::choices::Choices;
use super::contents::Contents;
use super::drift::{Drift, drifts};
use super::hunks::{self, Hunk};
use super::proposal::Proposal;
use super::{git_config, git_index};
use crate::decide::full_listing;
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::session::handed::Ledger;
use crate::session::history::applies;
use crate::session::known::read_collection;
use crate::session::record::{GateLimits, Record, identity};
use crate::session::store::{LockedSession, SessionDir};
use crate::session::unlanded::Unlanded;

/// Everything the gate knows of one batch.
#[derive(Debug)]
pub struct Case {
    /// See [`Case::changes`]; whatever is proposed shares them.
    pub(super) changes: Vec<Arc<Change>>,
    /// Caches that appeared in the copy and stay there.
    pub caches: Vec<Skipped>,
    /// All contents, by digest.
    pub contents: Contents,
    /// The session that it came out of, if it is one's.
    pub session: Option<Record>,
    /// Where all of it may be listed; nowhere if it is no session's.
    pub listing: Option<PathBuf>,
    /// What was sent in.
    pub(super) baseline: Tree,
    /// What came out and is not carried.
    pub(super) refusals: Vec<Refusal>,
    /// What was made safe on the way.
    pub(super) notes: Vec<Note>,
    /// What changed in `.git`, which is judged and never applied.
    pub(super) git: Vec<Arc<Change>>,
    /// What it is judged by.
    pub(super) policy: Policy,
    /// How the workspace is at the path of each change, in the same order.
    pub(super) drifts: Vec<Drift>,
    /// The proposal to take everything, once it is made.
    pub(super) whole: Option<Proposal>,
}

/// What a case is made of.
#[derive(Debug)]
pub struct CaseParts {
    /// What was sent in.
    pub baseline: Tree,
    /// What came out.
    pub collected: Tree,
    /// What came out and is not carried.
    pub refusals: Vec<Refusal>,
    /// What was made safe on the way.
    pub notes: Vec<Note>,
    /// Caches that appeared in the copy.
    pub caches: Vec<Skipped>,
    /// The new contents.
    pub quarantine: Quarantine,
    /// The texts that were sent in, where they were kept.
    pub base: Option<BaseStore>,
    /// The workspace.
    pub workspace: WorkspaceDir,
    /// What it is judged by.
    pub policy: Policy,
}

impl Case {
    /// Reads a collected session, compares it with the workspace, and judges it. Nothing is
    /// written outside of the session. Of the surroundings only the user's git configuration
    /// is looked at.
    ///
    /// # Errors
    /// When the session's files are damaged, or its workspace is not where it was (APP-03).
    pub fn open(session: &LockedSession, env: &Environment) -> Result<Self, Failure> {
        let (dir, record) = (session.dir(), session.record());
        let workspace = workspace_of(record)?;
        let (baseline, collection) = read_collection(dir)?;
        let policy = policy_of(record, env, dir, &baseline)?;
        let mut case = Self::assemble(CaseParts {
            baseline,
            collected: collection.tree,
            refusals: collection.refusals,
            notes: collection.notes,
            caches: collection.left_out,
            quarantine: Quarantine::open(&dir.file("quarantine"))?,
            // Without it there are fewer merges, and that is all.
            base: BaseStore::open(&dir.file("base")).ok(),
            workspace,
            policy,
        })?;
        case.session = Some(record.clone());
        case.listing = Some(dir.file(full_listing::NAME));
        case.heed_applied(dir)?;
        Ok(case)
    }

    /// Looks at conflicts again, knowing what was applied of the batch before.
    fn heed_applied(&mut self, dir: &SessionDir) -> Result<(), Failure> {
        let is_clash = |drift: &Drift| matches!(drift, Drift::Clash(_));
        if !self.drifts.iter().any(is_clash) {
            return Ok(());
        }
        let mut found = false;
        for apply in applies(dir)? {
            if apply.state != HistoryState::Applied {
                continue;
            }
            for applied in apply.changes()? {
                let place = self
                    .changes
                    .binary_search_by(|change| change.path.cmp(&applied.path));
                if place.is_ok_and(|place| self.drifts.get(place).is_some_and(is_clash)) {
                    self.contents.note_applied(applied);
                    found = true;
                }
            }
        }
        match found {
            true => self.look_again(),
            false => Ok(()),
        }
    }

    /// Puts a case together.
    ///
    /// # Errors
    /// When the workspace can't be read, or the quarantine not be written.
    pub fn assemble(parts: CaseParts) -> Result<Self, Failure> {
        let all = diff(&parts.baseline, &parts.collected);
        let left_out = left_out(&parts.workspace, link_ends(&parts.baseline, &all));
        let all = all.into_vec();
        drop(parts.collected);
        let is_git = |change: &Change| change.path.components().next() == Some(".git");
        let (git, changes): (Vec<_>, Vec<_>) = all.into_iter().partition(|change| is_git(change));
        let root = parts.workspace.path().to_str().map(str::to_owned);
        let policy = Policy {
            root,
            left_out,
            ..parts.policy
        };
        let mut contents = Contents::new(
            parts.quarantine,
            parts.base,
            parts.workspace,
            &changes,
            &parts.baseline,
        );
        let mut case = Self {
            drifts: drifts(&changes, &mut contents)?,
            changes,
            caches: parts.caches,
            contents,
            session: None,
            listing: None,
            baseline: parts.baseline,
            refusals: parts.refusals,
            notes: parts.notes,
            git,
            policy,
            whole: None,
        };
        case.whole = Some(case.propose(&Choices::all())?);
        Ok(case)
    }

    /// Looks at the workspace again: the user may have gone on editing.
    ///
    /// # Errors
    /// When the workspace can't be read, or the quarantine not be written.
    pub fn look_again(&mut self) -> Result<(), Failure> {
        self.drifts = drifts(&self.changes, &mut self.contents)?;
        self.whole = None;
        self.whole = Some(self.propose(&Choices::all())?);
        Ok(())
    }

    /// Says that a finding about a change is allowed, whatever is chosen: what the user
    /// told lazaret to remember.
    ///
    /// # Errors
    /// As [`Proposal::new`].
    pub fn allow(&mut self, allowances: Vec<Allowance>) -> Result<(), Failure> {
        if !allowances.is_empty() {
            self.policy.allowed.extend(allowances);
            self.whole = None;
            self.whole = Some(self.propose(&Choices::all())?);
        }
        Ok(())
    }

    /// Derives what would be applied, and has it judged.
    ///
    /// # Errors
    /// As [`Proposal::new`].
    pub fn propose(&self, choices: &Choices) -> Result<Proposal, Failure> {
        Proposal::new(self, choices)
    }

    /// The proposal to take everything.
    pub fn whole(&self) -> Option<&Proposal> {
        self.whole.as_ref()
    }

    /// Splits what the proposal would do at one path into hunks, which
    /// [`Pick::Hunks`](super::choices::Pick::Hunks) names by their index. `None` for what is
    /// no text on both sides. Propose with the whole path taken to get the change.
    pub fn hunks(&self, proposed: &Change) -> Option<Vec<Hunk>> {
        let (old, new) = self.texts(proposed)?;
        Some(hunks::split(&old, &new))
    }

    /// Reads both sides of a change as text; nothing counts as the empty text.
    pub fn texts(&self, change: &Change) -> Option<(String, String)> {
        let side = |entry: &Option<_>| match entry {
            None => Some(String::new()),
            Some(entry) => self.contents.text(entry),
        };
        Some((side(&change.before)?, side(&change.after)?))
    }

    /// Iterates over what the session changed, in path order, `.git` left out.
    pub fn changes(&self) -> impl ExactSizeIterator<Item = &Change> + Clone {
        self.changes.iter().map(|change| &**change)
    }

    /// Returns what was committed inside, which no apply brings out; `None` where there is none.
    pub fn commits(&self) -> Option<&Unlanded> {
        let commits = &self.session.as_ref()?.commits;
        (!commits.is_empty()).then_some(commits)
    }

    /// Returns the limits that the case is judged by.
    pub fn limits(&self) -> &Limits {
        &self.policy.limits
    }

    /// Looks up what the session did at one path.
    pub fn change(&self, path: &RelPath) -> Option<&Change> {
        let found = self
            .changes
            .binary_search_by(|change| (*change.path).cmp(path));
        Some(self.changes.get(found.ok()?)?)
    }
}

/// Finds which of these places are there in the workspace, a link included. Nothing is opened.
fn left_out(workspace: &WorkspaceDir, places: BTreeSet<RelPathBuf>) -> BTreeSet<RelPathBuf> {
    let is_there = |place: &RelPathBuf| {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statat(workspace.fd(), place.as_str(), flags).is_ok()
    };
    places.into_iter().filter(is_there).collect()
}

/// Opens the workspace of a session.
///
/// # Errors
/// When it is not the directory any more that was copied in (APP-03).
pub(super) fn workspace_of(record: &Record) -> Result<WorkspaceDir, Failure> {
    let lost = |what: &str| {
        let (id, place) = (&record.id, record.workspace.display());
        let text = format!("the workspace {place} {what}");
        Failure::message(FailureKind::Refused, text).hinted(format!(
            "Put the directory that was copied in back, or go on with another one, such as one that was restored from a backup: `lazaret apply {id} --workspace DIR`."
        ))
    };
    let workspace = match WorkspaceDir::open_ambient(&record.workspace) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            return Err(lost("is gone"));
        }
        other => other?,
    };
    match identity(workspace.identity()) == record.workspace_identity {
        true => Ok(workspace),
        false => Err(lost(
            "is another directory now than the one that was copied in",
        )),
    }
}

/// Returns what the batch of a session is judged by.
///
/// # Errors
/// When its record names a path that is none, or what it was handed can't be read.
pub(super) fn policy_of(
    record: &Record,
    env: &Environment,
    dir: &SessionDir,
    baseline: &Tree,
) -> Result<Policy, Failure> {
    let handed = Ledger::of(dir).handed_out().map_err(|error| {
        Failure::new(FailureKind::State, error)
            .context("cannot tell what the session was handed, so its changes can't be judged")
    })?;
    let git = git_config::configuration(env, &record.workspace, baseline);
    Ok(Policy {
        protect: record.bounds.paths()?,
        handed,
        index: git_index::read(&record.workspace).map(Arc::new),
        ..policy(record.gate, git)
    })
}

/// Returns what a batch is judged by.
pub(crate) fn policy(limits: GateLimits, git: GitConfig) -> Policy {
    Policy {
        limits: Limits {
            entries: limits.max_entries,
            total_bytes: limits.max_bytes,
            file_bytes: limits.max_file_bytes,
            ..Limits::shipped()
        },
        // The default file systems of macOS fold case; those of Linux do not.
        destination: if cfg!(target_os = "macos") {
            Destination::Folds
        } else {
            Destination::Distinguishes
        },
        git,
        ..Policy::shipped()
    }
}

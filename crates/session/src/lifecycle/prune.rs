//! What of a store no session needs any more: found, and removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, SystemTime};

use lazaret_runtime::{ContainerName, Engine, EngineError, SessionId, VolumeName};
use lazaret_transfer::HistoryState;
use lazaret_tree::AtPath as _;

use crate::captures::{Capture, CaptureError};
use crate::engine::inventory::{Inventory, SweepError};
use crate::engine::owner::ResourceOwner;
use crate::engine::owner::is_lasting_volume;
use crate::engine::tags::KnownPrefixes;
use crate::live::views;
use crate::store::history::{HistoryError, applies};
use crate::store::moment::Moment;
use crate::store::record::{KeepVolume, Phase};
use crate::store::{LockedSession, SessionDir, Store, StoreError};

/// Why something was not pruned.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// What was applied is not known.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A capture could not be read or removed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Whether a session may go is not known.
    #[error("cannot judge session {id}")]
    Judge {
        /// The session.
        id: SessionId,
        /// Why.
        source: Box<Self>,
    },
    /// Something of a session is left.
    #[error("cannot remove all of session {session}")]
    Remove {
        /// The session, or the owner that the labels name.
        session: String,
        /// Why.
        source: SweepError,
    },
}

/// How long an undo is kept.
#[derive(Debug, Clone)]
pub struct Retention {
    /// How long ago a session was settled at least whose applies are in force.
    pub older_than: Duration,
    /// How long ago a capture was taken at least.
    pub captures_older_than: Duration,
    /// What counts as now.
    pub now: Moment,
}

/// The sessions that can be pruned, or in parts, locked until it is decided.
#[derive(Debug, Default)]
pub struct Candidates {
    /// Settled ones that keep no volume: nothing in the engine is theirs any more.
    settled: Vec<Settled>,
    /// Old captures.
    captures: Vec<Capture>,
    /// Why others are left as they are: something of them was cut off, or can't be read.
    pub refused: Vec<PruneError>,
}

/// A settled session.
#[derive(Debug)]
struct Settled {
    session: LockedSession,
    /// Whether the session itself goes, with its log and what an undo needs.
    is_expired: bool,
}

/// What can be removed.
#[derive(Debug, Default)]
pub struct Plan {
    settled: Vec<Settled>,
    /// Sessions at rest in whose names a command left something that passes with it.
    at_rest: Vec<LockedSession>,
    captures: Vec<Capture>,
    /// In the engine, by the tag of the owner.
    inventory: BTreeMap<String, Inventory>,
}

/// Names of what is, or was, removed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Names {
    /// Sessions.
    pub sessions: Vec<SessionId>,
    /// Captures.
    pub captures: Vec<SessionId>,
    /// Containers.
    pub containers: Vec<ContainerName>,
    /// Volumes.
    pub volumes: Vec<VolumeName>,
}

/// What became of a [`Plan`].
#[derive(Debug, Default)]
pub struct Pruned {
    /// What was removed.
    pub removed: Names,
    /// What could not be, each with its session's name.
    pub failed: Vec<PruneError>,
}

impl Candidates {
    /// Finds the sessions. One that a launcher is at work on is none; nor is one whose record
    /// can't be read, since it may name work.
    ///
    /// # Errors
    /// When the state directory can't be read.
    pub fn of(store: &Store, retention: &Retention) -> Result<Self, PruneError> {
        let mut captures = Capture::list(store)?;
        captures
            .retain(|capture| capture.taken().age(&retention.now) >= retention.captures_older_than);
        let mut found = Self {
            captures,
            ..Self::default()
        };
        for dir in store.list()? {
            let session = match store.lock(dir.id()) {
                Ok(session) => session,
                Err(error @ StoreError::Unfinished { .. }) => {
                    found.refused.push(error.into());
                    continue;
                }
                Err(_) => continue,
            };
            let record = session.record();
            if record.phase == Phase::Settled && record.keep == KeepVolume::UntilSettled {
                match is_expired(&session, retention) {
                    Ok(is_expired) => found.settled.push(Settled {
                        session,
                        is_expired,
                    }),
                    Err(error) => found.refused.push(PruneError::Judge {
                        id: dir.id().clone(),
                        source: Box::new(error),
                    }),
                }
            }
        }
        Ok(found)
    }

    /// Finds what goes with them, and what no session owns.
    ///
    /// # Errors
    /// The engine's, or the disk's.
    pub fn plan(self, store: &Store, engine: &dyn Engine) -> Result<Plan, PruneError> {
        // Listed before the sessions are looked at: a session that is created meanwhile has
        // its directory before it has anything in the engine.
        let all = Inventory::of_store(engine, store.id())?;
        let mut plan = Plan {
            settled: self.settled,
            at_rest: Vec::new(),
            captures: self.captures,
            inventory: BTreeMap::new(),
        };
        plan.at_rest = at_rest(store, &plan, &all)?;
        let removable = RemovableObjects::of(store, &plan)?.of_these(all);
        let containers = removable.containers.iter().map(|(_, tag)| tag);
        let volumes = removable.volumes.iter().map(|(_, tag)| tag);
        let tags: BTreeSet<&String> = containers.chain(volumes).collect();
        let each = tags.into_iter().map(|tag| {
            let theirs = removable.clone().only(|other| other == tag);
            (tag.clone(), theirs)
        });
        plan.inventory = each.collect();
        Ok(plan)
    }
}

/// Locks the sessions that wait or are kept, and in whose names there is something that passes
/// with a command. One that a launcher is at work on is none.
fn at_rest(store: &Store, plan: &Plan, all: &Inventory) -> Result<Vec<LockedSession>, PruneError> {
    let settled: BTreeSet<SessionId> = (plan.settled.iter())
        .map(|settled| settled.session.dir().id().clone())
        .collect();
    let mut found = Vec::new();
    for dir in store.list()? {
        if settled.contains(dir.id()) {
            continue;
        }
        // One that is at work or can't be read is left as it is.
        let Ok(session) = store.lock(dir.id()) else {
            continue;
        };
        let record = session.record();
        let is_at_rest = matches!(record.phase, Phase::Collected | Phase::Settled);
        let transient = all.clone().transient(&record.owner());
        if is_at_rest && !(transient.containers.is_empty() && transient.volumes.is_empty()) {
            found.push(session);
        }
    }
    Ok(found)
}

/// Whether a settled session itself may go. Work of the agent that was taken back exists nowhere
/// else, so that stays; what is in force can be taken back for a while.
fn is_expired(session: &LockedSession, retention: &Retention) -> Result<bool, PruneError> {
    let Retention {
        older_than, now, ..
    } = retention;
    let applies = applies(session.dir())?;
    if applies
        .iter()
        .any(|apply| apply.state != HistoryState::Applied)
    {
        return Ok(false);
    }
    let settled = match session.record().settled() {
        Some(settled) => settled.clone(),
        None => last_written(session.dir())?,
    };
    Ok(applies.is_empty() || settled.age(now) >= *older_than)
}

/// When a record was written last: what says when a session was settled that an earlier
/// lazaret made.
fn last_written(dir: &SessionDir) -> Result<Moment, StoreError> {
    let path = dir.file("session.json");
    let written: SystemTime = fs::metadata(&path)
        .and_then(|metadata| metadata.modified())
        .at(&path)?;
    Ok(Moment::at(written))
}

impl Plan {
    /// Returns whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.names() == Names::default()
    }

    /// Names what would be removed.
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        let expired = self.settled.iter().filter(|settled| settled.is_expired);
        (names.sessions).extend(expired.map(|settled| settled.session.dir().id().clone()));
        (names.captures).extend(self.captures.iter().map(|capture| capture.id().clone()));
        for inventory in self.inventory.values() {
            names.add(inventory);
        }
        names
    }

    /// Removes it, each session by itself: what can't be removed of one keeps no other, and
    /// what is left of it is still named by it.
    ///
    /// # Errors
    /// When the state directory can't be read.
    pub fn carry_out(self, store: &Store, engine: &dyn Engine) -> Result<Pruned, PruneError> {
        let mut pruned = Pruned::default();
        store.sweep()?;
        // While a person thought about it, a name that was free may have become a session's.
        let objects = RemovableObjects::of(store, &self)?;
        let mut stuck = BTreeSet::new();
        let ids: BTreeMap<String, &SessionId> = self
            .sessions()
            .map(|session| (tag(session), session.dir().id()))
            .collect();
        for (tag, inventory) in &self.inventory {
            if stuck.contains(tag) {
                continue;
            }
            let inventory = objects.of_these(inventory.clone());
            match objects.remove(engine, tag, &inventory) {
                Ok(()) => pruned.removed.add(&inventory),
                Err(error) => {
                    stuck.insert(tag.clone());
                    let owner = ids.get(tag).map_or(tag.as_str(), |id| id.as_str());
                    pruned.fail(owner, error.into());
                }
            }
        }
        for Settled {
            session,
            is_expired,
        } in self.settled
        {
            let id = session.dir().id().clone();
            if !is_expired || stuck.contains(&tag(&session)) {
                continue;
            }
            match session.remove() {
                Ok(()) => pruned.removed.sessions.push(id),
                Err(error) => pruned.fail(id.as_str(), error.into()),
            }
        }
        for capture in self.captures {
            let id = capture.id().clone();
            match capture.remove() {
                Ok(()) => pruned.removed.captures.push(id),
                Err(error) => pruned.failed.push(error.into()),
            }
        }
        Ok(pruned)
    }

    /// The sessions that are locked here.
    fn sessions(&self) -> impl Iterator<Item = &LockedSession> {
        let settled = self.settled.iter().map(|settled| &settled.session);
        settled.chain(&self.at_rest)
    }
}

/// What in an engine may go.
struct RemovableObjects {
    tags: KnownPrefixes,
    /// Of sessions to which nothing in the engine is left but the volumes that last as long.
    settled: BTreeSet<String>,
    /// Of those that go themselves.
    expired: BTreeSet<String>,
    at_rest: Vec<ResourceOwner>,
    /// Views whose launcher is gone.
    views: BTreeSet<ContainerName>,
}

impl RemovableObjects {
    fn of(store: &Store, plan: &Plan) -> Result<Self, PruneError> {
        let tags = KnownPrefixes::of(store)?;
        let mut dead = BTreeSet::new();
        for dir in store.list()? {
            // A record that can't be read names no view that could be told from others.
            if let Ok(record) = dir.record() {
                dead.extend(views::dead(&dir, &record)?);
            }
        }
        let settled = plan.settled.iter().map(|settled| tag(&settled.session));
        let expired = plan.settled.iter().filter(|settled| settled.is_expired);
        let expired = expired.map(|settled| tag(&settled.session));
        let owner = |session: &LockedSession| session.record().owner();
        Ok(Self {
            tags,
            settled: settled.collect(),
            expired: expired.collect(),
            at_rest: plan.at_rest.iter().map(owner).collect(),
            views: dead,
        })
    }

    /// Keeps what may go.
    fn of_these(&self, mut all: Inventory) -> Inventory {
        let mut leftovers = Inventory::default();
        for owner in &self.at_rest {
            let transient = all.clone().transient(owner);
            leftovers.containers.extend(transient.containers);
            leftovers.volumes.extend(transient.volumes);
        }
        let is_removable = |tag: &str| !self.tags.knows(tag) || self.settled.contains(tag);
        all.containers.retain(|found| {
            is_removable(&found.1)
                || self.views.contains(&found.0)
                || leftovers.containers.contains(found)
        });
        let is_kept = |(volume, tag): &(VolumeName, String)| {
            is_lasting_volume(volume) && self.tags.knows(tag) && !self.expired.contains(tag)
        };
        all.volumes.retain(|found| {
            (is_removable(&found.1) && !is_kept(found)) || leftovers.volumes.contains(found)
        });
        all
    }

    /// Removes what may go of one owner. Of a session at rest that is what a command left; its
    /// copy stays, which goes with a container everywhere else.
    fn remove(
        &self,
        engine: &dyn Engine,
        tag: &str,
        inventory: &Inventory,
    ) -> Result<(), EngineError> {
        let at_rest = (self.at_rest.iter()).find(|owner| owner.tag.as_str() == tag);
        match at_rest {
            Some(owner) => inventory.remove_transient(engine, owner),
            None => inventory.remove(engine),
        }
    }
}

fn tag(session: &LockedSession) -> String {
    session.record().owner().tag.to_string()
}

impl Pruned {
    fn fail(&mut self, session: &str, source: SweepError) {
        let session = session.to_owned();
        self.failed.push(PruneError::Remove { session, source });
    }
}

impl Names {
    fn add(&mut self, inventory: &Inventory) {
        let containers = inventory.containers.iter();
        self.containers
            .extend(containers.map(|(name, _)| name.clone()));
        let volumes = inventory.volumes.iter();
        self.volumes.extend(volumes.map(|(name, _)| name.clone()));
    }
}

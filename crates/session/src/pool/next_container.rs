//! `NextContainer`: the container that a kept session's next command runs in, made ahead of it.
//!
//! It belongs to its session: it has the session's names and labels, so whatever removes
//! what a session has removes it too, and the session's lock keeps two from making or taking
//! it at once. A file in the session's directory says how far it is:
//!
//! | file | what the session's containers are |
//! |---|---|
//! | `spare.partial` | one is being made or removed; if the lock is free, its launcher died |
//! | `spare` | a next container: `porter init` runs in it, and nothing else ever has |
//! | none | a command's |
//!
//! The file goes before anything else is started in the container, and comes only for a
//! container whose creation succeeded: an engine refuses a name that is taken. So none that
//! a command has been in is ever taken for one.

use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use lazaret_runtime::{ContainerState, Engine, EngineError, Label};
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use crate::context::SessionContext;
use crate::engine::inventory::{Inventory, SweepError};
use crate::engine::owner::ResourceOwner;
use crate::event::Event;
use crate::pool::Fingerprint;
use crate::store::file::{ok_if_absent, remove_file, write_atomically};
use crate::store::{LockedSession, SessionDir, StoreError};

/// The largest file of a next container, in bytes.
const MOST: u64 = 64 << 10;

/// How long an engine has to finish what it was asked for.
pub(crate) const SECOND_LOOK: Duration = Duration::from_millis(700);

/// The next container of a session, as it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextContainer {
    /// The profile that it was made for.
    pub profile: String,
    /// How to reach its engine.
    pub engine: String,
    /// What it was made from.
    pub fit: Fingerprint,
    /// Whether it has a gateway.
    pub has_gateway: bool,
    /// Seconds since 1970 when it was made.
    pub created: u64,
}

impl NextContainer {
    /// Returns what a session's directory says is ready. One that another lazaret wrote is
    /// none: it can't fit.
    pub fn of(dir: &SessionDir) -> Option<Self> {
        let mut bytes = Vec::new();
        let file = fs::File::open(ready(dir)).ok()?;
        file.take(MOST).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether one is being made or removed, or was when its launcher died.
    pub fn is_partial(dir: &SessionDir) -> bool {
        partial(dir).exists()
    }

    /// Whether its containers run, by a list of what the session has.
    fn runs(&self, all: &Inventory, owner: &ResourceOwner) -> bool {
        all.runs(&owner.agent()) && (!self.has_gateway || all.runs(&owner.gateway()))
    }

    /// Asks the engine whether its containers run, and are ours: a name alone says nothing
    /// (FLT-13).
    pub(crate) fn is_up(
        &self,
        engine: &dyn Engine,
        owner: &ResourceOwner,
    ) -> Result<bool, EngineError> {
        let runs = |name| {
            let found = engine.container(&name)?;
            Ok::<_, EngineError>(found.is_some_and(|found| {
                let label = |label: Label| found.labels.get(label.key()).map(String::as_str);
                found.state == ContainerState::Running
                    && label(Label::Store) == Some(&owner.store)
                    && label(Label::Session) == Some(owner.tag.as_str())
            }))
        };
        Ok(runs(owner.agent())? && (!self.has_gateway || runs(owner.gateway())?))
    }

    /// Says that one is about to be made.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn begin(&self, dir: &SessionDir) -> Result<(), SweepError> {
        let path = partial(dir);
        let bytes = serde_json::to_vec(self).map_err(io::Error::other);
        Ok(write_atomically(&path, &bytes.at(&path)?)?)
    }

    /// Says that the one that was begun is made.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn end(dir: &SessionDir) -> Result<(), PathError> {
        let path = ready(dir);
        fs::rename(partial(dir), &path).at(&path)
    }

    /// Says that what containers there are, are a command's.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn forget(dir: &SessionDir) -> Result<(), StoreError> {
        remove_file(&ready(dir))?;
        Ok(remove_file(&partial(dir))?)
    }
}

/// Removes what passes with a command of a session that is at rest, but for a next container
/// that is ready and runs; returns that.
///
/// # Errors
/// The engine's, or the disk's; nothing that is left is taken for a next container then.
pub fn sweep(
    engine: &dyn Engine,
    session: &LockedSession,
) -> Result<Option<NextContainer>, SweepError> {
    let record = session.record();
    let all = Inventory::of_store(engine, &record.store)?.of(&record.owner());
    sweep_all(engine, session, all)
}

/// As [`sweep`], for what an engine has listed.
///
/// # Errors
/// As [`sweep`].
pub(crate) fn sweep_all(
    engine: &dyn Engine,
    session: &LockedSession,
    all: Inventory,
) -> Result<Option<NextContainer>, SweepError> {
    let owner = session.record().owner();
    let next_container =
        NextContainer::of(session.dir()).filter(|next_container| next_container.runs(&all, &owner));
    if next_container.is_some() {
        all.except_next_container(&owner)
            .remove_transient(engine, &owner)?;
        return Ok(next_container);
    }
    all.remove_transient(engine, &owner)?;
    while NextContainer::is_partial(session.dir()) {
        // An engine may still be at what a launcher that was killed had asked for.
        thread::sleep(SECOND_LOOK);
        let late = Inventory::of_store(engine, &owner.store)?.of_next_container(&owner);
        if late.containers.is_empty() && late.volumes.is_empty() {
            break;
        }
        late.remove_transient(engine, &owner)?;
    }
    NextContainer::forget(session.dir())?;
    Ok(None)
}

/// Removes a session's next container, if it has one. Says whether it had.
///
/// # Errors
/// The engine's, or the disk's; no run takes the next container any more then.
pub fn drop_next_container(
    engine: &dyn Engine,
    session: &LockedSession,
) -> Result<bool, SweepError> {
    let dir = session.dir();
    if NextContainer::of(dir).is_none() && !NextContainer::is_partial(dir) {
        return Ok(false);
    }
    ok_if_absent(fs::rename(ready(dir), partial(dir))).at(ready(dir))?;
    let owner = session.record().owner();
    let all = Inventory::of_store(engine, &owner.store)?.of(&owner);
    all.remove_transient(engine, &owner)?;
    NextContainer::forget(dir)?;
    Ok(true)
}

/// Removes the next container of a session whose changes were thrown away. What can't be removed
/// now is left to `prune`, with a word about it: they are thrown away all the same.
pub fn drop_after_discard(cx: &SessionContext<'_>, session: &LockedSession) {
    if let Err(error) = drop_next_container(&*cx.engine, session) {
        cx.events.event(Event::NextContainerStays(&error));
    }
}

fn ready(dir: &SessionDir) -> PathBuf {
    dir.file("spare")
}

fn partial(dir: &SessionDir) -> PathBuf {
    dir.file("spare.partial")
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |age| age.as_secs())
}

//! A session that goes on: another command on the volume that it has.

use std::path::PathBuf;

use lazaret_runtime::{Engine, EngineError, SessionId};
use lazaret_transfer::WorkspaceDir;

use crate::context::SessionContext;
use crate::engine::inventory::{Inventory, SweepError};
use crate::engine::resources::VolumePresence;
use crate::event::Event;
use crate::lifecycle::update::Prefetch;
use crate::store::LockedSession;
use crate::store::record::{Phase, Record, identity};

/// Why a session can't go on.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// It lives in another engine than the one that was named.
    #[error("session {id} lives in another engine: {engine}")]
    OtherEngine {
        /// The session.
        id: SessionId,
        /// Its engine.
        engine: String,
    },
    /// Changes wait that were in a volume which is gone.
    #[error("session {id} holds changes that wait, and its volume is gone")]
    VolumeGone {
        /// The session.
        id: SessionId,
    },
    /// Its workspace is where it was, and another directory.
    #[error("{} is another directory now than the one of session {id}", .workspace.display())]
    ReplacedWorkspace {
        /// The session.
        id: SessionId,
        /// Its workspace.
        workspace: PathBuf,
        /// Where the session is in its life.
        phase: Phase,
    },
    /// It is a session of another workspace.
    #[error("session {id} is one of another workspace: {}", .workspace.display())]
    OtherWorkspace {
        /// The session.
        id: SessionId,
        /// Its workspace.
        workspace: PathBuf,
    },
}

/// The session of a run, before anything is made for it.
#[derive(Debug)]
pub enum Opened<'a> {
    /// There is none yet.
    New,
    /// It goes on, with its volume.
    Kept(Box<KeptSession<'a>>),
}

/// A session that was there before.
#[derive(Debug)]
pub struct KeptSession<'a> {
    pub(super) session: LockedSession,
    pub(super) volume: VolumePresence,
    pub(super) prefetch: Prefetch<'a>,
}

impl<'a> Opened<'a> {
    /// Looks for the volume of a session that [`fits`]. `prefetch` is what is being read of
    /// its workspace meanwhile.
    ///
    /// # Errors
    /// When the engine is another one than the session's, or the volume is gone and changes
    /// that wait were in it.
    pub fn kept(
        cx: &SessionContext<'_>,
        session: LockedSession,
        prefetch: Prefetch<'a>,
    ) -> Result<Self, OpenError> {
        let record = session.record();
        let id = &record.id;
        if cx.info.endpoint != record.engine {
            return Err(OpenError::OtherEngine {
                id: id.clone(),
                engine: record.engine.clone(),
            });
        }
        let owner = record.owner();
        let all = Inventory::of_store(&*cx.engine, &record.store)?.of(&owner);
        let volume = all.standing(record);
        // What a launcher that was killed left behind may not write any more.
        all.remove_transient(&*cx.engine, &owner)?;
        if volume == VolumePresence::Missing {
            match record.phase {
                Phase::Settled => cx.events.event(Event::VolumeGone(id)),
                _ => return Err(OpenError::VolumeGone { id: id.clone() }),
            }
        }
        Ok(Self::Kept(Box::new(KeptSession {
            session,
            volume,
            prefetch,
        })))
    }
}

/// Whether the volume of a session is there. One that carries its name only is not.
///
/// # Errors
/// The engine's.
pub fn standing(engine: &dyn Engine, record: &Record) -> Result<VolumePresence, EngineError> {
    let all = Inventory::of_store(engine, &record.store)?.of(&record.owner());
    Ok(all.standing(record))
}

impl Inventory {
    fn standing(&self, record: &Record) -> VolumePresence {
        let wanted = record.volume();
        match self.volumes.iter().any(|(volume, _)| *volume == wanted) {
            true => VolumePresence::Present,
            false => VolumePresence::Missing,
        }
    }
}

/// Checks that a session is one of this workspace.
///
/// # Errors
/// When it is not.
pub fn fits(record: &Record, workspace: &WorkspaceDir) -> Result<(), OpenError> {
    let id = &record.id;
    let same_place = workspace.path() == record.workspace;
    if same_place && identity(workspace.identity()) == record.workspace_identity {
        return Ok(());
    }
    let (id, workspace) = (id.clone(), record.workspace.clone());
    Err(match same_place {
        true => OpenError::ReplacedWorkspace {
            id,
            workspace,
            phase: record.phase,
        },
        false => OpenError::OtherWorkspace { id, workspace },
    })
}

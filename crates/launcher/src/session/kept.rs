//! A session that goes on: another command on the volume that it has.

use lazaret_runtime::Engine;
use lazaret_transfer::WorkspaceDir;

use super::belongings::Belongings;
use super::berth::VolumePresence;
use super::pool::{Spare, sweep_all};
use super::record::{Phase, Record, identity};
use super::site::Site;
use super::store::LockedSession;
use crate::failure::{Failure, FailureKind};
use crate::ui::Ui;

/// A session to go on with.
#[derive(Debug)]
pub struct Again {
    /// It, locked.
    pub session: LockedSession,
    /// Its volume.
    pub volume: VolumePresence,
    /// Its next container, where one was made ahead and runs.
    pub spare: Option<Spare>,
}

impl Again {
    /// Looks for the volume of a session that [`fits`].
    ///
    /// # Errors
    /// When the engine is another one than the session's, or the volume is gone and changes
    /// that wait were in it.
    pub fn find(site: &Site<'_>, session: LockedSession) -> Result<Self, Failure> {
        let record = session.record();
        let id = &record.id;
        if site.info.endpoint != record.engine {
            let text = format!("session {id} lives in another engine: {}", record.engine);
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted("Leave --engine out, or take another name."));
        }
        // It was made when nothing else of the session was left, on the volume; so there is
        // nothing to list.
        if let Some(spare) = Spare::of(session.dir())
            && spare.is_up(&*site.engine, &record.owner())?
        {
            return Ok(Self {
                session,
                volume: VolumePresence::Present,
                spare: Some(spare),
            });
        }
        let all = Belongings::of_store(&*site.engine, &record.store)?.of(&record.owner());
        let volume = all.standing(record);
        // What a launcher that was killed left behind may not write any more.
        sweep_all(&*site.engine, &session, all)?;
        if volume == VolumePresence::Missing {
            match record.phase {
                Phase::Settled => say_gone(site.ui, record),
                _ => {
                    let text =
                        format!("session {id} holds changes that wait, and its volume is gone");
                    return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
                        "Settle them first: `lazaret apply {id}`, or `lazaret discard {id}`."
                    )));
                }
            }
        }
        Ok(Self {
            session,
            volume,
            spare: None,
        })
    }
}

fn say_gone(ui: &Ui, record: &Record) {
    let words = format!(
        "session {} has no volume: all of the workspace goes in",
        record.id
    );
    ui.status(&words);
}

/// Whether the volume of a session is there. One that carries its name only is not.
///
/// # Errors
/// The engine's.
pub fn standing(engine: &dyn Engine, record: &Record) -> Result<VolumePresence, Failure> {
    let all = Belongings::of_store(engine, &record.store)?.of(&record.owner());
    Ok(all.standing(record))
}

impl Belongings {
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
pub fn fits(record: &Record, workspace: &WorkspaceDir) -> Result<(), Failure> {
    let id = &record.id;
    let same_place = workspace.path() == record.workspace;
    if same_place && identity(workspace.identity()) == record.workspace_identity {
        return Ok(());
    }
    let place = record.workspace.display();
    let text = match same_place {
        true => format!("{place} is another directory now than the one of session {id}"),
        false => format!("session {id} is one of another workspace: {place}"),
    };
    let hint = match (same_place, record.phase) {
        // It holds changes: removing it is no way out.
        (true, Phase::Collected) => format!(
            "Go on with this directory: `lazaret apply {id} --workspace {place}`; or take another name."
        ),
        _ => format!("Take another name, or remove that session with `lazaret rm {id}`."),
    };
    Err(Failure::message(FailureKind::Refused, text).hinted(hint))
}

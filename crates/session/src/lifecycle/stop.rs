//! Ends a session's container: every process of the command is gone afterwards.

use std::time::Duration;

use lazaret_image_builder::Pinned;
use lazaret_protocol::exit;
use lazaret_runtime::{ContainerLease, ContainerState, EngineError, VolumeLease};

use crate::context::SessionContext;
use crate::engine::inventory::SweepError;
use crate::event::Event;
use crate::home;
use crate::live::pause::{Closed, Pauses, unpause};
use crate::live::views::{SweepScope, sweep};
use crate::services;
use crate::store::record::Phase;
use crate::store::{LockedSession, StoreError};

/// Why a session could not be stopped. It stays as it is, for another try.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// From SIGTERM to SIGKILL for what the command left behind.
const GRACE: Duration = Duration::from_secs(15);

/// How long a look at the session may take until its end no longer waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session whose container has ended: the volume changes no more.
#[derive(Debug)]
#[must_use = "its changes are in the volume only: collect them"]
pub struct Stopped {
    pub(crate) session: LockedSession,
    pub(crate) exporter: Pinned,
}

impl Stopped {
    /// Stops the container of a session whose command has ended, or has lost
    /// its launcher. The container is removed meanwhile. `pauses` are those of this process if it
    /// is the one that kept the session.
    ///
    /// # Errors
    /// The engine's. The session stays as it is then, for another try.
    pub fn stop(
        cx: &SessionContext<'_>,
        mut session: LockedSession,
        exporter: Pinned,
        pauses: Option<&Pauses>,
    ) -> Result<Self, StopError> {
        let agent = session.record().agent();
        cx.phase("stop", |_| {
            // A client that hangs, or was itself stopped, holds no end up.
            let closed = pauses.map(|pauses| pauses.close(PATIENCE));
            services::remove_left(&*cx.engine, session.record())?;
            if cx.engine.container(&agent)?.is_some() {
                unpause(&*cx.engine, &agent)?;
                cx.engine.stop_container(&agent, GRACE)?;
            }
            let state = cx
                .engine
                .container(&agent)?
                .map(|container| container.state);
            let (code, was_hit) = match state {
                Some(ContainerState::Exited { code, oom_killed }) => (code, oom_killed),
                _ => (0, false),
            };
            let is = |codes: [u8; 2]| codes.map(i32::from).contains(&code);
            let was_oom_killed =
                was_hit || is([exit::OUT_OF_MEMORY, exit::TIMED_OUT_AND_OUT_OF_MEMORY]);
            let has_timed_out = is([exit::TIMED_OUT, exit::TIMED_OUT_AND_OUT_OF_MEMORY]);
            // They keep the volume in use, and have nothing to look at any more.
            sweep(
                &*cx.engine,
                session.dir(),
                session.record(),
                SweepScope::All,
            )?;
            if closed != Some(Closed::Unused) || session.dir().file("intent").exists() {
                // An update that takes longer than that, or whose keeper was killed, is cut short:
                // the collection knows.
                cx.engine.remove_container(&session.record().importer())?;
            }
            // Beside the collection: nothing of it is running any more.
            let container = ContainerLease::adopt(&cx.engine, &agent);
            let lock = session.share_lock()?;
            match session.record().egress {
                None => cx.removals.remove(container, lock),
                Some(_) => {
                    let gateway = ContainerLease::adopt(&cx.engine, &session.record().gateway());
                    let sockets = VolumeLease::adopt(&cx.engine, &session.record().sockets());
                    (cx.removals).remove_sharing(vec![container, gateway], sockets, lock);
                }
            }
            session.update(|record| {
                record.phase = Phase::Stopped;
                if let Some(end) = &mut record.end {
                    end.oom_killed |= was_oom_killed;
                    end.timed_out |= has_timed_out;
                }
            })?;
            Ok::<_, StopError>(())
        })?;
        let cleaned = home::remove_lent(cx, &session.record().owner(), session.dir(), &exporter);
        if let Err(error) = cleaned {
            cx.events.event(Event::LentFileStays(&error));
        }
        Ok(Self { session, exporter })
    }

    /// Returns the session.
    pub fn session(&self) -> &LockedSession {
        &self.session
    }
}

//! What `diff` and `watch` share: a session whose command runs.

use std::time::Duration;

use lazaret_runtime::SessionId;

use super::live::status;
use super::session_context;
use crate::app::App;
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::report::Live;
use lazaret_session::context::SessionContext;
use lazaret_session::keeper::message::KeeperState;
use lazaret_session::live::view::LiveView;
use lazaret_session::store::record::{Phase, Record};
use lazaret_session::store::{SessionDir, Store};

/// A session whose command runs now.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) dir: SessionDir,
    pub(crate) record: Record,
}

impl Running {
    /// Finds a session whose command runs; `None` when no launcher is at work on it.
    ///
    /// # Errors
    /// When one is, and its command does not run yet, or has ended.
    pub(crate) fn find(store: &Store, id: &SessionId) -> Result<Option<Self>, Failure> {
        let dir = store.find(id)?;
        if !store.is_live(id)? {
            return Ok(None);
        }
        let record = dir.record()?;
        let refuse = |text: String| Failure::message(FailureKind::Refused, text);
        match record.phase {
            Phase::Running => Ok(Some(Self { dir, record })),
            Phase::Preparing | Phase::Syncing => Err(refuse(format!(
                "session {id} is being prepared: its command has not started"
            ))
            .hinted("Try again in a moment.")),
            _ => Err(refuse(format!(
                "the command of session {id} has ended, and another lazaret is at its gate"
            ))
            .hinted("Answer it there, or wait until it has ended.")),
        }
    }

    /// Finds a session that stays although its own command has ended, such as that of `lazaret acp`;
    /// `None` for any other one.
    pub(crate) fn idle(store: &Store, id: &SessionId) -> Option<Self> {
        let running = Self::find(store, id).ok().flatten()?;
        let state = status(&running.dir)?.state;
        (state == KeeperState::Idle).then_some(running)
    }

    /// Puts together what looking at it takes.
    ///
    /// # Errors
    /// When the engine is away, or has no porter.
    pub(crate) fn cx<'a>(
        &self,
        store: &Store,
        app: &'a App,
    ) -> Result<(SessionContext<'a>, lazaret_image_builder::Pinned), Failure> {
        let detected = app.engine_of(&self.record)?;
        let porter = image::ensure(app, &detected, "porter")?.pinned;
        Ok((session_context(app, store, detected), porter))
    }

    /// Begins to look.
    ///
    /// # Errors
    /// As [`LiveView::open`].
    pub(crate) fn view<'a>(
        self,
        (cx, porter): &'a (SessionContext<'a>, lazaret_image_builder::Pinned),
    ) -> Result<LiveView<'a>, Failure> {
        Ok(LiveView::open(cx, self.dir, self.record, porter)?)
    }
}

/// What a report says of a pause.
pub(crate) fn live(paused: Duration) -> Live {
    Live {
        paused_ms: u64::try_from(paused.as_millis()).unwrap_or(u64::MAX),
    }
}

//! How verbs come by a stored session: to go on with it, to look at it while its command runs,
//! or to decide on its changes.

pub(crate) mod live;
pub(crate) mod live_gate;
pub(crate) mod named;
pub(crate) mod question;
pub(crate) mod reopen;
pub(crate) mod running;
pub(crate) mod waiting;
pub(crate) mod with_ignored;

use lazaret_runtime::Detected;
use lazaret_tree::escape;

use crate::app::App;
use lazaret_session::context::{SessionContext, Timings};
use lazaret_session::engine::cleanup::BackgroundRemovals;
use lazaret_session::store::Store;

/// Puts together what the steps of a session work with.
pub(crate) fn session_context<'a>(
    app: &'a App,
    store: &Store,
    detected: Detected,
) -> SessionContext<'a> {
    for warning in &detected.info.warnings {
        app.ui.detail(&escape(warning.as_bytes()));
    }
    SessionContext {
        engine: detected.engine,
        info: detected.info,
        cache_hit: None,
        store_id: store.id().to_owned(),
        events: &app.events,
        cancel: &app.cancel,
        timings: Timings::default(),
        removals: BackgroundRemovals::default(),
        use_init_channel: app.options.use_init_channel,
        reconnect_grace: app.options.reconnect_grace,
    }
}

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

use std::time::Duration;

use lazaret_runtime::{Detected, EngineInfo};
use lazaret_tree::escape;

use crate::app::App;
use lazaret_session::context::{SessionContext, Timings};
use lazaret_session::engine::cleanup::BackgroundRemovals;
use lazaret_session::store::Store;

/// How long a command on another machine waits for a lost connection, in seconds.
const RECONNECT: &str = "LAZARET_RECONNECT";

/// A notebook may be shut for lunch.
const RECONNECT_GRACE: Duration = Duration::from_secs(3600);

/// Puts together what the steps of a session work with.
pub(crate) fn session_context<'a>(
    app: &'a App,
    store: &Store,
    detected: Detected,
) -> SessionContext<'a> {
    for warning in &detected.info.warnings {
        app.ui.detail(&escape(warning.as_bytes()));
    }
    let reconnect_grace = reconnect_grace(app, &detected.info);
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
        reconnect_grace,
    }
}

/// Reads [`RECONNECT`], and warns of a value that is no number where it would count.
fn reconnect_grace(app: &App, engine: &EngineInfo) -> Duration {
    let Some(text) = app.env.text(RECONNECT) else {
        return RECONNECT_GRACE;
    };
    if let Ok(seconds) = text.parse::<u32>() {
        return Duration::from_secs(seconds.into());
    }
    if engine.resumes_connections() {
        let text = escape(text.as_bytes());
        let instead = RECONNECT_GRACE.as_secs();
        app.ui.warn(&format!(
            "{RECONNECT} is `{text}`, which is no number of seconds: {instead} is taken"
        ));
    }
    RECONNECT_GRACE
}

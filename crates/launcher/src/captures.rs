//! Captures what waits in a session before a verb destroys it.

use lazaret_commits::linked::LinkedRepository;
use lazaret_gate::decision::Decision;
use lazaret_runtime::SessionId;
use lazaret_transfer::{ObjectId, Repository};

use crate::app::App;
use crate::commits::repository::{find_git, repository_inside};
use crate::commits::tips::{Lost, Pending};
use crate::decide::case::workspace_of;
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::session_access::session_context;
use crate::ui::Ui;
use lazaret_session::captures::{CaptureError, CommitsToPack, saved_pack, take};
use lazaret_session::store::record::Phase;
use lazaret_session::store::sync_state::read_tips;
use lazaret_session::store::{LockedSession, Store};

/// How long a capture is kept at least, in words.
const KEPT_FOR: &str = "30 days";

/// Captures what waits in a session, and returns the capture's name; `None` where nothing waits.
///
/// # Errors
/// When it can't be captured: then nothing may be destroyed.
pub(crate) fn capture(
    session: &LockedSession,
    store: &Store,
    app: &App,
) -> Result<Option<SessionId>, Failure> {
    if session.record().phase != Phase::Collected {
        return Ok(None);
    }
    let taken = pack_and_take(session, store, app);
    let id = &session.record().id;
    taken.map(Some).map_err(|failure| {
        failure
            .context(format!(
                "session {id} stays: what waits in it can't be captured"
            ))
            .hinted(format!(
                "`lazaret discard {id} --no-capture` removes it for good."
            ))
    })
}

/// Captures what waits in a session, if it is about to be discarded, and says so.
///
/// # Errors
/// As [`capture`].
pub(crate) fn before_discard(
    decision: &Decision,
    session: &LockedSession,
    store: &Store,
    app: &App,
) -> Result<(), Failure> {
    if !matches!(decision, Decision::Discard) {
        return Ok(());
    }
    let captured = capture(session, store, app)?;
    captured.iter().for_each(|capture| tell(capture, &app.ui));
    Ok(())
}

/// Says that something was captured.
pub(crate) fn tell(capture: &SessionId, ui: &Ui) {
    ui.hint(&format!(
        "What waited is kept for {KEPT_FOR}: `lazaret recover --captures {capture}` brings it back."
    ));
}

fn pack_and_take(session: &LockedSession, store: &Store, app: &App) -> Result<SessionId, Failure> {
    let record = session.record();
    let tips = Pending::of(&record.commits, Lost::Take).tips;
    // Those of a session that was captured before are in its pack.
    if tips.is_empty() || saved_pack(session.dir())?.is_some() {
        return Ok(take(store, session, None)?);
    }
    let detected = app.engine_of(record)?;
    let base = image::ensure(app, &detected, "base")?.pinned;
    let cx = session_context(app, store, detected);
    let commits = CommitsToPack {
        cx: &cx,
        image: &base,
        inside: repository_inside()?,
        tips: tips.iter().map(|tip| tip.id).collect(),
        known: known(session, app),
    };
    Ok(cx.phase("capture", |_| take(store, session, Some(&commits)))?)
}

/// Returns what the workspace's repository has. Where that can't be told, the pack holds all.
fn known(session: &LockedSession, app: &App) -> Vec<ObjectId> {
    let Ok(workspace) = workspace_of(session.record()) else {
        return Vec::new();
    };
    let git = find_git(app, &workspace);
    let repository = Repository::find(&workspace).ok().flatten();
    let Some((git, repository)) = git.zip(repository) else {
        return Vec::new();
    };
    let dir = session.dir();
    let linked = LinkedRepository::create(git, &dir.file("linked.git"), &repository);
    let is_cancelled = || app.cancel.check().is_err();
    let sent = read_tips(dir).ids();
    linked
        .ok()
        .and_then(|linked| linked.known(&sent, &is_cancelled).ok())
        .unwrap_or_default()
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Pack(error) => error.into(),
            CaptureError::Io(error) => error.into(),
            CaptureError::Store(error) => error.into(),
            error @ CaptureError::NotFound(_) => Self::new(FailureKind::Refused, error)
                .hinted("`lazaret recover --captures` lists the captures."),
        }
    }
}

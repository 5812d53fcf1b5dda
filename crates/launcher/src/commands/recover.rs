//! `lazaret recover`.

mod captures;

use std::fs::File;

use lazaret_runtime::SessionId;
use lazaret_transfer::{Attempt, NotRestored, WorkspaceDir};
use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::image;
use crate::session_access::session_context;
use crate::ui::OutputFormat;
use lazaret_session::lifecycle::recover::{RecoverOutcome, resume, sweep};
use lazaret_session::lifecycle::repair::{End, Repaired, repair};
use lazaret_session::settle::workspace_lock::lock_workspace;
use lazaret_session::store::record::{Outcome, Record};
use lazaret_session::store::status::State;
use lazaret_session::store::{Store, StoreError};

/// Resume or clean up sessions after lazaret was killed
///
/// Finishes or takes back an apply, an undo or a redo that was interrupted; an undo and a redo need
/// no engine. If you name a session whose changes were rejected, it is collected again from its
/// volume.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session [default: all that were interrupted]
    #[arg(value_name = "NAME")]
    pub session: Option<SessionId>,
    /// List what was captured before sessions were discarded or removed; with NAME, make that
    /// capture a session again
    #[arg(long)]
    pub captures: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    if args.captures {
        return captures::run(&store, args.session.as_ref(), app);
    }
    let wanted = match args.session {
        Some(id) => vec![store.find(&id)?.id().clone()],
        None => broken(&store, app)?,
    };
    let mut rows = Vec::new();
    let mut worst = ExitCode::SUCCESS;
    for id in &wanted {
        app.cancel.check()?;
        let mut say = |what| {
            app.ui.status(&format!("{id}: {}", words(what)));
            rows.push(json!({ "session": id.as_str(), "state": what }));
        };
        match take_up(&store, id, app, &mut say) {
            Ok(()) => {}
            // One session whose engine is away must not keep the others from being taken up.
            Err(failure) => {
                worst = failure.exit_code();
                app.ui.failure(&failure.context(format!("session {id}")));
                rows.push(json!({ "session": id.as_str(), "state": "failed" }));
            }
        }
    }
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&rows),
        OutputFormat::Text if wanted.is_empty() => app.ui.status("nothing to recover"),
        OutputFormat::Text => {}
    }
    Ok(worst)
}

/// Finds the sessions without a launcher which say that one was at work: by their record, or by
/// a journal, which is all that an undo leaves.
fn broken(store: &Store, app: &App) -> Result<Vec<SessionId>, Failure> {
    let mut found = Vec::new();
    for dir in store.list()? {
        match store.lock(dir.id()) {
            Ok(session) if is_broken(session.record()) => found.push(dir.id().clone()),
            Err(StoreError::Unfinished { id, .. }) => found.push(id),
            Ok(_) | Err(StoreError::Busy { .. } | StoreError::NotFound { .. }) => {}
            Err(error) => app.ui.warn(&escape(error.to_string().as_bytes())),
        }
    }
    Ok(found)
}

fn is_broken(record: &Record) -> bool {
    State::at_rest(record) == State::Broken
}

/// Takes a session up, and says what was done about it, each as soon as it is done.
fn take_up(
    store: &Store,
    id: &SessionId,
    app: &App,
    say: &mut dyn FnMut(&'static str),
) -> Result<(), Failure> {
    let mut session = store.lock_to_recover(id)?;
    let _lock = match session.dir().unfinished()? {
        Some(_) => lock_its_workspace(store, session.record(), app)?,
        None => None,
    };
    // No engine is needed for it, and so none is asked for.
    let repaired = repair(&mut session)?;
    for repaired in &repaired {
        report(&repaired.not_restored, app);
        say(word(repaired));
    }
    if !is_broken(session.record()) && !repaired.is_empty() {
        return Ok(());
    }
    let detected = app.engine_of(session.record())?;
    let exporter = image::ensure(app, &detected, "porter")?.pinned;
    let cx = session_context(app, store, detected);
    let resumed = resume(&cx, exporter, session)?;
    // What an engine finished only after its session had been removed.
    sweep(&cx, store)?;
    say(match resumed {
        RecoverOutcome::Removed => "removed",
        RecoverOutcome::SyncCutShort(_session) => "sync_cut_short",
        RecoverOutcome::Collected(mut session) => {
            session.update(|record| record.outcome = Some(Outcome::Kept))?;
            "collected"
        }
        RecoverOutcome::Rejected(mut session) => {
            session.update(|record| record.outcome = Some(Outcome::Rejected))?;
            "rejected"
        }
        RecoverOutcome::RolledBack(mut session, not_restored) => {
            report(&not_restored, app);
            session.update(|record| record.outcome = Some(Outcome::Kept))?;
            "rolled_back"
        }
        RecoverOutcome::Applied(_session) => "applied",
        RecoverOutcome::Unchanged(_session) => "sound",
    });
    Ok(())
}

/// Keeps other launchers from a workspace while it is made whole. One that can't be opened
/// is not there to be changed by any.
fn lock_its_workspace(store: &Store, record: &Record, app: &App) -> Result<Option<File>, Failure> {
    match WorkspaceDir::open_ambient(&record.workspace) {
        Ok(workspace) => {
            let lock = lock_workspace(store, &workspace, &app.events, &app.cancel)?;
            Ok(Some(lock))
        }
        Err(_) => Ok(None),
    }
}

/// The word of `--json` for what was finished.
fn word(repaired: &Repaired) -> &'static str {
    match (repaired.attempt, repaired.end) {
        (Attempt::Apply, End::RolledBack) => "rolled_back",
        (Attempt::Apply, End::Completed) => "applied",
        (Attempt::Undo, End::RolledBack) => "undo_rolled_back",
        (Attempt::Undo, End::Completed) => "undo_completed",
        (Attempt::Redo, End::RolledBack) => "redo_rolled_back",
        (Attempt::Redo, End::Completed) => "redo_completed",
    }
}

/// Names what changed meanwhile, so that it was not taken back.
fn report(not_restored: &[NotRestored], app: &App) {
    for left in not_restored {
        let path = escape(left.path.as_str().as_bytes());
        app.ui.warn(&match &left.saved {
            Some(saved) => format!(
                "{path} changed meanwhile and is left as it is; what was there before is at {}",
                escape(saved.as_str().as_bytes())
            ),
            None => format!("{path} changed meanwhile and is left as it is"),
        });
    }
}

fn words(state: &str) -> &'static str {
    match state {
        "removed" => "its command had not started; everything of it is removed",
        "sync_cut_short" => "its volume was being brought up to date; it is as it was, and is kept",
        "collected" => "its changes are collected and wait: see `lazaret diff`",
        "rejected" => "its changes broke a rule and are rejected; the volume is kept",
        "rolled_back" => "its apply was cut off; the workspace is as it was, the changes wait",
        "undo_rolled_back" => {
            "its undo was cut off and is taken back; the workspace is as the apply left it"
        }
        "undo_completed" => {
            "its undo was cut off when it was done; the workspace is as it was before the apply"
        }
        "redo_rolled_back" => {
            "its redo was cut off and is taken back; the workspace is as it was before the apply"
        }
        "redo_completed" => {
            "its redo was cut off when it was done; the workspace is as the apply left it"
        }
        "applied" => "its apply was cut off when it was done; the workspace is complete",
        _ => "nothing to do",
    }
}

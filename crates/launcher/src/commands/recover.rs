//! `lazaret recover`.

use lazaret_runtime::SessionId;
use lazaret_transfer::{LeftAlone, escape};
use serde_json::json;

use super::image;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::job;
use crate::session::pool::Spare;
use crate::session::record::{Outcome, Phase, Record};
use crate::session::resume::{Resumed, resume, sweep};
use crate::session::store::{Store, StoreError};
use crate::ui::OutputFormat;

/// Take up what a killed lazaret left behind
///
/// A session that is named is collected again even if its changes were rejected: the volume is kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session [default: all that were broken off]
    #[arg(value_name = "NAME")]
    pub session: Option<SessionId>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open(&context.env.state_dir()?)?;
    let wanted = match args.session {
        Some(id) => vec![store.find(&id)?.id().clone()],
        None => broken(&store, context)?,
    };
    let mut rows = Vec::new();
    let mut worst = ExitCode::SUCCESS;
    for id in &wanted {
        context.interrupt.check()?;
        match take_up(&store, id, context) {
            Ok(what) => {
                context.ui.status(&format!("{id}: {}", words(what)));
                rows.push(json!({ "session": id.as_str(), "state": what }));
            }
            // One session whose engine is away must not keep the others from being taken up.
            Err(failure) => {
                worst = failure.exit_code();
                context
                    .ui
                    .failure(&failure.context(format!("session {id}")));
                rows.push(json!({ "session": id.as_str(), "state": "failed" }));
            }
        }
    }
    match context.ui.format() {
        OutputFormat::Json => context.ui.json(&rows),
        OutputFormat::Text if wanted.is_empty() => context.ui.status("nothing to recover"),
        OutputFormat::Text => {}
    }
    Ok(worst)
}

/// Finds the sessions without a launcher which say that one was at work.
fn broken(store: &Store, context: &Context) -> Result<Vec<SessionId>, Failure> {
    let mut found = Vec::new();
    for dir in store.list()? {
        match store.lock(dir.id()) {
            Ok(session) if is_broken(session.record()) || Spare::is_partial(&dir) => {
                found.push(dir.id().clone());
            }
            Ok(_) | Err(StoreError::Busy { .. }) => {}
            Err(error) => context.ui.warn(&escape(error.to_string().as_bytes())),
        }
    }
    Ok(found)
}

fn is_broken(record: &Record) -> bool {
    matches!(
        record.phase,
        Phase::Preparing | Phase::Syncing | Phase::Running | Phase::Stopped | Phase::Applying
    )
}

fn take_up(store: &Store, id: &SessionId, context: &Context) -> Result<&'static str, Failure> {
    let session = store.lock(id)?;
    let detected = context.engine_of(session.record())?;
    let exporter = image::ensure(context, &detected, "porter")?.pinned;
    let site = job::site(context, store, detected);
    let resumed = resume(&site, exporter, session)?;
    // What an engine finished only after its session had been removed.
    sweep(&site, store)?;
    Ok(match resumed {
        Resumed::Removed => "removed",
        Resumed::SyncCutShort(_session) => "sync_cut_short",
        Resumed::Collected(mut session) => {
            session.update(|record| record.outcome = Some(Outcome::Kept))?;
            "collected"
        }
        Resumed::Rejected(mut session) => {
            session.update(|record| record.outcome = Some(Outcome::Rejected))?;
            "rejected"
        }
        Resumed::RolledBack(mut session, left_alone) => {
            report(&left_alone, context);
            session.update(|record| record.outcome = Some(Outcome::Kept))?;
            "rolled_back"
        }
        Resumed::UndoCutShort(_session, left_alone) => {
            report(&left_alone, context);
            "undo_rolled_back"
        }
        Resumed::Applied(_session) => "applied",
        Resumed::Cleared(_session) => "cleared",
        Resumed::Sound(_session) => "sound",
    })
}

/// Names what somebody else changed while an apply was being rolled back.
fn report(left_alone: &[LeftAlone], context: &Context) {
    for left in left_alone {
        let path = escape(left.path.as_str().as_bytes());
        context.ui.warn(&match &left.saved {
            Some(saved) => format!(
                "{path} was changed by somebody else meanwhile and is left as it is; what was \
                 there before is at {}",
                escape(saved.as_str().as_bytes())
            ),
            None => format!("{path} was changed by somebody else meanwhile and is left"),
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
        "undo_rolled_back" => "its undo was cut off; the workspace is as the apply left it",
        "applied" => "its apply was cut off when it was done; the workspace is complete",
        "cleared" => "its next container was half made and is removed; all else is as it was",
        _ => "nothing to do",
    }
}

//! `lazaret undo`.

use lazaret_runtime::SessionId;
use lazaret_transfer::{HistoryState, redo, undo};
use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::decide::changes;
use crate::decide::summary::counts;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, recover_hint};
use crate::resolve::workspace;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::settle::workspace_lock::lock_whole_workspace;
use lazaret_session::store::Store;
use lazaret_session::store::history::{Apply, applies, to_redo, to_undo, write_turn};
use lazaret_session::store::moment::Moment;

/// Take back what a session's last apply did to the workspace
///
/// Each call takes one apply back. If you changed one of its files since, nothing is taken back.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Repeat what the last undo took back
    #[arg(long)]
    pub redo: bool,
    /// Only list what was applied and taken back
    #[arg(long, conflicts_with = "redo")]
    pub list: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    if args.list {
        return list(&applies(&store.find(&id)?)?, app);
    }
    let mut session = store.lock(&id)?;
    let applies = applies(session.dir())?;
    let wanted = match args.redo {
        false => to_undo(&applies),
        true => to_redo(&applies, &session.record().undone),
    };
    let Some(apply) = wanted else {
        return Err(nothing(&args, &id, &applies));
    };
    let workspace = workspace::open(&session.record().workspace, &app.env)?;
    let _lock = lock_whole_workspace(&store, &workspace, &app.events, &app.cancel)?;
    // Before the first move: what is done again is not old enough to be pruned, whatever
    // happens to this process.
    session.update(|record| record.settled_at(Moment::now()))?;
    let receipt = match args.redo {
        false => undo(&apply.journal, &workspace)?,
        true => redo(&apply.journal, &workspace)?,
    };
    if let Some(cause) = &receipt.cleanup {
        let cause = escape(cause.as_bytes());
        app.ui.warn(&format!(
            "the staging directory could not be removed: {cause}"
        ));
        app.ui.hint(&recover_hint(&id));
    }
    let outcome = write_turn(&mut session, apply.number)?;
    let paths: Vec<String> = receipt
        .applied
        .iter()
        .map(|path| escape(path.as_str().as_bytes()))
        .collect();
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({
            "session": id.as_str(),
            "apply": apply.number,
            "outcome": outcome,
            "restored": paths,
        })),
        OutputFormat::Text => {
            let did = if args.redo { "did again" } else { "took back" };
            app.ui.status(&format!(
                "{did} {} of {}{}",
                changes(paths.len()),
                id,
                which(apply.number, applies.len())
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says which of several applies it was.
fn which(number: u32, all: usize) -> String {
    match all {
        0 | 1 => String::new(),
        all => format!(" (apply {number} of {all})"),
    }
}

fn nothing(args: &Args, id: &SessionId, applies: &[Apply]) -> Failure {
    let text = match (args.redo, applies.is_empty()) {
        (_, true) => format!("nothing of session {id} was applied"),
        (false, false) => format!("everything of session {id} has been undone already"),
        (true, false) => format!("nothing of session {id} has been undone"),
    };
    Failure::message(FailureKind::Refused, text)
}

fn list(applies: &[Apply], app: &App) -> Result<ExitCode, Failure> {
    match app.ui.format() {
        OutputFormat::Json => {
            let rows = applies.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            app.ui.json(&rows);
        }
        OutputFormat::Text if applies.is_empty() => app.ui.status("nothing was applied"),
        OutputFormat::Text => {
            for apply in applies {
                app.ui.result(&line(apply)?);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(apply: &Apply) -> Result<serde_json::Value, Failure> {
    let changes = apply.changes()?;
    let changes = lazaret_gate::report::Changes::of(changes.iter().map(|change| &**change));
    Ok(json!({ "apply": apply.number, "state": word(apply.state), "changes": changes }))
}

/// `2  undone   1 modified, 0 added, 0 deleted`.
///
/// # Errors
/// When its journal can't be read any more.
pub(crate) fn line(apply: &Apply) -> Result<String, Failure> {
    let changes = apply.changes()?;
    Ok(format!(
        "{}  {:<10}  {}",
        apply.number,
        word(apply.state),
        counts(changes.iter().map(|change| &**change))
    ))
}

fn word(state: HistoryState) -> &'static str {
    match state {
        HistoryState::Applied => "applied",
        HistoryState::Undone => "undone",
        HistoryState::Unfinished(_) => "unfinished",
    }
}

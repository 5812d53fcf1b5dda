//! `lazaret ls`.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session::record::{KeepVolume, Outcome, Phase, Record};
use crate::session::store::Store;
use crate::session::unlanded::Unlanded;
use crate::ui::{OutputFormat, Tone, elapsed};

/// List sessions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List the sessions of this workspace only
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

/// One row of `ls --json`.
#[derive(Debug, Serialize)]
struct Row {
    session: String,
    state: &'static str,
    /// Whether a launcher is at work on it.
    live: bool,
    profile: String,
    workspace: String,
    created: u64,
    /// The volume that outlives the gate; null where none does.
    volume: Option<String>,
    /// What was committed inside and is not in the workspace's repository.
    commits: Unlanded,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open_if_there(&context.env.state_dir()?)?;
    let wanted = match &args.workspace {
        None => None,
        Some(path) => Some(crate::workspace::open(path, &context.env)?),
    };
    let mut rows = Vec::new();
    let dirs = match &store {
        Some(store) => store.list()?,
        None => Vec::new(),
    };
    for dir in dirs {
        let record = match dir.record() {
            Ok(record) => record,
            Err(error) => {
                context
                    .ui
                    .warn(&lazaret_transfer::escape(error.to_string().as_bytes()));
                continue;
            }
        };
        if wanted
            .as_ref()
            .is_some_and(|wanted| wanted.path() != record.workspace)
        {
            continue;
        }
        // One that can't be looked at, or was removed just now, is not live.
        let live = store
            .as_ref()
            .is_some_and(|store| store.is_live(dir.id()).unwrap_or(false));
        rows.push(Row {
            session: record.id.to_string(),
            state: if live { "live" } else { state(&record) },
            live,
            profile: record.profile.clone(),
            workspace: record.workspace.to_string_lossy().into_owned(),
            created: record.created,
            volume: is_kept(&record).then(|| record.volume().to_string()),
            commits: record.commits,
        });
    }
    match context.ui.format() {
        OutputFormat::Json => context.ui.json(&rows),
        OutputFormat::Text if rows.is_empty() => context.ui.status("no sessions"),
        OutputFormat::Text => print(&rows, context),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &[Row], context: &Context) {
    let ui = &context.ui;
    let escaped = |text: &str| lazaret_transfer::escape(text.as_bytes());
    let width = |get: fn(&Row) -> usize, least| rows.iter().map(get).max().unwrap_or(0).max(least);
    let (names, profiles) = (
        width(|row| row.session.len(), 7),
        width(|row| row.profile.len(), 7),
    );
    let heading = format!(
        "{:<names$}  {:<9}  {:>8}  {:<profiles$}  WORKSPACE",
        "SESSION", "STATE", "AGE", "PROFILE"
    );
    ui.result(&ui.paint_result(Tone::Strong, &heading));
    let now = SystemTime::now();
    for row in rows {
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(row.created);
        let age = now
            .duration_since(created)
            .map_or_else(|_| "-".to_owned(), elapsed);
        let volume = match row.volume {
            Some(_) => "  (volume kept)",
            None => "",
        };
        let commits = match row.commits.is_empty() {
            true => String::new(),
            false => format!("  ({})", row.commits),
        };
        ui.result(&format!(
            "{:<names$}  {:<9}  {age:>8}  {:<profiles$}  {}{volume}{commits}",
            row.session,
            row.state,
            escaped(&row.profile),
            escaped(&row.workspace)
        ));
    }
}

/// Whether the volume of a session outlives the gate.
pub(crate) fn is_kept(record: &Record) -> bool {
    record.keep == KeepVolume::Always
}

/// Says where a session without a launcher is, in one word.
pub(crate) fn state(record: &Record) -> &'static str {
    match (record.phase, record.outcome) {
        (
            Phase::Preparing | Phase::Syncing | Phase::Running | Phase::Stopped | Phase::Applying,
            _,
        ) => "broken",
        (Phase::Collected, _) => "kept",
        (Phase::Rejected, _) => "rejected",
        (Phase::Settled, Some(Outcome::Applied)) => "applied",
        (Phase::Settled, Some(Outcome::Discarded)) => "discarded",
        (Phase::Settled, Some(Outcome::Undone)) => "undone",
        (Phase::Settled, _) => "done",
    }
}

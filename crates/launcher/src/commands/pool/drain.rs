//! `lazaret pool drain`.

use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::session_context;
use crate::ui::{OutputFormat, count};
use lazaret_session::pool::{PoolSizes, PoolStore, remove};
use lazaret_session::store::Store;

/// What is to go.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile [default: all]
    #[arg(value_name = "PROFILE")]
    profile: Option<String>,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let is_meant = |profile: &str| {
        args.profile
            .as_deref()
            .is_none_or(|wanted| wanted == profile)
    };
    let targets = PoolSizes::of(&store);
    // First of all: a run that is under way would replace what is removed.
    for (profile, _) in targets.list()? {
        if is_meant(&profile) {
            targets.forget(&profile)?;
        }
    }
    let pool = PoolStore::of(&store);
    let mut removed: u64 = 0;
    for (tag, slot) in pool.ready()? {
        if !is_meant(&slot.profile) {
            continue;
        }
        app.cancel.check()?;
        if let Some(locked) = pool.lock(&tag)? {
            let detected = app.engine_at(&slot.engine, format!("place {tag}"))?;
            if detected.info.endpoint != slot.engine {
                // Another one was named: what is not there can't be removed there.
                continue;
            }
            remove(&session_context(app, &store, detected), locked)?;
            removed += 1;
        }
    }
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({ "removed": removed })),
        OutputFormat::Text => app
            .ui
            .status(&format!("{} removed from the pool", count(removed))),
    }
    Ok(ExitCode::SUCCESS)
}

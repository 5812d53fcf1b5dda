//! `lazaret pool ls`.

use std::time::{Duration, SystemTime};

use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::ui::{OutputFormat, TextTone, Ui, elapsed};
use lazaret_session::pool::{PoolSizes, PoolStore};
use lazaret_session::store::Store;

pub(super) fn run(app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let (targets, places) = match &store {
        Some(store) => (PoolSizes::of(store).list()?, PoolStore::of(store).ready()?),
        None => Default::default(),
    };
    let ui = &app.ui;
    if ui.format() == OutputFormat::Json {
        let targets: serde_json::Map<_, _> = targets
            .into_iter()
            .map(|(profile, count)| (profile, count.into()))
            .collect();
        let places: Vec<_> = places
            .iter()
            .map(|(tag, slot)| {
                json!({
                    "place": tag.as_str(),
                    "profile": slot.profile,
                    "engine": slot.engine,
                    "created": slot.created,
                })
            })
            .collect();
        ui.json(&json!({ "targets": targets, "places": places }));
        return Ok(ExitCode::SUCCESS);
    }
    for (profile, count) in &targets {
        let ready = (places.iter()).filter(|(_, slot)| slot.profile == *profile);
        ui.status(&format!(
            "{}: {} of {count} ready",
            escape(profile.as_bytes()),
            ready.count()
        ));
    }
    let rows: Vec<Row<'_>> = (places.iter())
        .map(|(tag, slot)| Row {
            slot: tag.to_string(),
            profile: &slot.profile,
            created: slot.created,
            engine: &slot.engine,
        })
        .collect();
    if rows.is_empty() {
        ui.status("nothing waits in the pool");
        return Ok(ExitCode::SUCCESS);
    }
    print(&rows, ui);
    Ok(ExitCode::SUCCESS)
}

/// A container that waits.
struct Row<'a> {
    slot: String,
    profile: &'a str,
    created: u64,
    engine: &'a str,
}

fn print(rows: &[Row<'_>], ui: &Ui) {
    let width = |get: fn(&Row<'_>) -> usize, least| {
        let widest = rows.iter().map(get).max();
        widest.unwrap_or(0).max(least)
    };
    let places = width(|row| row.slot.len(), 17);
    let profiles = width(|row| row.profile.len(), 7);
    let heading = format!(
        "{:<places$}  {:<profiles$}  {:>8}  ENGINE",
        "PLACE", "PROFILE", "AGE"
    );
    ui.result(&ui.paint_result(TextTone::Strong, &heading));
    let now = SystemTime::now();
    for row in rows {
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(row.created);
        let age = now
            .duration_since(created)
            .map_or_else(|_| "-".to_owned(), elapsed);
        ui.result(&format!(
            "{:<places$}  {:<profiles$}  {age:>8}  {}",
            row.slot,
            escape(row.profile.as_bytes()),
            escape(row.engine.as_bytes())
        ));
    }
}

//! `lazaret pool ls`.

use std::time::{Duration, SystemTime};

use lazaret_transfer::escape;
use serde_json::json;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session::pool::{Shelf, Targets};
use crate::session::store::Store;
use crate::ui::{OutputFormat, Tone, elapsed};

pub(super) fn run(context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open_if_there(&context.env.state_dir()?)?;
    let (targets, places) = match &store {
        Some(store) => (Targets::of(store).list()?, Shelf::of(store).ready()?),
        None => Default::default(),
    };
    let ui = &context.ui;
    if ui.format() == OutputFormat::Json {
        let targets: serde_json::Map<_, _> = targets
            .into_iter()
            .map(|(profile, count)| (profile, count.into()))
            .collect();
        let places: Vec<_> = places
            .iter()
            .map(|(tag, place)| {
                json!({
                    "place": tag.as_str(),
                    "profile": place.profile,
                    "engine": place.engine,
                    "created": place.created,
                })
            })
            .collect();
        ui.json(&json!({ "targets": targets, "places": places }));
        return Ok(ExitCode::SUCCESS);
    }
    for (profile, count) in &targets {
        let ready = (places.iter()).filter(|(_, place)| place.profile == *profile);
        ui.status(&format!(
            "{}: {} of {count} ready",
            escape(profile.as_bytes()),
            ready.count()
        ));
    }
    if places.is_empty() {
        ui.status("nothing waits in the pool");
        return Ok(ExitCode::SUCCESS);
    }
    let widest = places.iter().map(|(_, place)| place.profile.len()).max();
    let width = widest.unwrap_or(0).max(7);
    let heading = format!(
        "{:<17}  {:<width$}  {:>8}  ENGINE",
        "PLACE", "PROFILE", "AGE"
    );
    ui.result(&ui.paint_result(Tone::Strong, &heading));
    let now = SystemTime::now();
    for (tag, place) in &places {
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(place.created);
        let age = now
            .duration_since(created)
            .map_or_else(|_| "-".to_owned(), elapsed);
        ui.result(&format!(
            "{tag:<17}  {:<width$}  {age:>8}  {}",
            escape(place.profile.as_bytes()),
            escape(place.engine.as_bytes())
        ));
    }
    Ok(ExitCode::SUCCESS)
}

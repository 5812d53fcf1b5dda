//! `lazaret volume ls`.

use std::time::{Duration, SystemTime};

use lazaret_session::store::Store;
use lazaret_session::volumes::shared::{FillRecord, SharedVolumes};
use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::ui::{OutputFormat, TextTone, elapsed};

pub(super) fn run(app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let volumes = match &store {
        Some(store) => SharedVolumes::of(store).list()?,
        None => Vec::new(),
    };
    let ui = &app.ui;
    if ui.format() == OutputFormat::Json {
        let volumes: Vec<_> = volumes.iter().map(to_json).collect();
        ui.json(&json!({ "volumes": volumes }));
        return Ok(ExitCode::SUCCESS);
    }
    if volumes.is_empty() {
        ui.status("no shared volumes");
        return Ok(ExitCode::SUCCESS);
    }
    let heading = format!("{:<9}  {:>8}  {:<9}  COMMAND", "NAME", "AGE", "PROFILE");
    ui.result(&ui.paint_result(TextTone::Strong, &heading));
    let now = SystemTime::now();
    for volume in &volumes {
        let filled = SystemTime::UNIX_EPOCH + Duration::from_nanos(volume.filled);
        let age = now.duration_since(filled);
        let age = age.map_or_else(|_| "-".to_owned(), elapsed);
        ui.result(&format!(
            "{:<9}  {age:>8}  {:<9}  {}",
            escape(volume.name.as_bytes()),
            escape(volume.profile.as_bytes()),
            escape(volume.command.join(" ").as_bytes())
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says how a volume was filled, with the time in seconds since 1970.
pub(super) fn to_json(volume: &FillRecord) -> serde_json::Value {
    json!({
        "name": volume.name,
        "engine": volume.engine,
        "profile": volume.profile,
        "image": volume.image,
        "command": volume.command,
        "filled": volume.filled / 1_000_000_000,
    })
}

//! `lazaret volume rm`.

use lazaret_runtime::VolumeId;
use lazaret_session::store::Store;
use lazaret_session::volumes::shared::SharedVolumes;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::ui::OutputFormat;

/// What is to go.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shared volume
    #[arg(value_name = "NAME")]
    name: VolumeId,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let Args { name } = args;
    let store = Store::open(&app.env.state_dir()?)?;
    let detected = app.engine()?;
    let engine = &detected.info.endpoint;
    let owners = SharedVolumes::of(&store).remove(name, engine)?;
    if owners.is_empty() {
        let text = format!("there is no shared volume {name} on {engine}");
        return Err(
            Failure::message(FailureKind::Refused, text).hinted("`lazaret volume ls` lists them.")
        );
    }
    for owner in &owners {
        super::remove(owner, &*detected.engine)?;
    }
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({ "removed": name.as_str() })),
        OutputFormat::Text => app.ui.status(&format!("removed {name}")),
    }
    Ok(ExitCode::SUCCESS)
}

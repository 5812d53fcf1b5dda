//! `lazaret image rm` and `lazaret image prune`.

use lazaret_image_builder::{Removed, Sweep};
use serde_json::{Value, json};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::image::ImageBuildContext;
use crate::ui::{OutputFormat, bytes};

/// Remove all builds of images from the engine; the cache keeps their layers
#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// Images
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

/// Remove stale builds of this installation, leftovers of killed builds, and unused layers
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn rm(args: &RmArgs, app: &App) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open(app)?;
    let detected = app.engine()?;
    let builder = images.builder(&detected.engine);
    let mut removed = Vec::new();
    for name in &args.names {
        removed.extend(builder.remove(name)?);
    }
    show(app, &removed);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn prune(args: &PruneArgs, app: &App) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open_all(app)?;
    let detected = app.engine()?;
    let sweep = match args.dry_run {
        true => Sweep::DryRun,
        false => Sweep::Remove,
    };
    let removed = images.builder(&detected.engine).prune(sweep)?;
    show(app, &removed);
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, removed: &[Removed]) {
    match app.ui.format() {
        OutputFormat::Json => {
            let list: Vec<_> = removed.iter().map(to_json).collect();
            app.ui.json(&list);
        }
        OutputFormat::Text => {
            for one in removed {
                app.ui.result(&line(app, one));
            }
        }
    }
}

fn line(app: &App, one: &Removed) -> String {
    match one {
        Removed::Image {
            reference,
            bytes: size,
        } => format!("image      {reference}  {}", bytes(*size)),
        Removed::Container { name } => format!("container  {name}"),
        Removed::Layer { path, bytes: size } => {
            format!("layer      {}  {}", app.ui.place(path), bytes(*size))
        }
    }
}

fn to_json(one: &Removed) -> Value {
    match one {
        Removed::Image { reference, bytes } => {
            json!({ "kind": "image", "reference": reference, "bytes": bytes })
        }
        Removed::Container { name } => json!({ "kind": "container", "name": name }),
        Removed::Layer { path, bytes } => {
            json!({ "kind": "layer", "path": path.display().to_string(), "bytes": bytes })
        }
    }
}

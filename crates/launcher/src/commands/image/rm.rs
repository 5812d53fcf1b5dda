//! `lazaret image rm` and `lazaret image prune`.

use lazaret_image_builder::{Removed, Sweep};
use serde_json::{Value, json};

use crate::context::Context;
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

pub(super) fn rm(args: &RmArgs, context: &Context) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open(context)?;
    let detected = context.engine()?;
    let builder = images.builder(&detected.engine);
    let mut removed = Vec::new();
    for name in &args.names {
        removed.extend(builder.remove(name)?);
    }
    show(context, &removed);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn prune(args: &PruneArgs, context: &Context) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open(context)?;
    let detected = context.engine()?;
    let sweep = match args.dry_run {
        true => Sweep::DryRun,
        false => Sweep::Remove,
    };
    let removed = images.builder(&detected.engine).prune(sweep)?;
    show(context, &removed);
    Ok(ExitCode::SUCCESS)
}

fn show(context: &Context, removed: &[Removed]) {
    match context.ui.format() {
        OutputFormat::Json => {
            let list: Vec<_> = removed.iter().map(to_json).collect();
            context.ui.json(&list);
        }
        OutputFormat::Text => {
            for one in removed {
                context.ui.result(&line(context, one));
            }
        }
    }
}

fn line(context: &Context, one: &Removed) -> String {
    match one {
        Removed::Image {
            reference,
            bytes: size,
        } => format!("image      {reference}  {}", bytes(*size)),
        Removed::Container { name } => format!("container  {name}"),
        Removed::Layer { path, bytes: size } => {
            format!("layer      {}  {}", context.ui.place(path), bytes(*size))
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

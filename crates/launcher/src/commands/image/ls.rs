//! `lazaret image ls`.

use lazaret_image_builder::{ImageState, ListedImage};
use lazaret_runtime::Detected;
use lazaret_transfer::escape;
use serde_json::{Value, json};

use super::workshop::Workshop;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::ui::{OutputFormat, Tone, bytes, elapsed};

/// List the images that are declared and what the engine has of them
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args, context: &Context) -> Result<ExitCode, Failure> {
    let detected = context.engine()?;
    let images = list(context, &detected)?;
    match context.ui.format() {
        OutputFormat::Text => {
            for listed in &images {
                context.ui.result(&line(context, listed));
            }
        }
        OutputFormat::Json => context.ui.json(&to_json(&images)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the declared images and what the engine has of them.
pub(crate) fn list(context: &Context, detected: &Detected) -> Result<Vec<ListedImage>, Failure> {
    let workshop = Workshop::open(context)?;
    Ok(workshop.builder(&detected.engine).list()?)
}

/// One image on one line.
pub(crate) fn line(context: &Context, listed: &ListedImage) -> String {
    let tone = match listed.status.state {
        ImageState::Current => Tone::Good,
        ImageState::Stale => Tone::Warning,
        ImageState::Missing => Tone::Dim,
    };
    let state = context.ui.paint_result(tone, state(listed.status.state));
    let size = listed.status.size.map(|size| format!("  {}", bytes(size)));
    let age = listed
        .status
        .age
        .map(|age| format!("  {} old", elapsed(age)));
    format!(
        "{:10} {state}{}{}  {}",
        listed.name,
        size.unwrap_or_default(),
        age.unwrap_or_default(),
        escape(listed.description.as_bytes())
    )
}

fn state(state: ImageState) -> &'static str {
    match state {
        ImageState::Missing => "missing",
        ImageState::Stale => "stale",
        ImageState::Current => "current",
    }
}

/// The images for programs.
pub(crate) fn to_json(images: &[ListedImage]) -> Value {
    images
        .iter()
        .map(|listed| {
            json!({
                "name": listed.name,
                "description": listed.description,
                "reference": listed.reference.as_str(),
                "state": state(listed.status.state),
                "size": listed.status.size,
                "age_seconds": listed.status.age.map(|age| age.as_secs()),
            })
        })
        .collect()
}

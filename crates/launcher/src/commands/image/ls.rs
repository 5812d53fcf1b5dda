//! `lazaret image ls`.

use std::time::Duration;

use lazaret_image_builder::{ImageState, ListedImage, Reason};
use lazaret_runtime::{Detected, EngineInfo, EngineKind};
use lazaret_tree::escape;
use serde_json::{Value, json};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::image::ImageBuildContext;
use crate::ui::{OutputFormat, TextTone, bytes, elapsed};

/// List the declared images, and which of them each engine has
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let mut all = Vec::new();
    for detected in app.engines()? {
        let engine = engine_name(&detected.info);
        let images = list(app, &detected)?;
        match app.ui.format() {
            OutputFormat::Text => {
                for listed in &images {
                    let line = line(app, listed);
                    app.ui.result(&format!("{engine:15} {line}"));
                }
            }
            OutputFormat::Json => all.extend(images.iter().map(|listed| {
                let mut value = one(listed);
                value["engine"] = json!(engine);
                value["endpoint"] = json!(detected.info.endpoint);
                value
            })),
        }
    }
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&all);
    }
    Ok(ExitCode::SUCCESS)
}

/// The engine as `--engine` takes it.
fn engine_name(info: &EngineInfo) -> &'static str {
    match (info.kind, info.rootless) {
        (EngineKind::Podman, true) => "podman-rootless",
        (EngineKind::Podman, false) => "podman",
        (EngineKind::Docker, _) => "docker",
        (EngineKind::Apple, _) => "apple",
        (EngineKind::Kubernetes, _) => "kubernetes",
        (EngineKind::Fake, _) => "fake",
    }
}

/// Lists the declared images and what the engine has of them.
pub(crate) fn list(app: &App, detected: &Detected) -> Result<Vec<ListedImage>, Failure> {
    let images = ImageBuildContext::open_all(app)?;
    Ok(images.builder(&detected.engine).list()?)
}

/// One image on one line.
pub(crate) fn line(app: &App, listed: &ListedImage) -> String {
    let status = &listed.status;
    let tone = match status.state {
        ImageState::Current => TextTone::Good,
        ImageState::Stale => TextTone::Warning,
        ImageState::Missing => TextTone::Dim,
    };
    let state = app.ui.paint_result(tone, state(status.state));
    let size = status.size.map(|size| format!("  {}", bytes(size)));
    let age = status.age.map(|age| format!("  {} old", age_text(age)));
    let reason = status
        .reason
        .as_ref()
        .map(|reason| format!("  ({})", why(reason)));
    format!(
        "{:10} {state}{}{}{}  {}",
        listed.name,
        reason.unwrap_or_default(),
        size.unwrap_or_default(),
        age.unwrap_or_default(),
        escape(listed.description.as_bytes())
    )
}

fn why(reason: &Reason) -> String {
    match reason {
        Reason::Inputs => "its declaration or lazaret has changed".to_owned(),
        Reason::Age(old) => format!(
            "{} is {} old, {} is the most",
            escape(old.layer.as_bytes()),
            age_text(old.age),
            age_text(old.allowed)
        ),
    }
}

/// Days where there are some: an image's age is none of minutes.
fn age_text(age: Duration) -> String {
    match age.as_secs() / 86_400 {
        0 => elapsed(age),
        days => format!("{days} d"),
    }
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
    images.iter().map(one).collect()
}

fn one(listed: &ListedImage) -> Value {
    json!({
        "name": listed.name,
        "description": listed.description,
        "reference": listed.reference.as_str(),
        "state": state(listed.status.state),
        "reason": listed.status.reason.as_ref().map(why),
        "size": listed.status.size,
        "age_seconds": listed.status.age.map(|age| age.as_secs()),
    })
}

//! `lazaret image`.

use lazaret_image_builder::{BuildEvent, Builder, BuiltImage, Catalog, ImageState, ListedImage};
use lazaret_runtime::Detected;
use lazaret_transfer::escape;
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::porter;
use crate::ui::{OutputFormat, Phase, Tone, Total, Ui, bytes, elapsed, harmless};

/// Build and list images
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Build images; those that are up to date are left alone
    Build {
        /// Images [default: all that come with lazaret]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// List the images that come with lazaret and what the engine has of them
    Ls,
}

pub(crate) fn run(command: Command, context: &Context) -> Result<ExitCode, Failure> {
    match command {
        Command::Build { names } => build(names, context),
        Command::Ls => ls(context),
    }
}

fn build(mut names: Vec<String>, context: &Context) -> Result<ExitCode, Failure> {
    if names.is_empty() {
        let catalog = Catalog::embedded().or_fail(FailureKind::Internal, "read the images")?;
        names = catalog
            .recipes()
            .iter()
            .map(|recipe| recipe.name.to_string())
            .collect();
    }
    let detected = context.engine()?;
    let mut built = Vec::new();
    for name in &names {
        context.interrupt.check()?;
        let image = ensure(context, &detected, name)?;
        if context.ui.format() == OutputFormat::Text {
            let what = if image.reused { "up to date" } else { "built" };
            let what = context.ui.paint_result(Tone::Good, what);
            context
                .ui
                .result(&format!("{name}  {}  {what}", image.reference));
        }
        built.push(json!({
            "name": name,
            "reference": image.reference.as_str(),
            "id": image.id,
            "reused": image.reused,
        }));
    }
    if context.ui.format() == OutputFormat::Json {
        context.ui.json(&built);
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes sure that an image is in the engine's store, and shows what is being done.
///
/// # Errors
/// Names the step that failed.
pub(crate) fn ensure(
    context: &Context,
    detected: &Detected,
    name: &str,
) -> Result<BuiltImage, Failure> {
    let cache = context.env.cache_dir()?.join("images");
    let builder = Builder {
        engine: &*detected.engine,
        porter: porter::bytes()?,
        cache: &cache,
    };
    let mut phase = None;
    let image = builder.ensure(name, &mut |event| show(&context.ui, &mut phase, event))?;
    if let Some(phase) = phase {
        phase.finish();
    }
    Ok(image)
}

fn show(ui: &Ui, phase: &mut Option<Phase>, event: BuildEvent) {
    match event {
        BuildEvent::Bootstrapping { image, suite } => {
            ui.status(&format!(
                "building image {image} from Debian packages ({suite}), which takes a while the \
                 first time"
            ));
            next(ui, phase, "install packages");
        }
        BuildEvent::Pulling { image, base } => {
            ui.status(&format!("building image {image} on {base}"));
            next(ui, phase, "pull the base");
        }
        BuildEvent::WaitingForOther { image } => {
            ui.status(&format!(
                "another lazaret builds image {image}: waiting for it"
            ));
        }
        // The builder has escaped it.
        BuildEvent::Output { line } => ui.detail(&line),
        BuildEvent::Tidying { .. } => {
            next(ui, phase, "tidy");
        }
        BuildEvent::Loading { bytes, .. } => {
            next(ui, phase, "load image").counter().add_bytes(bytes);
        }
        BuildEvent::KeptOld { image, reason } => ui.warn(&format!(
            "image {image} is due for a new build, which failed; the old one is used: {}",
            harmless(&reason)
        )),
    }
}

/// Ends the phase that is going on and starts another one.
fn next<'a>(ui: &Ui, phase: &'a mut Option<Phase>, name: &'static str) -> &'a Phase {
    if let Some(last) = phase.take() {
        last.finish();
    }
    phase.insert(ui.phase(name, Total::Unknown))
}

fn ls(context: &Context) -> Result<ExitCode, Failure> {
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
pub(super) fn list(context: &Context, detected: &Detected) -> Result<Vec<ListedImage>, Failure> {
    let cache = context.env.cache_dir()?.join("images");
    let builder = Builder {
        engine: &*detected.engine,
        porter: porter::bytes()?,
        cache: &cache,
    };
    Ok(builder.list()?)
}

/// One image on one line.
pub(super) fn line(context: &Context, listed: &ListedImage) -> String {
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
        "{:8} {state}{}{}  {}",
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
pub(super) fn to_json(images: &[ListedImage]) -> Value {
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

//! Builds an image and shows what is being done.

use std::sync::{Arc, Mutex, PoisonError};

use lazaret_image_builder::{BuildError, BuildEvent, Builder, BuiltImage};
use lazaret_runtime::{ContainerName, Detected};

use super::build_context::ImageBuildContext;
use crate::app::App;
use crate::failure::Failure;
use crate::ui::{Phase, Total, Ui, sanitize};

/// Makes sure that an image is in the engine's store, and shows what is being done.
///
/// # Errors
/// Names the step that failed.
pub(crate) fn ensure(app: &App, detected: &Detected, name: &str) -> Result<BuiltImage, Failure> {
    let images = ImageBuildContext::open(app)?;
    with_builder(app, &images, detected, |builder, on_event| {
        builder.ensure(name, on_event)
    })
}

/// Does something with a builder whose events are shown. A signal removes the container of
/// the step that runs, which ends it.
pub(crate) fn with_builder<T>(
    app: &App,
    images: &ImageBuildContext,
    detected: &Detected,
    work: impl FnOnce(&Builder<'_>, &mut dyn FnMut(BuildEvent)) -> Result<T, BuildError>,
) -> Result<T, Failure> {
    let builder = images.builder(&detected.engine);
    let running: Arc<Mutex<Option<ContainerName>>> = Arc::default();
    let guard = {
        let (running, engine) = (Arc::clone(&running), Arc::clone(&detected.engine));
        app.cancel.guard(move |_| {
            let name = running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            // The build sees its step end. A failed removal is not the cause of that.
            let _removed = name.map(|name| engine.remove_container(&name));
        })
    };
    let mut phase = None;
    let done = work(&builder, &mut |event| {
        if let BuildEvent::StepStarted { container } = &event {
            let name = container.clone();
            *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
        }
        show(&app.ui, &mut phase, event);
    });
    drop(guard);
    app.cancel.check()?;
    let done = done?;
    if let Some(phase) = phase {
        phase.finish();
    }
    Ok(done)
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
        BuildEvent::Installing {
            image,
            component,
            source,
        } => {
            ui.status(&format!("image {image}: {component} from {source}"));
            next(ui, phase, "install");
        }
        BuildEvent::StepStarted { container } => {
            ui.detail(&format!("the install step runs in container {container}"));
            next(ui, phase, "install");
        }
        BuildEvent::SourceFailed {
            image,
            component,
            source,
            reason,
        } => {
            let lines: Vec<_> = reason.lines().map(sanitize).collect();
            ui.warn(&format!(
                "image {image}: {component} from {source}: {}",
                lines.join("\n  ")
            ));
        }
        // The builder has escaped it.
        BuildEvent::Output { line, .. } => ui.detail(&line),
        BuildEvent::Tidying { .. } => {
            next(ui, phase, "tidy");
        }
        BuildEvent::Loading { bytes, .. } => {
            next(ui, phase, "load image").counter().add_bytes(bytes);
        }
        BuildEvent::Verifying { .. } => {
            next(ui, phase, "verify");
        }
        BuildEvent::KeptOld { image, reason } => ui.warn(&format!(
            "image {image} is due for a new build, which failed; the old one is used: {}",
            sanitize(&reason)
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

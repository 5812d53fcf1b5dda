//! `lazaret image sbom`.

use lazaret_image_builder::BuildEvent;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::image::ImageBuildContext;
use crate::image::with_builder;

/// Print what is in an image, as CycloneDX 1.5 JSON
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The image
    #[arg(value_name = "NAME")]
    name: String,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open(app)?;
    let detected = app.engine()?;
    let lock = with_builder(app, &images, &detected, |builder, on_event| {
        let on_event: &mut dyn FnMut(BuildEvent) = on_event;
        builder.ensure(&args.name, on_event)?;
        builder.lock(&args.name)
    })?;
    let lock = lock.ok_or_else(|| {
        let message = format!("the layers of image {} are not in the cache", args.name);
        Failure::message(FailureKind::Image, message)
            .hinted("`lazaret image rm` it and build it again.")
    })?;
    let text = lock
        .sbom()
        .or_fail(FailureKind::Internal, "write the bill of materials")?;
    app.ui.result(&text);
    Ok(ExitCode::SUCCESS)
}

//! `lazaret image export`.

use std::fs::File;
use std::path::PathBuf;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::image::{ImageBuildContext, with_builder};
use crate::ui::OutputFormat;

/// Write an image to a file, for the nodes of a Kubernetes cluster
///
/// The file is what `docker load` and `ctr images import` take. Layers that are not in the cache
/// are built on the engine of --engine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The image
    #[arg(value_name = "NAME")]
    name: String,
    /// The file, which must not exist
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open(app)?;
    let detected = app.engine()?;
    let path = args.output.display().to_string();
    let mut file = File::create_new(&args.output).or_fail(FailureKind::State, &path)?;
    let exported = with_builder(app, &images, &detected, |builder, on_event| {
        builder.export(&args.name, &mut file, on_event)
    });
    let reference = match exported {
        Ok(reference) => reference,
        Err(failure) => {
            // Half a file would be imported as if it were whole.
            let _left = std::fs::remove_file(&args.output);
            return Err(failure);
        }
    };
    match app.ui.format() {
        OutputFormat::Text => app.ui.result(&format!("{path}  {reference}")),
        OutputFormat::Json => app.ui.json(&serde_json::json!({
            "file": path,
            "reference": reference.as_str(),
        })),
    }
    Ok(ExitCode::SUCCESS)
}

//! `lazaret image verify`.

use lazaret_image_builder::Verified;
use serde_json::{Value, json};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::image::ImageBuildContext;
use crate::image::with_builder;
use crate::ui::OutputFormat;

/// Run every tool of images in a hardened container, and show its version
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Images
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let images = ImageBuildContext::open(app)?;
    let detected = app.engine()?;
    let mut done = Vec::new();
    for name in &args.names {
        app.cancel.check()?;
        let verified = with_builder(app, &images, &detected, |builder, on_event| {
            builder.verify(name, on_event)
        })?;
        if app.ui.format() == OutputFormat::Text {
            for one in &verified {
                app.ui.result(&line(name, one));
            }
        }
        done.push(json!({
            "name": name,
            "verified": verified.iter().map(to_json).collect::<Vec<_>>(),
        }));
    }
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&done);
    }
    Ok(ExitCode::SUCCESS)
}

fn line(image: &str, one: &Verified) -> String {
    let component = one.component.as_deref().unwrap_or(image);
    let version = one.version.as_deref().unwrap_or("ok");
    format!("{image:10} {component:14} {version:12} {}", one.command)
}

fn to_json(one: &Verified) -> Value {
    json!({
        "component": one.component,
        "command": one.command,
        "version": one.version,
        "said": one.said,
    })
}

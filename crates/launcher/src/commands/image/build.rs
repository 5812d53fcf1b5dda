//! `lazaret image build`.

use std::fs;
use std::path::{Path, PathBuf};

use lazaret_image_builder::{Builder, BuiltImage};
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::image::ImageBuildContext;
use crate::image::with_builder;
use crate::ui::{OutputFormat, TextTone};

/// What is needed for a first session: the rest is built when a profile asks for it.
const FIRST: [&str; 2] = ["base", "porter"];

/// Build images and verify them; skips those that are up to date
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Images; NAME+NAME combines two [default: base and porter]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// All that are declared, and the combined ones that profiles name
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Write what went into each image to DIR/NAME/lock.toml, if DIR/NAME is a directory
    #[arg(long, value_name = "DIR")]
    locks: Option<PathBuf>,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let images = match args.all {
        true => ImageBuildContext::open_all(app)?,
        false => ImageBuildContext::open(app)?,
    };
    let names: Vec<String> = if args.all {
        let declared = images.catalog.images().iter().map(|spec| &spec.name);
        let combined = images.catalog.asked_for();
        declared.chain(combined).map(ToString::to_string).collect()
    } else if args.names.is_empty() {
        FIRST.map(str::to_owned).to_vec()
    } else {
        args.names.clone()
    };
    let detected = app.engine()?;
    let mut built = Vec::new();
    for name in &names {
        app.cancel.check()?;
        let image = with_builder(app, &images, &detected, |builder, on_event| {
            match args.locks {
                Some(_) => builder.ensure_layers(name, on_event),
                None => builder.ensure(name, on_event),
            }
        })?;
        if let Some(dir) = &args.locks {
            write_lock(&images.builder(&detected.engine), name, dir)?;
        }
        if app.ui.format() == OutputFormat::Text {
            show(app, name, &image);
        }
        built.push(json!({
            "name": name,
            "reference": image.reference.as_str(),
            "id": image.id,
            "reused": image.reused,
        }));
    }
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&built);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, name: &str, image: &BuiltImage) {
    let what = if image.reused { "up to date" } else { "built" };
    let what = app.ui.paint_result(TextTone::Good, what);
    app.ui
        .result(&format!("{name}  {}  {what}", image.reference));
}

fn write_lock(builder: &Builder<'_>, name: &str, dir: &Path) -> Result<(), Failure> {
    let Some(lock) = builder.lock(name)? else {
        let message = format!("the layers of image {name} are not in the cache: there is no lock");
        return Err(Failure::message(FailureKind::Image, message)
            .hinted("`lazaret image rm` it and build it again."));
    };
    if lock.layer.is_empty() {
        // The porter alone: it locks nothing but itself.
        return Ok(());
    }
    let text = lock
        .to_toml()
        .or_fail(FailureKind::Internal, "write the lock")?;
    let path = dir.join(name).join("lock.toml");
    match fs::write(&path, text) {
        // An image that is declared elsewhere has its lock nowhere.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        written => written.or_fail(FailureKind::State, &format!("{}", path.display())),
    }
}

//! `lazaret profile`.

use std::ffi::OsStr;

use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::profile::{self, Listed, Origin, Profile, WORKSPACE_FILE};
use crate::ui::{OutputFormat, TextTone};

/// Show and check profiles
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the built-in profiles and your own
    Ls,
    /// Show a profile with every default filled in
    Show {
        /// Profile: a name, or a path to a TOML file
        #[arg(value_name = "PROFILE")]
        profile: String,
    },
    /// Check profiles; says file, line, and what is expected
    Check {
        /// Profiles: names, or paths to TOML files; lazaret.toml of a workspace too
        #[arg(value_name = "PROFILE", required = true)]
        profiles: Vec<String>,
    },
    /// Print the JSON schema of profiles, for editors
    Schema,
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Ls => ls(app),
        Command::Show { profile } => show(&profile, app),
        Command::Check { profiles } => Ok(check(&profiles, app)),
        Command::Schema => {
            app.ui.json(&profile::schema());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A line of `profile ls`; a profile that is wrong is listed with its error.
fn ls(app: &App) -> Result<ExitCode, Failure> {
    let ui = &app.ui;
    let mut objects = Vec::new();
    let listed = profile::list(&app.env)?;
    let width = listed
        .iter()
        .map(|listed| listed.name.len())
        .max()
        .unwrap_or(0);
    for Listed { name, origin } in listed {
        let place = match &origin {
            Origin::BuiltIn => "built in".to_owned(),
            Origin::File(path) => escape(path.as_os_str().as_encoded_bytes()),
        };
        let loaded = profile::load(&name, &app.env);
        match ui.format() {
            OutputFormat::Text => {
                let about = match &loaded {
                    Ok(profile) => escape(profile.description.as_bytes()),
                    Err(_) => {
                        ui.paint_result(TextTone::Error, "wrong, see `lazaret profile check`")
                    }
                };
                ui.result(&format!("{name:width$}  {about}  ({place})"));
            }
            OutputFormat::Json => objects.push(json!({
                "name": name,
                "origin": place,
                "description": loaded.as_ref().ok().map(|profile| &profile.description),
                "valid": loaded.is_ok(),
            })),
        }
    }
    if ui.format() == OutputFormat::Json {
        ui.json(&objects);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str, app: &App) -> Result<ExitCode, Failure> {
    let profile = profile::load(name, &app.env)?;
    match app.ui.format() {
        OutputFormat::Text => app.ui.result(profile.to_toml().trim_end()),
        OutputFormat::Json => app.ui.json(&profile.to_json()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks all of them, so that one run shows every mistake.
fn check(names: &[String], app: &App) -> ExitCode {
    let ui = &app.ui;
    let mut code = ExitCode::SUCCESS;
    for name in names {
        match check_one(name, app) {
            Ok(()) if ui.format() == OutputFormat::Text => {
                ui.result(&format!("{}: ok", escape(name.as_bytes())));
            }
            Ok(()) => {}
            Err(failure) => {
                ui.failure(&failure);
                code = failure.exit_code();
            }
        }
    }
    if ui.format() == OutputFormat::Json {
        ui.json(&json!({ "checked": names, "valid": code == ExitCode::SUCCESS }));
    }
    code
}

/// Checks a profile, or a workspace's own file, which is judged by other rules.
fn check_one(name: &str, app: &App) -> Result<(), Failure> {
    let path = app.env.cwd.join(name);
    if path.file_name() == Some(OsStr::new(WORKSPACE_FILE)) {
        if !path.exists() {
            return Err(Failure::message(
                FailureKind::Profile,
                format!("there is no {name}"),
            ));
        }
        let workspace = path.parent().unwrap_or(&app.env.cwd);
        let any = profile::load("base", &app.env)?;
        any.tightened_by(workspace)?;
        Profile::shared_by(workspace)?;
    } else {
        profile::load(name, &app.env)?;
    }
    Ok(())
}

//! `lazaret group show`.

use lazaret_tree::escape;
use serde_json::Value;

use super::ls::row;
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::groups::Groups;
use crate::ui::OutputFormat;

/// Show what is written of a group
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Group
    #[arg(value_name = "GROUP")]
    name: String,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let groups = Groups::load(&app.env)?;
    let group = groups.get(&args.name)?;
    let written = groups.written(&args.name);
    match app.ui.format() {
        OutputFormat::Json => {
            let mut row = row(group)?;
            for key in ["limits", "network"] {
                let table = written.as_ref().and_then(|written| written.get(key));
                row[key] = serde_json::to_value(table).unwrap_or(Value::Null);
            }
            app.ui.json(&row);
        }
        OutputFormat::Text => {
            let text = toml::to_string(&written).or_fail(FailureKind::Internal, "the group")?;
            for line in text.lines() {
                app.ui.result(&escape(line.as_bytes()));
            }
            app.ui.result(&format!("# session: {}", group.session()?));
        }
    }
    Ok(ExitCode::SUCCESS)
}

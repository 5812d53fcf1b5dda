//! `lazaret allowed`.

use lazaret_gate::allowlist::Entry;
use lazaret_tree::escape;
use serde_json::json;

use super::diff::parse_paths;
use crate::app::App;
use crate::decide::allowlist;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::ui::OutputFormat;

/// List or remove what you allowed for good with `apply --remember`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do [default: list]
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do with it.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List what you allowed
    Ls,
    /// Remove an allowance
    Rm {
        /// The path, as it is listed
        #[arg(value_name = "PATH")]
        path: String,
        /// Only this finding [default: all about the path]
        #[arg(long, value_name = "CODE")]
        code: Option<String>,
    },
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let mut allowlist = allowlist::load(&app.env)?;
    match args.command {
        None | Some(Command::Ls) => list(allowlist.entries(), app),
        Some(Command::Rm { path, code }) => {
            for parsed in parse_paths(std::slice::from_ref(&path))? {
                let removed = allowlist.remove(&parsed, code.as_deref())?;
                let shown = escape(path.as_bytes());
                if removed == 0 {
                    let text = format!("nothing is allowed for {shown}");
                    return Err(Failure::message(FailureKind::Refused, text));
                }
                app.ui
                    .status(&format!("removed {removed} allowed for {shown}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(entries: &[Entry], app: &App) {
    let path = |entry: &Entry| escape(entry.path.as_str().as_bytes());
    match app.ui.format() {
        OutputFormat::Json => {
            let row = |entry: &Entry| {
                let print = entry.fingerprint.to_hex();
                json!({ "code": escape(entry.code.as_bytes()), "path": path(entry), "fingerprint": print })
            };
            let rows: Vec<_> = entries.iter().map(row).collect();
            app.ui.json(&rows);
        }
        OutputFormat::Text if entries.is_empty() => app.ui.status("nothing is allowed"),
        OutputFormat::Text => {
            let codes = entries.iter().map(|entry| entry.code.chars().count());
            let width = codes.max().unwrap_or(0);
            for entry in entries {
                let code = escape(entry.code.as_bytes());
                app.ui.result(&format!("{code:<width$}  {}", path(entry)));
            }
        }
    }
}

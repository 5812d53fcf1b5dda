//! `lazaret logs`.

use std::fs;
use std::io::Write as _;

use lazaret_tree::PathError;

use crate::app::App;
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::ui::terminal::TextSanitizer;
use crate::ui::{Output, OutputFormat};
use lazaret_session::store::Store;

/// Show what a session's command wrote
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let dir = store.find(&args.session)?;
    let path = dir.file("log");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text = format!(
                "session {} has no log: its command never started",
                args.session
            );
            return Err(Failure::message(FailureKind::Refused, text));
        }
        Err(source) => return Err(PathError { path, source }.into()),
    };
    match (app.ui.format(), app.env.streams.stdout) {
        (OutputFormat::Json, _) => {
            let log = lazaret_tree::escape(&bytes);
            app.ui
                .json(&serde_json::json!({ "session": args.session.as_str(), "log": log }));
        }
        (OutputFormat::Text, StreamKind::Terminal) => {
            write(app, TextSanitizer::default().pass(&bytes).as_bytes());
        }
        (OutputFormat::Text, StreamKind::Other) => write(app, &bytes),
    }
    Ok(ExitCode::SUCCESS)
}

fn write(app: &App, bytes: &[u8]) {
    // The user interface remembers a failure and reports it at the end.
    drop(app.ui.writer(Output::Stdout).write_all(bytes));
}

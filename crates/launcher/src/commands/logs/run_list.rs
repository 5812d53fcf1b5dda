//! `lazaret logs --list`: the runs of a session.

use std::time::{Duration, SystemTime};

use lazaret_runtime::SessionId;
use lazaret_session::store::SessionDir;
use lazaret_session::store::run_log::RunSummary;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::ui::session_events::show_command;
use crate::ui::{OutputFormat, TextTone, elapsed, elide};

/// Columns of everything before the command.
const MARGIN: usize = 35;

pub(super) fn show(id: &SessionId, dir: &SessionDir, app: &App) -> Result<ExitCode, Failure> {
    let runs = RunSummary::list(dir)?;
    let ui = &app.ui;
    if ui.format() == OutputFormat::Json {
        ui.json(&json!({ "session": id.as_str(), "runs": runs }));
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        ui.status(&format!("session {id} has no runs"));
        return Ok(ExitCode::SUCCESS);
    }
    let heading = format!(
        "{:>4}  {:>8}  {:>8}  {:<7}  COMMAND",
        "RUN", "AGE", "TIME", "EXIT"
    );
    ui.result(&ui.paint_result(TextTone::Strong, &heading));
    for run in &runs {
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(run.started);
        let age = SystemTime::now().duration_since(started);
        let age = age.map_or_else(|_| "-".to_owned(), elapsed);
        let (took, exit) = match run.end {
            Some(end) => (
                elapsed(Duration::from_millis(end.duration_ms)),
                end.exit_code.to_string(),
            ),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let command = elide(
            &show_command(&run.command),
            ui.width().saturating_sub(MARGIN),
        );
        let number = run.run;
        ui.result(&format!(
            "{number:>4}  {age:>8}  {took:>8}  {exit:<7}  {command}"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

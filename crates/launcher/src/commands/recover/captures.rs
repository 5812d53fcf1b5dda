//! `lazaret recover --captures [NAME]`.

use lazaret_runtime::SessionId;
use lazaret_tree::escape;
use serde::Serialize;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::ui::{OutputFormat, TextTone, elapsed};
use lazaret_session::captures::{Capture, restore};
use lazaret_session::store::Store;
use lazaret_session::store::moment::Moment;
use lazaret_session::store::unlanded::Unlanded;

/// One row of `recover --captures --json`.
#[derive(Debug, Serialize)]
struct Row {
    /// Its name, which is that of the session that it becomes.
    capture: String,
    /// The session that was discarded or removed.
    session: String,
    /// When, in seconds since 1970.
    taken: u64,
    profile: String,
    workspace: String,
    /// What was committed inside.
    commits: Unlanded,
    /// Why the session's files are not in it, escaped; null if they are.
    lacks_files: Option<String>,
}

pub(super) fn run(
    store: &Store,
    wanted: Option<&SessionId>,
    app: &App,
) -> Result<ExitCode, Failure> {
    match wanted {
        Some(id) => bring_back(store, id, app)?,
        None => list(store, app)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn bring_back(store: &Store, id: &SessionId, app: &App) -> Result<(), Failure> {
    let capture = Capture::open(store, id)?;
    let commits = capture.record().commits.clone();
    restore(store, id)?;
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&serde_json::json!({
            "session": id.as_str(),
            "state": "restored",
            "commits": commits,
            "lacks_files": capture.lacks_files(),
        }));
        return Ok(());
    }
    app.ui.status(&format!(
        "what waited in session {} waits in session {id} now",
        capture.session()
    ));
    match capture.lacks_files() {
        Some(why) => app
            .ui
            .warn(&format!("its files are not in the capture: {why}")),
        None => app.ui.hint(&format!(
            "Look with `lazaret review {id}`, or with `lazaret diff {id}` and then `lazaret apply {id}`."
        )),
    }
    if !commits.is_empty() {
        app.ui.hint(&format!(
            "`lazaret commits land {id}` brings its commits into your repository."
        ));
    }
    Ok(())
}

fn list(store: &Store, app: &App) -> Result<(), Failure> {
    let captures = Capture::list(store)?;
    match app.ui.format() {
        OutputFormat::Json => app
            .ui
            .json(&captures.iter().map(Row::of).collect::<Vec<_>>()),
        OutputFormat::Text if captures.is_empty() => app.ui.status("no captures"),
        OutputFormat::Text => print(&captures, app),
    }
    Ok(())
}

fn print(captures: &[Capture], app: &App) {
    let ui = &app.ui;
    let width = |get: fn(&Capture) -> usize| captures.iter().map(get).max().unwrap_or(0).max(7);
    let names = width(|capture| capture.id().as_str().len());
    let sessions = width(|capture| capture.session().len());
    let heading = format!(
        "{:<names$}  {:<sessions$}  {:>8}  WORKSPACE",
        "CAPTURE", "SESSION", "AGE"
    );
    ui.result(&ui.paint_result(TextTone::Strong, &heading));
    let now = Moment::now();
    for capture in captures {
        let record = capture.record();
        let commits = match (record.commits.is_empty(), capture.lacks_files()) {
            (true, _) => String::new(),
            (false, None) => format!("  ({})", record.commits),
            (false, Some(_)) => format!("  (without files; {})", record.commits),
        };
        ui.result(&format!(
            "{:<names$}  {:<sessions$}  {:>8}  {}{commits}",
            capture.id().as_str(),
            escape(capture.session().as_bytes()),
            elapsed(capture.taken().age(&now)),
            escape(record.workspace.to_string_lossy().as_bytes()),
        ));
    }
    ui.hint("`lazaret recover --captures NAME` makes one a session again.");
}

impl Row {
    fn of(capture: &Capture) -> Self {
        let record = capture.record();
        Self {
            capture: capture.id().to_string(),
            session: capture.session().to_owned(),
            taken: capture.taken().unix,
            profile: record.profile.clone(),
            workspace: record.workspace.to_string_lossy().into_owned(),
            commits: record.commits.clone(),
            lacks_files: capture.lacks_files().map(str::to_owned),
        }
    }
}

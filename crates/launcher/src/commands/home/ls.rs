//! `lazaret home ls`.

use lazaret_session::home::state::HomeStore;
use lazaret_session::store::Store;
use lazaret_tree::escape;
use serde::Serialize;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::ui::{OutputFormat, TextTone};

/// One row of `home ls --json`.
#[derive(Debug, Serialize)]
struct Row {
    session: String,
    profile: String,
    volume: String,
    put_back: usize,
    allowed: usize,
}

pub(super) fn run(app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let dirs = match &store {
        Some(store) => store.list()?,
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for dir in dirs {
        let home = HomeStore::of(&dir);
        if !home.exists() {
            continue;
        }
        let (record, state) = (dir.record()?, home.read()?);
        rows.push(Row {
            session: record.id.to_string(),
            volume: record.owner().home_volume().to_string(),
            put_back: state.waiting().count(),
            allowed: state.allowed.len(),
            profile: record.profile,
        });
    }
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&rows),
        OutputFormat::Text if rows.is_empty() => app.ui.status("no session keeps its home"),
        OutputFormat::Text => print(&rows, app),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &[Row], app: &App) {
    let ui = &app.ui;
    let width = |get: fn(&Row) -> usize| rows.iter().map(get).max().unwrap_or(0).max(7);
    let names = width(|row| row.session.len());
    let profiles = width(|row| row.profile.len());
    let heading = format!(
        "{:<names$}  {:<profiles$}  {:>8}  {:>7}",
        "SESSION", "PROFILE", "PUT BACK", "ALLOWED"
    );
    ui.result(&ui.paint_result(TextTone::Strong, &heading));
    for row in rows {
        let profile = escape(row.profile.as_bytes());
        ui.result(&format!(
            "{:<names$}  {profile:<profiles$}  {:>8}  {:>7}",
            row.session, row.put_back, row.allowed
        ));
    }
}

//! `lazaret show`.

use lazaret_egress::Mode;
use serde::Serialize;

use super::undo;
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, recover_hint};
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::session_events::show_command;
use crate::ui::{OutputFormat, count};
use lazaret_session::captures::captured_of;
use lazaret_session::services::status::ServiceStatus;
use lazaret_session::store::history::applies;
use lazaret_session::store::record::{Phase, Record};
use lazaret_session::store::status::Status;
use lazaret_session::store::{SessionDir, Store};

/// Show everything about one session
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
}

/// What `show --json` prints: the record, and where the session is.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    record: &'a Record,
    #[serde(flatten)]
    status: Status,
    /// The record has their names alone.
    #[serde(skip_serializing_if = "<[ServiceStatus]>::is_empty")]
    service_states: &'a [ServiceStatus],
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    let dir = store.find(&id)?;
    let record = dir.record()?;
    let status = Status::of(&store, &dir, &record);
    let services = super::services::of(&dir)?;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&Shown {
            record: &record,
            status,
            service_states: &services,
        }),
        OutputFormat::Text => {
            app.ui.result(&render(&record, status, &services, &dir));
            match lines(&dir) {
                Ok(lines) => lines.iter().for_each(|line| app.ui.result(line)),
                // What can't be read is no reason to say nothing of the rest.
                Err(failure) => app.ui.failure(&failure),
            }
            if let Some(what) = status.unfinished {
                app.ui.warn(&format!("session {}: {what}", record.id));
                app.ui.hint(&recover_hint(&record.id));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the applies, as `undo --list` does.
fn lines(dir: &SessionDir) -> Result<Vec<String>, Failure> {
    let lines = applies(dir)?.into_iter();
    let line = |apply| Ok(format!("{:<10} {}", "apply", undo::line(&apply)?));
    lines.map(line).collect()
}

fn network(record: &Record) -> String {
    let Some(egress) = &record.egress else {
        return "none".to_owned();
    };
    let mode = match egress.mode {
        Mode::Allowlist => "allowlist",
        Mode::Open => "open",
    };
    let totals = egress.totals.map_or(String::new(), |totals| {
        format!(
            ", {} allowed, {} denied, {} by the broker",
            count(totals.allowed),
            count(totals.denied),
            count(totals.brokered)
        )
    });
    let lost = if egress.gateway_lost {
        ", its gateway was lost"
    } else {
        ""
    };
    format!("{mode}{totals}{lost}")
}

fn volume(record: &Record, dir: &SessionDir) -> String {
    if let Some(session) = captured_of(dir) {
        let session = lazaret_tree::escape(session.as_bytes());
        return format!("none: restored from a capture of session {session}");
    }
    let fate = match (super::ls::is_kept(record), record.phase) {
        (true, _) => ", kept until `lazaret rm`",
        (false, Phase::Settled) => ", removed",
        (false, _) => ", until the session is settled",
    };
    format!("{}{fate}", record.volume())
}

fn render(record: &Record, status: Status, services: &[ServiceStatus], dir: &SessionDir) -> String {
    let escaped = |text: &str| lazaret_tree::escape(text.as_bytes());
    let mut rows = vec![
        ("session", record.id.to_string()),
        ("workspace", escaped(&record.workspace.to_string_lossy())),
        ("profile", escaped(&record.profile)),
        ("command", show_command(&record.command)),
        ("image", record.image.clone()),
        ("engine", escaped(&record.engine)),
        ("state", status.state.as_str().to_owned()),
    ];
    if let Some(from) = record.from_branch() {
        rows.push(("from", from.to_string()));
    }
    if let Some(end) = &record.end {
        rows.push(("ended", end.to_string()));
    }
    if let Some((code, reason)) = &record.rejection {
        rows.push(("rejected", format!("{code}: {}", escaped(reason))));
    }
    for commits in record.commits.iter() {
        let subject = commits.subject.as_ref();
        let subject = subject.map_or(String::new(), |subject| format!("  {subject}"));
        rows.push(("commits", format!("{commits}{subject}")));
    }
    rows.push(("network", network(record)));
    if !record.bounds.protect.is_empty() {
        let paths: Vec<String> = record
            .bounds
            .protect
            .iter()
            .map(|path| escaped(path))
            .collect();
        rows.push(("read only", paths.join(", ")));
    }
    if !services.is_empty() {
        rows.push(("services", super::ls::shown(services)));
    }
    rows.push(("volume", volume(record, dir)));
    let lines: Vec<String> = rows
        .into_iter()
        .map(|(name, value)| format!("{name:<10} {value}"))
        .collect();
    lines.join("\n")
}

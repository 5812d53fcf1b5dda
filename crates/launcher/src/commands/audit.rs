//! `lazaret audit`.

use std::time::{Duration, SystemTime};

use lazaret_session::audit::AuditLog;
use lazaret_session::audit::event::{Approval, AuditEvent};
use lazaret_session::audit::line::Entry;
use lazaret_session::audit::verify::{Damage, Verified};
use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::ui::{OutputFormat, TextTone, count, elapsed, elide};

/// Show what ran and who approved what, and check that none of it was changed
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the entries, the oldest first
    ///
    /// Entries after a damaged line are not listed.
    Show {
        /// Only those of this session
        #[arg(value_name = "NAME")]
        session: Option<String>,
    },
    /// Check the chain of hashes; a damaged line is named, and its byte if only one was changed
    Verify,
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    let verified = AuditLog::of(&app.env.state_dir()?).verify()?;
    match command {
        Command::Show { session } => show(&verified, session.as_deref(), app),
        Command::Verify => verify(verified, app),
    }
}

fn verify(verified: Verified, app: &App) -> Result<ExitCode, Failure> {
    let entries = verified.entries.len();
    if let Some(damage) = verified.damage {
        return Err(damaged(&damage));
    }
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({ "entries": entries, "whole": true })),
        OutputFormat::Text => {
            let entries = count(entries as u64);
            app.ui
                .result(&format!("{entries} entries, nothing changed"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(verified: &Verified, session: Option<&str>, app: &App) -> Result<ExitCode, Failure> {
    let entries = verified.entries.iter();
    let entries = entries.filter(|entry| session.is_none_or(|name| name == entry.session));
    for entry in entries {
        match app.ui.format() {
            OutputFormat::Json => app.ui.json_line(entry),
            OutputFormat::Text => app.ui.result(&line(entry, app)),
        }
    }
    match &verified.damage {
        Some(damage) => Err(damaged(damage)),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn damaged(damage: &Damage) -> Failure {
    let text = format!("the audit log is damaged: {damage}");
    Failure::message(FailureKind::State, text)
        .hinted("Compare `audit.jsonl` in the state directory with a backup.")
}

/// `12  3 min 5 s ago  shop  approved  by a person: 4 changes`.
fn line(entry: &Entry, app: &App) -> String {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(entry.at);
    let age = SystemTime::now().duration_since(then).map_or_else(
        |_| "in the future".to_owned(),
        |age| format!("{} ago", elapsed(age)),
    );
    let kind = format!("{:<8}", entry.event.kind());
    let kind = app.ui.paint_result(TextTone::Strong, &kind);
    let start = format!(
        "{:>5}  {age:>16}  {}  ",
        entry.n,
        escape(entry.session.as_bytes())
    );
    let room = app.ui.width().saturating_sub(start.chars().count() + 10);
    format!(
        "{start}{kind}  {}",
        elide(&words(&entry.event), room.max(20))
    )
    .trim_end()
    .to_owned()
}

fn words(event: &AuditEvent) -> String {
    match event {
        AuditEvent::Run {
            run,
            profile,
            command,
            ..
        } => {
            let command = escape(command.join(" ").as_bytes());
            format!("{run}, {}: {command}", escape(profile.as_bytes()))
        }
        AuditEvent::End { run, end } => format!("{run}, exit code {}", end.exit_code),
        AuditEvent::Approved(approval) => approved(approval),
        AuditEvent::Settled { outcome } => outcome.as_str().to_owned(),
        AuditEvent::Removed => String::new(),
    }
}

fn approved(approval: &Approval) -> String {
    let changes = crate::decide::changes(approval.changes);
    let findings: usize = approval.findings.values().sum();
    let allowed = match approval.allowed.as_slice() {
        [] => String::new(),
        allowed => format!(", allowed: {}", allowed.join(", ")),
    };
    format!(
        "{changes} by {}, {findings} findings{allowed}",
        approval.by.words()
    )
}

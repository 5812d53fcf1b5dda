//! Turns what a session tells into lines and progress.

use std::sync::{Mutex, PoisonError};

use lazaret_transfer::{SkipReason, Skipped, SyncConflict, SyncConflictKind};
use lazaret_tree::escape;

use super::{Phase, Ui, bytes, count, elide};
pub use lazaret_gate::format::show_command;
use lazaret_session::commits::repository_news::RepositoryNews;
use lazaret_session::event::{Event, EventSink};
use lazaret_session::lifecycle::forecast::RepositoryForecast;
use lazaret_session::lifecycle::update_summary::UpdateSummary;

/// The most branches that are named on one line.
const MOST_BRANCHES: usize = 6;

/// Shows a session to the user.
#[derive(Debug)]
pub struct SessionEvents {
    ui: Ui,
    /// The steps that go on.
    phases: Mutex<Vec<(&'static str, Phase)>>,
}

impl SessionEvents {
    /// Shows it on `ui`.
    pub fn new(ui: Ui) -> Self {
        Self {
            ui,
            phases: Mutex::default(),
        }
    }

    /// Takes the step out that has this name.
    fn ended(&self, name: &str) -> Option<Phase> {
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        let place = phases.iter().rposition(|(other, _)| *other == name)?;
        Some(phases.remove(place).1)
    }
}

impl EventSink for SessionEvents {
    fn event(&self, event: Event<'_>) {
        let ui = &self.ui;
        let cause = |error: &dyn std::error::Error| escape(error.to_string().as_bytes());
        match event {
            Event::PhaseStarted(name, counter) => {
                let phase = ui.counted_phase(name, counter);
                let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
                phases.push((name, phase));
            }
            Event::PhaseEnded(name) => {
                self.ended(name).map(Phase::finish);
            }
            Event::PhaseFailed(name) => drop(self.ended(name)),
            Event::ControlProven(proven) => {
                let detail = escape(proven.detail.as_bytes());
                ui.detail(&format!("{} {:?} {detail}", proven.control, proven.proof));
            }
            Event::StreamsDirect(container) => {
                ui.detail(&format!("{container}: its streams go past the engine"));
            }
            Event::VolumeGone(id) => ui.status(&format!(
                "session {id} has no volume: all of the workspace goes in"
            )),
            Event::Updated(summary) => report_update(ui, summary),
            Event::LeftOut(skipped) => report_skipped(ui, skipped),
            Event::NothingToProtect(path) => ui.warn(&format!(
                "nothing to protect at {}: it does not go in",
                escape(path.as_str().as_bytes())
            )),
            Event::Protected { entries } => ui.detail(&format!("protected: {entries} entries")),
            Event::HomePutBack { id, count: entries } => {
                let what = match entries {
                    1 => "1 setting or program".to_owned(),
                    entries => format!("{} settings and programs", count(entries as u64)),
                };
                ui.warn(&format!(
                    "put back in the home: {what} that earlier commands changed"
                ));
                ui.hint(&format!("`lazaret home review {id}` shows them."));
            }
            Event::LentFileStays(error) => ui.warn(&format!(
                "a lent login may still be in the kept home, the next start removes it: {}",
                cause(error)
            )),
            Event::CommandStarts { argv } => {
                let shown = elide(&show_command(argv), ui.width().saturating_sub(10));
                ui.status(&format!("running {shown}"));
            }
            Event::ServiceReady { name, took } => ui.status(&format!(
                "service {name} is ready after {:.1} s",
                took.as_secs_f64()
            )),
            Event::ServiceDied {
                name,
                code,
                again_in,
            } => match again_in {
                Some(pause) => ui.warn(&format!(
                    "service {name} ended with exit code {code}: it is started again in {} s",
                    pause.as_secs()
                )),
                None => ui.warn(&format!(
                    "service {name} ended with exit code {code}, once too often: it is down \
                     (`lazaret services --restart {name}`)"
                )),
            },
            Event::ServiceNotStarted(error) => ui.warn(&cause(error)),
            Event::SetupStepDone { argv, took } => {
                let shown = elide(&show_command(argv), ui.width().saturating_sub(30));
                ui.status(&format!("setup: {shown} took {:.1} s", took.as_secs_f64()));
            }
            Event::PortOpen { host, inside } => {
                ui.status(&format!("127.0.0.1:{host} leads to port {inside} inside"));
            }
            Event::ConnectionLost => ui.warn(
                "the connection to the engine is lost: the command goes on there, and lazaret \
                 connects again",
            ),
            Event::ConnectionResumed => {
                ui.status(
                    "the connection to the engine is back, and nothing of the output is lost",
                );
            }
            Event::GatewayLost => ui.warn(
                "the gateway of the session is gone: its network is closed, and the command \
                 goes on without",
            ),
            Event::CredentialRefreshed { name } => ui.status(&format!(
                "the login {name} was renewed inside: the next session is lent the new one, \
                 until yours changes"
            )),
            Event::CredentialLost { cause } => ui.warn(&format!(
                "a login that was renewed inside could not be kept, log in again: {cause}"
            )),
            Event::CredentialChangesCut => {
                ui.warn("a lent login changed too often inside: later changes of it are not kept");
            }
            Event::DecisionsLost { cause } => {
                ui.warn(&format!("the log of the network is not complete: {cause}"));
            }
            Event::WaitingForWorkspace => {
                ui.status("waiting for another lazaret that changes this workspace");
            }
            Event::NetworkClosed { id, totals } => ui.status(&format!(
                "network: {} allowed, {} denied (lazaret policy log {id})",
                count(totals.allowed),
                count(totals.denied)
            )),
            Event::LogTruncated { dropped } => ui.warn(&format!(
                "the log has the beginning and the end of the output: {dropped} bytes between them \
                 are not in it"
            )),
            Event::LogFailed { cause } => {
                ui.warn(&format!("the log could not be written: {cause}"));
            }
            Event::NotSynced(error) => ui.warn(&format!(
                "a power cut may take this session: {}",
                cause(error)
            )),
            Event::MergeBaseNotKept(error) => ui.detail(&format!(
                "the texts for merging could not be kept: {}",
                cause(error)
            )),
            Event::DiskNotWatched(error) => ui.warn(&format!(
                "limits.disk can't be kept to for now: {}",
                cause(error)
            )),
            Event::NoExporterYet(error) => {
                ui.detail(&format!("no exporter yet: {}", cause(error)));
            }
            Event::PoolNotFilled(error) => {
                ui.detail(&format!("the pool could not be filled: {}", cause(error)))
            }
            Event::PoolSlotStays(error) => {
                ui.detail(&format!("a place of the pool stays: {}", cause(error)));
            }
        }
    }
}

/// Says what went in, and names what both sides changed, before the command starts.
pub fn report_update(ui: &Ui, summary: &UpdateSummary) {
    let UpdateSummary {
        sent,
        removed,
        adopted,
        conflicts,
        repository,
        ..
    } = summary;
    ui.status(&format!(
        "sync: {} sent ({}), {} removed, {} the same on both sides, {} in conflict",
        count(*sent),
        bytes(summary.bytes),
        count(*removed),
        count(*adopted),
        count(conflicts.len() as u64)
    ));
    let is_held_back = matches!(repository, RepositoryNews::HeldBack(_));
    for conflict in conflicts {
        // Why the repository is one is told below.
        if !(is_held_back && conflict.path.as_str() == ".git") {
            ui.warn(&describe(conflict));
        }
    }
    for line in describe_repository(repository) {
        match is_held_back {
            true => ui.warn(&line),
            false => ui.status(&line),
        }
    }
}

/// Says what would become of the copy's repository.
pub fn foretell(forecast: &RepositoryForecast) -> Vec<String> {
    match forecast {
        RepositoryForecast::Stays => vec!["the copy's repository would stay as it is".to_owned()],
        RepositoryForecast::Replaced => {
            vec!["your repository would replace the copy's".to_owned()]
        }
        RepositoryForecast::BothMoved(RepositoryNews::Nothing) => Vec::new(),
        RepositoryForecast::BothMoved(RepositoryNews::Follows) => {
            vec!["the copy would follow your repository again".to_owned()]
        }
        RepositoryForecast::BothMoved(RepositoryNews::Has { sent, stay }) => {
            let mut lines = Vec::new();
            if !sent.is_empty() {
                lines.push(format!(
                    "the copy would keep its own history; your new commits would go in as {}",
                    host_refs(sent)
                ));
            }
            if !stay.is_empty() {
                let names = host_refs(stay);
                lines.push(format!("the command changed {names}: it would stay"));
            }
            lines
        }
        RepositoryForecast::BothMoved(RepositoryNews::HeldBack(why)) => vec![format!(
            "the copy would keep its own history; your new commits would not go in: {why}"
        )],
    }
}

/// Names refs below `refs/remotes/host/`.
fn host_refs(names: &[String]) -> String {
    let more = match names.len().saturating_sub(MOST_BRANCHES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = names.iter().take(MOST_BRANCHES);
    let names = names.map(|name| format!("host/{}", escape(name.as_bytes())));
    names.collect::<Vec<_>>().join(", ") + &more
}

/// Says what became of the copy's repository.
pub fn describe_repository(news: &RepositoryNews) -> Vec<String> {
    match news {
        RepositoryNews::Nothing => Vec::new(),
        RepositoryNews::Follows => vec!["the copy follows your repository again".to_owned()],
        RepositoryNews::Has { sent, stay } => {
            let mut lines = Vec::new();
            if !sent.is_empty() {
                lines.push(format!(
                    "the copy keeps its own history; your new commits are in it as {}",
                    host_refs(sent)
                ));
            }
            if !stay.is_empty() {
                lines.push(format!("the command changed {}: it stays", host_refs(stay)));
            }
            lines
        }
        RepositoryNews::HeldBack(why) => vec![format!(
            "the copy keeps its own history; your new commits do not go in: {why}"
        )],
    }
}

/// Says what is in the way of one change of the host.
pub fn describe(conflict: &SyncConflict) -> String {
    let path = escape(conflict.path.as_str().as_bytes());
    match conflict.kind {
        SyncConflictKind::BothChanged if conflict.path.as_str() == ".git" => {
            "both sides changed: .git (the copy keeps its own history)".to_owned()
        }
        SyncConflictKind::BothChanged => {
            format!("both sides changed: {path} (the copy keeps its own; the gate merges or asks)")
        }
        SyncConflictKind::NoParent => {
            format!("not sent: {path} (the copy has no directory for it any more)")
        }
        SyncConflictKind::WouldHide => {
            format!("not sent: {path} (it would bury what the copy has below it)")
        }
    }
}

/// Names what stayed out, once, before the command starts.
fn report_skipped(ui: &Ui, skipped: &[Skipped]) {
    const MOST: usize = 10;
    let notable: Vec<&Skipped> = skipped
        .iter()
        .filter(|skip| is_notable(skip.reason))
        .collect();
    for skip in notable.iter().take(MOST) {
        if skip.reason == SkipReason::GitPartial {
            ui.warn(&format!("{} goes in: {}", escape(&skip.name), skip.reason));
            continue;
        }
        ui.warn(&format!(
            "left out: {} ({})",
            escape(&skip.name),
            skip.reason
        ));
    }
    if notable.len() > MOST {
        ui.warn(&format!(
            "left out: {} more (see --dry-run)",
            notable.len() - MOST
        ));
    }
    for skip in skipped.iter().filter(|skip| !is_notable(skip.reason)) {
        ui.detail(&format!(
            "left out: {} ({})",
            escape(&skip.name),
            skip.reason
        ));
    }
}

/// Whether a user would want to know without asking: everything that no ignore file named.
fn is_notable(reason: SkipReason) -> bool {
    !matches!(
        reason,
        SkipReason::Cache
            | SkipReason::LazaretIgnore
            | SkipReason::GitIgnore
            | SkipReason::Profile
            | SkipReason::GitNone
            | SkipReason::GitPart
    )
}

//! `lazaret watch`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lazaret_gate::allowlist::Allowlist;
use lazaret_gate::case::Case;
use lazaret_gate::choices::Choices;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::proposal::Proposal;
use lazaret_gate::report::{Changes, ConflictReport, FindingReport};
use lazaret_runtime::SessionId;
use lazaret_tree::{Entry, RelPathBuf, escape};
use serde::Serialize;

use crate::app::App;
use crate::decide::case::preview;
use crate::decide::{allowlist, patch, summary};
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::profile::units::Span;
use crate::session_access::named::{OneSession, Unnamed};
use crate::session_access::running::{Running, live};
use crate::session_access::waiting;
use crate::ui::{OutputFormat, TextTone, Ui, elapsed};
use lazaret_session::live::view::{LiveSnapshot, LiveView, VolumeSnapshot};
use lazaret_session::porter::export::BatchRejection;
use lazaret_session::store::record::Phase;
use lazaret_session::store::status::State;
use lazaret_session::store::{Store, StoreError};

/// Show what a running session has changed, until its command ends
///
/// Reads the copy again and again, and shows what the command has changed so far. If something has
/// changed, the command is paused while its files are read, and the output says for how long.
/// Findings are a preview. The watch ends with the command, or with Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Time between two reads, such as 2s, 1m
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub interval: Span,
}

/// One line of `watch --json`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    session: &'a str,
    /// `running` or `ended`.
    state: &'static str,
    /// Milliseconds since the watch began.
    at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<SeenLine>,
}

/// What was seen, while the command ran.
#[derive(Debug, Default, Serialize)]
struct SeenLine {
    /// Milliseconds for which the command stood still.
    paused_ms: u64,
    changes: Changes,
    findings: Vec<FindingReport>,
    conflicts: Vec<ConflictReport>,
    /// The rule that a collection would break now; null when there is none.
    rejection: Option<Rejection>,
}

#[derive(Debug, Serialize)]
struct Rejection {
    code: &'static str,
    message: String,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Running, &store, app)?;
    let Some(running) = Running::find(&store, &id)? else {
        return Err(not_running(&store, &id)?);
    };
    let allowlist = allowlist::load(&app.env)?;
    let mut watch = Watch {
        ui: &app.ui,
        env: &app.env,
        id: id.as_str(),
        started: Instant::now(),
        shown: BTreeMap::new(),
        findings: String::new(),
    };
    let cx = running.cx(&store, app)?;
    let watched = running.view(&cx).and_then(|mut live_view| {
        loop {
            match live_view.snapshot()? {
                LiveSnapshot::Ended => return Ok(()),
                LiveSnapshot::Same => {}
                LiveSnapshot::Taken(seen) => watch.show(&live_view, seen, &allowlist)?,
            }
            if !app.ui.is_heard() || !is_alive(&store, &id)? {
                return Ok(());
            }
            app.cancel.sleep(args.interval.0)?;
        }
    });
    match watched {
        // How a watch is ended.
        Err(failure) if failure.kind == FailureKind::Interrupted => Ok(ExitCode::INTERRUPTED),
        Err(failure) => Err(failure),
        Ok(()) => {
            watch.ended();
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Whether there is still something to look at.
///
/// # Errors
/// When the launcher of the session is dead, and its command may still run.
fn is_alive(store: &Store, id: &SessionId) -> Result<bool, Failure> {
    match store.is_live(id) {
        Ok(true) => Ok(true),
        Err(StoreError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(false) => match store.find(id)?.record()? {
            record if record.phase == Phase::Running => Err(waiting::not_waiting(&record)),
            _ => Ok(false),
        },
    }
}

/// Says why there is nothing to watch.
fn not_running(store: &Store, id: &SessionId) -> Result<Failure, Failure> {
    let record = store.find(id)?.record()?;
    Ok(match record.phase {
        Phase::Collected | Phase::Settled => {
            let state = State::at_rest(&record).as_str();
            let text = format!("nothing runs in session {id}: it is {state}");
            let failure = Failure::message(FailureKind::Refused, text);
            match record.phase {
                Phase::Collected => failure.hinted(format!("See `lazaret diff {id}`.")),
                _ => failure,
            }
        }
        _ => waiting::not_waiting(&record),
    })
}

/// What was shown so far.
struct Watch<'a> {
    ui: &'a Ui,
    env: &'a Environment,
    id: &'a str,
    started: Instant,
    /// The changed paths, and what is there; `None` for a deleted one.
    shown: BTreeMap<RelPathBuf, Option<Entry>>,
    /// The findings as text.
    findings: String,
}

impl Watch<'_> {
    fn show(
        &mut self,
        live_view: &LiveView<'_>,
        seen: VolumeSnapshot,
        allowlist: &Allowlist,
    ) -> Result<(), Failure> {
        let collection = match seen.found {
            Ok(collection) => collection,
            Err(rejection) => {
                self.show_rejection(&rejection, seen.paused);
                return Ok(());
            }
        };
        let case = preview(
            live_view,
            collection,
            IgnoredFiles::Stay,
            allowlist,
            self.env,
        )?;
        let proposal = case.propose(&Choices::all())?;
        if self.ui.format() == OutputFormat::Json {
            self.line(Some(SeenLine {
                paused_ms: live(seen.paused).paused_ms,
                changes: Changes::of(case.changes()),
                findings: proposal
                    .findings()
                    .iter()
                    .map(|finding| FindingReport::from(&**finding))
                    .collect(),
                conflicts: proposal.conflicts().map(ConflictReport::from).collect(),
                rejection: None,
            }));
        } else if self.ui.can_redraw() {
            let mut lines = vec![self.heading(seen.paused)];
            for change in case.changes() {
                lines.push(patch::stat(&case, change, self.ui)?);
            }
            let rest = summary::without_paths(&case, &proposal, self.ui);
            self.ui.redraw(&lines, rest.trim_end());
        } else {
            self.append(&case, &proposal, seen.paused)?;
        }
        self.shown = case
            .changes()
            .map(|change| (change.path.clone(), change.after.clone()))
            .collect();
        Ok(())
    }

    /// Adds what is new since the last time.
    fn append(
        &mut self,
        case: &Case,
        proposal: &Proposal,
        paused: Duration,
    ) -> Result<(), Failure> {
        let ui = self.ui;
        ui.result(&format!(
            "{}: {}",
            self.heading(paused),
            summary::counts(case.changes())
        ));
        for change in case.changes() {
            if self.shown.get(&change.path) != Some(&change.after) {
                ui.result(&patch::stat(case, change, ui)?);
            }
        }
        for path in self.shown.keys() {
            if case.change(path).is_none() {
                let path = escape(path.as_str().as_bytes());
                ui.result(&format!("  = {:>13}  {path}", "as it was"));
            }
        }
        let findings = summary::findings(proposal.findings().iter().map(|finding| &**finding), ui);
        if findings != self.findings {
            if !findings.is_empty() {
                ui.result(findings.trim_end());
            }
            self.findings = findings;
        }
        Ok(())
    }

    fn show_rejection(&mut self, rejection: &BatchRejection, paused: Duration) {
        let message = escape(rejection.reason.as_bytes());
        if self.ui.format() == OutputFormat::Json {
            self.line(Some(SeenLine {
                paused_ms: live(paused).paused_ms,
                rejection: Some(Rejection {
                    code: rejection.code.id,
                    message,
                }),
                ..SeenLine::default()
            }));
            return;
        }
        let words = format!(
            "as it is, it would be rejected: {}: {message}",
            rejection.code
        );
        match self.ui.can_redraw() {
            true => self.ui.redraw(&[self.heading(paused)], &words),
            false => self
                .ui
                .result(&format!("{}: {words}", self.heading(paused))),
        }
    }

    fn heading(&self, paused: Duration) -> String {
        let heading = format!(
            "{} after {}, live view, paused {} ms",
            self.id,
            elapsed(self.started.elapsed()),
            paused.as_millis()
        );
        self.ui.paint_result(TextTone::Strong, &heading)
    }

    fn line(&self, seen: Option<SeenLine>) {
        self.ui.json_line(&Line {
            session: self.id,
            state: match seen {
                Some(_) => "running",
                None => "ended",
            },
            at_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            seen,
        });
    }

    fn ended(&self) {
        match self.ui.format() {
            OutputFormat::Json => self.line(None),
            OutputFormat::Text => self.ui.status(&format!(
                "the command of session {} has ended: its changes are at the gate",
                self.id
            )),
        }
    }
}

//! `SessionCommits`: the commits of a session whose files are decided on.

use lazaret_gate::format::harmless;
use lazaret_gate::tip_report::WaitingReport;
use lazaret_session::store::{LockedSession, Store};

use super::landing::land;
use super::open::{OpenCommits, OpenRequest, open};
use super::pick::Picked;
use super::report;
use super::review::{CommitReader, branches};
use super::text::listing;
use super::tips::Lost;
use crate::app::App;
use crate::decide::waiting_commits::{ShownCommits, WaitingCommits};
use crate::failure::Failure;
use crate::ui::OutputFormat;

/// The commits of a session, fetched when the user asks for them.
#[derive(Debug)]
pub(crate) struct SessionCommits<'a> {
    /// The session.
    session: &'a mut LockedSession,
    /// Where it is stored.
    store: &'a Store,
    /// Says and asks.
    app: &'a App,
    /// What the review shows.
    shown: Option<OpenCommits>,
}

impl<'a> SessionCommits<'a> {
    /// Takes a session; nothing is fetched yet.
    pub(crate) fn new(session: &'a mut LockedSession, store: &'a Store, app: &'a App) -> Self {
        Self {
            session,
            store,
            app,
            shown: None,
        }
    }
}

impl WaitingCommits for SessionCommits<'_> {
    fn waiting(&self) -> Option<String> {
        let commits = &self.session.record().commits;
        (!commits.is_empty()).then(|| commits.to_string())
    }

    fn hold_all(&self) -> bool {
        let record = self.session.record();
        record.commits.is_empty() && record.landed_as.is_some()
    }

    fn ask(&mut self) -> Result<(), Failure> {
        let app = self.app;
        let opened = open_plain(self.store, self.session, app)?;
        let id = self.session.record().id.clone();
        let picked = Picked::of(&opened, &[], &id)?;
        if app.ui.format() == OutputFormat::Text {
            app.ui.result(&listing(&opened));
        }
        let picked = picked.some(&id)?;
        if picked.is_confirmed(&opened, app) {
            land(self.session, &opened, picked, app)?;
        }
        Ok(())
    }

    fn report(&mut self) -> Option<WaitingReport> {
        report_of(self.store, self.session, self.app)
    }

    fn show(&mut self) -> Result<ShownCommits<'_>, Failure> {
        // One at a time: both lie in the session's directory.
        self.shown = None;
        let opened = self
            .shown
            .insert(open_plain(self.store, self.session, self.app)?);
        Ok(ShownCommits {
            commits: branches(opened),
            source: Box::new(CommitReader::new(opened)),
            report: report::waiting(opened),
        })
    }

    fn land(&mut self, branches: &[usize]) -> Result<(), Failure> {
        if let Some(opened) = self.shown.take() {
            let picked = Picked::at(&opened, branches);
            land(self.session, &opened, picked, self.app)?;
        }
        Ok(())
    }
}

/// Fetches and examines what waits in a session for a report; without an engine, the report
/// has what the record lists, and says so. `None` if nothing waits.
pub(crate) fn report_of(
    store: &Store,
    session: &LockedSession,
    app: &App,
) -> Option<WaitingReport> {
    if session.record().commits.is_empty() {
        return None;
    }
    Some(match open_plain(store, session, app) {
        Ok(opened) => report::waiting(&opened),
        Err(failure) => {
            let why = harmless(&failure.chain().join(": "));
            app.ui.warn(&format!(
                "the report lists the commits without findings: {why}"
            ));
            WaitingReport {
                tips: Vec::new(),
                stays: Vec::new(),
                not_fetched: Some(why),
            }
        }
    })
}

/// Fetches and examines everything but what only a reflog names.
fn open_plain(store: &Store, session: &LockedSession, app: &App) -> Result<OpenCommits, Failure> {
    let request = OpenRequest {
        lost: Lost::Leave,
        allow: Vec::new(),
    };
    open(store, session, request, app)
}

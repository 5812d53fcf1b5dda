//! `SessionCommits`: the commits of a session whose files are decided on.

use lazaret_session::store::{LockedSession, Store};

use super::landing::land;
use super::open::{OpenRequest, open};
use super::pick::Picked;
use super::text::listing;
use super::tips::Lost;
use crate::app::App;
use crate::decide::waiting_commits::WaitingCommits;
use crate::failure::Failure;
use crate::ui::{Answer, OutputFormat};

/// The commits of a session, fetched when the user asks for them.
#[derive(Debug)]
pub(crate) struct SessionCommits<'a> {
    /// The session.
    pub(crate) session: &'a mut LockedSession,
    /// Where it is stored.
    pub(crate) store: &'a Store,
    /// Says and asks.
    pub(crate) app: &'a App,
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
        let request = OpenRequest {
            lost: Lost::Leave,
            allow: Vec::new(),
        };
        let opened = open(self.store, self.session, request, app)?;
        let id = self.session.record().id.clone();
        let picked = Picked::of(&opened, &[], &id)?;
        if app.ui.format() == OutputFormat::Text {
            app.ui.result(&listing(&opened));
        }
        let picked = picked.some(&id)?;
        if picked.ask(&opened, app) == Answer::Chosen("y") {
            land(self.session, &opened, picked, app)?;
        }
        Ok(())
    }
}

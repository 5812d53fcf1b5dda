//! Which session a verb is about: by its name, by the start of it, or by the current directory.

use std::fs;

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::failure::{Failure, FailureKind};
use lazaret_session::store::record::{KeepVolume, Phase, Record};
use lazaret_session::store::{Store, StoreError};

/// A session that may be left out.
#[derive(Debug, clap::Args)]
pub struct OneSession {
    /// Session, or the start of its name [default: that of this directory]
    #[arg(value_name = "NAME")]
    name: Option<SessionId>,
}

/// Which session of the current directory is meant if none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unnamed {
    /// The newest one.
    Newest,
    /// The only one that waits for a decision.
    Waiting,
    /// The only one whose command runs.
    Running,
    /// The only one that waits for a decision, or whose command runs.
    WaitingOrRunning,
    /// The only one that keeps its copy, or whose command runs.
    KeptOrRunning,
    /// The only one in which commits wait.
    WithCommits,
}

impl OneSession {
    /// Finds it.
    ///
    /// # Errors
    /// When there is none, or more than one is meant.
    pub(crate) fn find(
        &self,
        default: Unnamed,
        store: &Store,
        app: &App,
    ) -> Result<SessionId, Failure> {
        match &self.name {
            Some(name) => named(store, name),
            None => of_directory(default, store, app),
        }
    }
}

/// Finds the session of a name, or the only one whose name starts so.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn named(store: &Store, name: &SessionId) -> Result<SessionId, Failure> {
    let not_found = match store.find(name) {
        Err(error @ StoreError::NotFound { .. }) => error,
        found => return Ok(found?.id().clone()),
    };
    let all = store.list()?.into_iter().map(|dir| dir.id().clone());
    let mut starting: Vec<SessionId> = all
        .filter(|id| id.as_str().starts_with(name.as_str()))
        .collect();
    match (starting.pop(), starting.as_slice()) {
        (None, _) => Err(not_found.into()),
        (Some(only), []) => Ok(only),
        (Some(last), others) => {
            let text = format!("more than one session's name starts with {name}");
            Err(several(&text, others.iter().chain([&last])))
        }
    }
}

/// Finds the session of the current directory, or of the one around it that is nearest.
fn of_directory(default: Unnamed, store: &Store, app: &App) -> Result<SessionId, Failure> {
    let here = fs::canonicalize(&app.env.cwd).unwrap_or_else(|_| app.env.cwd.clone());
    let records = store.list()?;
    let records = records.into_iter().filter_map(|dir| dir.record().ok());
    let mut around: Vec<Record> = records
        .filter(|record| here.starts_with(&record.workspace))
        .filter(|record| default.is_meant(record))
        .collect();
    let nearest = around
        .iter()
        .map(|record| record.workspace.components().count());
    let nearest = nearest.max().unwrap_or_default();
    around.retain(|record| record.workspace.components().count() == nearest);
    around.sort_by_key(|record| record.created);
    let Some(newest) = around.pop() else {
        let text = format!("no session of this directory {}", default.words());
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Name one: `lazaret ls` lists the sessions."));
    };
    if default != Unnamed::Newest && !around.is_empty() {
        let text = format!(
            "more than one session of this directory {}",
            default.words()
        );
        let all = around.iter().chain([&newest]).map(|record| &record.id);
        return Err(several(&text, all));
    }
    app.ui.status(&format!("session {}", newest.id));
    Ok(newest.id)
}

fn several<'a>(text: &str, all: impl Iterator<Item = &'a SessionId>) -> Failure {
    let names: Vec<&str> = all.map(SessionId::as_str).collect();
    Failure::message(FailureKind::Refused, text.to_owned())
        .hinted(format!("Name one of them: {}.", names.join(", ")))
}

impl Unnamed {
    fn is_meant(self, record: &Record) -> bool {
        let (waits, runs) = (
            record.phase == Phase::Collected,
            record.phase == Phase::Running,
        );
        match self {
            Self::Newest => true,
            Self::Waiting => waits,
            Self::Running => runs,
            Self::WaitingOrRunning => waits || runs,
            Self::KeptOrRunning => runs || record.keep == KeepVolume::Always,
            Self::WithCommits => !record.commits.is_empty(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Newest => "is there",
            Self::Waiting => "waits for a decision",
            Self::Running => "runs",
            Self::WaitingOrRunning => "runs or waits for a decision",
            Self::KeptOrRunning => "runs or keeps its copy",
            Self::WithCommits => "holds commits",
        }
    }
}

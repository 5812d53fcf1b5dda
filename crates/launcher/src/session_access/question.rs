//! What becomes of a session that has just been collected by its keeper.

use lazaret_gate::choices::Choices;
use lazaret_gate::decision::ApprovalMode;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_runtime::SessionId;

use super::waiting::{open, settle};
use crate::app::App;
use crate::commits::session_commits::SessionCommits;
use crate::decide::{AskContext, decide};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::report::Report;
use lazaret_session::store::Store;

/// Asks the user what becomes of a collected session's changes, and does that. Returns the exit
/// code of the run.
///
/// # Errors
/// It waits for no decision, or that can't be carried out.
pub(crate) fn ask(store: &Store, id: &SessionId, app: &App) -> Result<ExitCode, Failure> {
    let (mut session, case) = open(store, id, IgnoredFiles::Stay, app)?;
    let choices = Choices::all();
    let report = Report::of_case(session.record(), &case, &case.propose(&choices)?);
    let mut commits = SessionCommits::new(&mut session, store, app);
    let context = AskContext {
        ui: &app.ui,
        cancel: &app.cancel,
        commits: &mut commits,
    };
    let decision = decide(&case, &choices, ApprovalMode::Ask, context)?;
    let settled = settle(app, store, &mut session, &case, decision.into(), report)?;
    Ok(ExitCode::of_run(session.record(), settled.outcome))
}

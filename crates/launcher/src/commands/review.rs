//! `lazaret review`.

use lazaret_gate::choices::Choices;
use lazaret_gate::decision::ApprovalMode;

use crate::app::App;
use crate::commits::session_commits::SessionCommits;
use crate::decide::waiting_commits::NoCommits;
use crate::decide::{AskContext, decide, review};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::report::Report;
use crate::session_access::live_gate::decide_live;
use crate::session_access::named::{OneSession, Unnamed};
use crate::session_access::running::Running;
use crate::session_access::waiting;
use crate::session_access::with_ignored::WithIgnored;
use lazaret_session::store::Store;

/// Review a session's changes on the whole screen, choose, and apply
///
/// Shows the changed files with their diffs and findings. You can leave out files and single hunks,
/// and allow blocked changes by name; nothing is applied before you answer yes on the last screen.
/// Commits that wait are fetched and shown below the files; branches that you pick are landed.
/// If there is no screen, it asks as `apply` does. In a session that stays for an editor, you review
/// what has changed so far; commits wait for its end.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    #[command(flatten)]
    pub ignored: WithIgnored,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Waiting, &store, app)?;
    if let Some(running) = Running::idle(&store, &id) {
        return decide_live(running, args.ignored.files(), &store, app, |case| {
            let context = AskContext {
                ui: &app.ui,
                cancel: &app.cancel,
                commits: &mut NoCommits,
            };
            let choices = Choices::all();
            Ok(match app.ui.can_draw() {
                true => review::open(case, &choices, context)?,
                false => decide(case, &choices, ApprovalMode::Ask, context)?,
            }
            .into())
        });
    }
    let (mut session, case) = waiting::open(&store, &id, args.ignored.files(), app)?;
    let choices = Choices::all();
    let report = Report::of_case(session.record(), &case, &case.propose(&choices)?);
    let mut commits = SessionCommits::new(&mut session, &store, app);
    let context = AskContext {
        ui: &app.ui,
        cancel: &app.cancel,
        commits: &mut commits,
    };
    let decision = if app.ui.can_draw() {
        review::open(&case, &choices, context)?
    } else {
        decide(&case, &choices, ApprovalMode::Ask, context)?
    };
    let settled = waiting::settle(app, &store, &mut session, &case, decision.into(), report)?;
    Ok(waiting::exit_code(&settled))
}

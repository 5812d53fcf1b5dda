//! `lazaret discard`.

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::captures::{capture, tell};
use crate::commands::rm;
use crate::decide::settle::finish;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;
use crate::session_access::{session_context, waiting};
use crate::ui::OutputFormat;
use lazaret_session::pool::drop_after_discard;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::Store;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_session::store::unlanded::Unlanded;

/// Discard a session's changes
///
/// What waits, files and commits, is captured before: `lazaret recover --captures` lists such
/// captures and restores them, `lazaret prune` removes those older than 30 days.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: SessionId,
    /// Discard without asking
    #[arg(long)]
    pub yes: bool,
    /// Keep no capture: what waits is gone for good
    #[arg(long)]
    pub no_capture: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = named(&store, &args.session)?;
    let mut session = store.lock(&id)?;
    match session.record().phase {
        Phase::Collected | Phase::Rejected => {}
        _ => return Err(waiting::not_waiting(session.record())),
    }
    let commits = session.record().commits.clone();
    if !args.yes && !app.ui.confirms(&question(&args, &commits), &app.cancel) {
        let text = "nothing is discarded without a yes";
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Answer at a terminal, or say --yes."));
    }
    // Without its engine nothing is discarded, and so nothing is captured.
    let detected = app.engine_of(session.record())?;
    let captured = match args.no_capture {
        true => None,
        false => capture(&session, &store, app)?,
    };
    let cx = session_context(app, &store, detected);
    finish(
        &mut session,
        Outcome::Discarded,
        VolumeDisposal::Remove(&cx),
        &app.ui,
    )?;
    drop_after_discard(&cx, &session);
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&serde_json::json!({
            "session": id.as_str(),
            "outcome": Outcome::Discarded,
            "commits": commits,
            "captured": captured.as_ref().map(SessionId::as_str),
        })),
        OutputFormat::Text => {
            let with = rm::with(&commits);
            app.ui.status(&format!("discarded {id}{with}"));
            captured.iter().for_each(|capture| tell(capture, &app.ui));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks for what the user loses.
fn question(args: &Args, commits: &Unlanded) -> String {
    let what = match commits.is_empty() {
        true => "these changes".to_owned(),
        false => format!("these changes and the copy ({commits})"),
    };
    match args.no_capture {
        true => format!("Throw {what} away for good?"),
        false => format!("Throw {what} away?"),
    }
}

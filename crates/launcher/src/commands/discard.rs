//! `lazaret discard`.

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::captures::{CapturePlan, not_captured, take_up, tell};
use crate::commands::rm;
use crate::decide::settle::finish;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;
use crate::session_access::{session_context, waiting};
use crate::ui::OutputFormat;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::Store;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_session::store::unlanded::Unlanded;

/// Discard a session's changes
///
/// What waits, files and commits, is captured before: `lazaret recover --captures` lists such
/// captures and restores them, `lazaret prune` removes those older than 30 days. Of a session whose
/// files can't be collected, commits alone are captured.
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
    let (plan, commits) = match args.no_capture {
        true => (CapturePlan::Idle, session.record().commits.clone()),
        false => {
            // Without its engine nothing is discarded, and so nothing is captured.
            app.engine_of(session.record())?;
            let planned = take_up(session, &store, app).and_then(|taken| {
                let plan = CapturePlan::of(&taken, &store, app)?;
                Ok((taken, plan))
            });
            let (taken, plan) = planned.map_err(|failure| not_captured(failure, &id, "discard"))?;
            session = taken;
            let commits = plan.commits().unwrap_or(&session.record().commits).clone();
            (plan, commits)
        }
    };
    if let Some(losses) = plan.losses() {
        app.ui.warn(&format!("session {id}: {losses}"));
    }
    let question = match (&plan, args.no_capture) {
        (CapturePlan::Nothing { .. }, _) | (_, true) => Question::ForGood,
        _ => Question::WithCapture,
    };
    if !args.yes && !app.ui.confirms(&question.words(&commits), &app.cancel) {
        let text = "nothing is discarded without a yes";
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Answer at a terminal, or say --yes."));
    }
    let detected = app.engine_of(session.record())?;
    let captured = plan
        .carry_out(&session, &store, app)
        .map_err(|failure| not_captured(failure, &id, "discard"))?;
    let cx = session_context(app, &store, detected);
    finish(
        &mut session,
        Outcome::Discarded,
        VolumeDisposal::Remove(&cx),
        &app.ui,
    )?;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&serde_json::json!({
            "session": id.as_str(),
            "outcome": Outcome::Discarded,
            "commits": commits,
            "captured": captured.as_ref().map(SessionId::as_str),
            "not_kept": plan.losses(),
        })),
        OutputFormat::Text => {
            let with = rm::with(&commits);
            app.ui.status(&format!("discarded {id}{with}"));
            captured.iter().for_each(|capture| tell(capture, &app.ui));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the user is asked.
#[derive(Debug, Clone, Copy)]
enum Question {
    /// A capture brings it back.
    WithCapture,
    /// Nothing does.
    ForGood,
}

impl Question {
    /// Asks for what the user loses.
    fn words(self, commits: &Unlanded) -> String {
        let what = match commits.is_empty() {
            true => "these changes".to_owned(),
            false => format!("these changes and the copy ({commits})"),
        };
        match self {
            Self::ForGood => format!("Throw {what} away for good?"),
            Self::WithCapture => format!("Throw {what} away?"),
        }
    }
}

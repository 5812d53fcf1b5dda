//! `lazaret discard`.

use crate::app::App;
use crate::commands::rm;
use crate::decide::settle::finish;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::{session_context, waiting};
use crate::ui::{Answer, Choice, OutputFormat, Question};
use lazaret_session::pool::drop_after_discard;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::Store;
use lazaret_session::store::record::{Outcome, Phase};

/// Discard a session's changes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
    /// Discard without asking
    #[arg(long)]
    pub yes: bool,
}

const CHOICES: [Choice; 2] = [
    Choice {
        key: "y",
        word: "yes",
    },
    Choice {
        key: "n",
        word: "no",
    },
];

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let mut session = store.lock(&args.session)?;
    match session.record().phase {
        Phase::Collected | Phase::Rejected => {}
        _ => return Err(waiting::not_waiting(session.record())),
    }
    let commits = session.record().commits.clone();
    if !args.yes {
        let text = match commits.is_empty() {
            true => "Throw these changes away for good?".to_owned(),
            false => format!("Throw these changes and the copy away for good ({commits})?"),
        };
        let question = Question {
            text: &text,
            choices: &CHOICES,
        };
        if app.ui.prompt(&question, &app.cancel) != Answer::Chosen("y") {
            return Err(Failure::message(
                FailureKind::Refused,
                "nothing is discarded without a yes",
            )
            .hinted("Answer at a terminal, or say --yes."));
        }
    }
    let detected = app.engine_of(session.record())?;
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
            "session": args.session.as_str(),
            "outcome": Outcome::Discarded,
            "commits": commits,
        })),
        OutputFormat::Text => {
            let with = rm::with(&commits);
            app.ui.status(&format!("discarded {}{with}", args.session));
        }
    }
    Ok(ExitCode::SUCCESS)
}

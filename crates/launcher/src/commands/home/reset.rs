//! `lazaret home reset`.

use lazaret_runtime::SessionId;
use lazaret_session::home::reset::reset;
use lazaret_session::store::Store;

use super::home_of;
use crate::app::App;
use crate::commands::rm::lock;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;

/// Remove a kept home, so that the next start makes a fresh one
///
/// History in it is lost, and so is what `allow` let stay.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session, or the start of its name
    #[arg(value_name = "NAME")]
    pub session: SessionId,
    /// Remove without asking
    #[arg(long)]
    pub yes: bool,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = named(&store, &args.session)?;
    home_of(&store, &id)?;
    let session = lock(&store, &id)?;
    let question = format!("Remove the home of session {id} for good?");
    if !args.yes && !app.ui.confirms(&question, &app.cancel) {
        let text = "nothing is removed without a yes";
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "Answer at a terminal, or run `lazaret home reset {id} --yes`."
        )));
    }
    let detected = app.engine_of(session.record())?;
    reset(&*detected.engine, &session)?;
    app.ui
        .status(&format!("session {id} has a fresh home at its next start"));
    Ok(ExitCode::SUCCESS)
}

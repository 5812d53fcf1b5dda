//! `lazaret stop`.

use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::live::ask;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::keeper::frame::Kind;
use lazaret_session::keeper::message::{Request, Stop};
use lazaret_session::store::Store;
use lazaret_session::store::status::{State, Status};

/// End a session of `start`, and collect what it changed
///
/// Its processes get SIGTERM, and after 15 seconds SIGKILL. What they changed waits, as after every
/// command that was broken off.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Send SIGKILL at once
    #[arg(long)]
    pub kill: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Running, &store, app)?;
    let dir = store.find(&id)?;
    // What happens from here on, and not what did before.
    let since = u64::MAX;
    let (heard, _) = ask(&store, &dir, &Request::Events { since })?;
    // A keeper may end before it has answered.
    let asked = ask(&store, &dir, &Request::Stop(Stop { kill: args.kill })).map(drop);
    let leaving = heard.clone();
    let _guard = app.cancel.guard(move |_| leaving.close());
    let mut has_ended = false;
    while let Ok(Some(frame)) = heard.read() {
        has_ended |= frame.kind == Kind::Exit;
    }
    if app.cancel.level().is_some() {
        app.ui.status(&format!("session {id} goes on ending"));
        return Ok(ExitCode::INTERRUPTED);
    }
    if !has_ended && store.is_live(&id)? {
        asked?;
        let text = format!("session {id} did not say how it ended");
        return Err(Failure::message(FailureKind::State, text));
    }
    let record = dir.record()?;
    let state = match Status::of(&store, &dir, &record).state {
        // Its keeper is about to let go of it.
        State::InUse => State::at_rest(&record),
        state => state,
    };
    match app.ui.format() {
        OutputFormat::Json => app
            .ui
            .json(&json!({ "session": id.as_str(), "state": state })),
        OutputFormat::Text => {
            app.ui
                .status(&format!("session {id} is stopped: {}", state.as_str()));
            match state {
                State::Kept => app
                    .ui
                    .hint(&format!("`lazaret review {id}` shows what waits.")),
                State::Rejected => app.ui.hint(&format!("`lazaret diff {id}` says why.")),
                _ => {}
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

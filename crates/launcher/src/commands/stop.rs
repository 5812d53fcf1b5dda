//! `lazaret stop`.

use lazaret_gate::format::count;
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::kept_live::ask;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::keeper::frame::Kind;
use lazaret_session::keeper::message::{Exit, Request, Stop};
use lazaret_session::store::Store;
use lazaret_session::store::status::Status;

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
    let (stopping, _) = ask(&store, &dir, &Request::Stop(Stop { kill: args.kill }))?;
    drop(stopping);
    let leaving = heard.clone();
    let _guard = app.cancel.guard(move |_| leaving.close());
    let exit = loop {
        match heard.read() {
            Ok(Some(frame)) if frame.kind == Kind::Exit => break frame.parse::<Exit>().ok(),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break None,
        }
    };
    if app.cancel.level().is_some() {
        app.ui.status(&format!("session {id} goes on ending"));
        return Ok(ExitCode::INTERRUPTED);
    }
    if exit.is_none() && store.is_live(&id)? {
        let text = format!("session {id} did not say how it ended");
        return Err(Failure::message(FailureKind::State, text));
    }
    let record = dir.record()?;
    let status = Status::of(&store, &dir, &record);
    let changed = exit
        .and_then(|exit| exit.report)
        .and_then(|report| report.get("changes")?.get("total")?.as_u64());
    match app.ui.format() {
        OutputFormat::Json => app
            .ui
            .json(&json!({ "session": id.as_str(), "state": status.state })),
        OutputFormat::Text => {
            let changed = changed.map_or(String::new(), |changed| {
                format!(", {} changes", count(changed))
            });
            app.ui.status(&format!(
                "session {id} is stopped: {}{changed}",
                status.state.as_str()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

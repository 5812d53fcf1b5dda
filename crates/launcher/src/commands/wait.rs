//! `lazaret wait`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile::units::Span;
use crate::session_access::live::unanswered;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::Kind;
use lazaret_session::keeper::journal::{Happening, SessionEvent};
use lazaret_session::keeper::message::{KeeperState, Request};
use lazaret_session::store::Store;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Condition {
    /// The session is at rest: its changes are applied or wait
    Exit,
    /// Its command has ended
    Idle,
    /// Its command wants something from you (a bell, OSC 9 or OSC 777), or has ended
    NeedsInput,
    /// It holds more than its limits allow, and is paused
    Disk,
}

/// Wait until a session of `start` has come to something
///
/// Ends with 124 when the time is up.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// What for
    #[arg(long = "for", value_name = "WHAT", default_value = "exit")]
    pub condition: Condition,
    /// For how long, such as 90s, 5m, 2h [default: for ever]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    let dir = store.find(&id)?;
    let asked = |request: &Request| match Connection::ask(&dir, request) {
        Ok(asked) => Ok(asked),
        // It is about to end by itself.
        Err(error) => Err(unanswered(&id, error)),
    };
    // First, so that nothing is missed between the two.
    let heard = asked(&Request::Events { since: u64::MAX })?;
    let state = match asked(&Request::Status)? {
        Some((_, accepted)) => accepted.status.map(|status| status.state),
        None => None,
    };
    let (Some((heard, _)), Some(state)) = (heard, state) else {
        return came(&id, "ended", app);
    };
    let is_there = match args.condition {
        Condition::Exit => false,
        Condition::Idle | Condition::NeedsInput => {
            !matches!(state, KeeperState::Running | KeeperState::Paused)
        }
        Condition::Disk => state == KeeperState::Paused,
    };
    if is_there {
        let what = match args.condition {
            Condition::Disk => "disk",
            _ => "idle",
        };
        return came(&id, what, app);
    }
    let is_late = Arc::new(AtomicBool::new(false));
    let (over, ended) = mpsc::channel::<()>();
    if let Some(Span(limit)) = args.timeout {
        let (late, leaving) = (Arc::clone(&is_late), heard.clone());
        thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                late.store(true, Ordering::SeqCst);
                leaving.close();
            }
        });
    }
    let leaving = heard.clone();
    let _guard = app.cancel.guard(move |_| leaving.close());
    let came_to = until(args.condition, &heard);
    drop(over);
    match (app.cancel.level(), is_late.load(Ordering::SeqCst)) {
        (Some(_), _) => Ok(ExitCode::INTERRUPTED),
        (None, true) => Ok(ExitCode::TIMEOUT),
        (None, false) => came(&id, came_to, app),
    }
}

/// Reads events until the condition holds or the session is at rest. Returns what came.
fn until(condition: Condition, heard: &Connection) -> &'static str {
    while let Ok(Some(frame)) = heard.read() {
        if frame.kind != Kind::Event {
            continue;
        }
        let Ok(SessionEvent { what, .. }) = frame.parse() else {
            continue;
        };
        match (what, condition) {
            (Happening::RunEnded { .. }, Condition::Idle | Condition::NeedsInput) => return "idle",
            (Happening::NeedsInput { .. }, Condition::NeedsInput) => return "needs_input",
            (Happening::Disk { .. }, Condition::Disk) => return "disk",
            _ => {}
        }
    }
    "ended"
}

fn came(
    id: &lazaret_runtime::SessionId,
    what: &'static str,
    app: &App,
) -> Result<ExitCode, Failure> {
    match app.ui.format() {
        OutputFormat::Json => app
            .ui
            .json(&json!({ "session": id.as_str(), "came": what })),
        OutputFormat::Text => app.ui.status(&format!(
            "session {id}: {}",
            match what {
                "idle" => "its command has ended",
                "needs_input" => "its command wants something from you",
                "disk" => "it holds more than its limits allow, and is paused",
                _ => "it is at rest",
            }
        )),
    }
    Ok(ExitCode::SUCCESS)
}

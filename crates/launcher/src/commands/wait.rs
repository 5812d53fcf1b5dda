//! `lazaret wait`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_runtime::SessionId;
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
use lazaret_session::store::record::Phase;
use lazaret_session::store::{SessionDir, Store};

/// How soon to look again at a session that is starting.
const LOOK: Duration = Duration::from_millis(100);

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Condition {
    /// The session is at rest: its changes are applied or wait
    Exit,
    /// Its command runs: services are ready, and setup steps have run
    Ready,
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
    let limit = args.timeout.map(|Span(limit)| limit);
    let until_late = limit.and_then(|limit| Instant::now().checked_add(limit));
    let (heard, state) = loop {
        if let Some(reached) = reach(&id, &dir)? {
            break reached;
        }
        if !is_starting(&store, &id, &dir)? {
            return came(&id, "ended", app);
        }
        if until_late.is_some_and(|late| Instant::now() >= late) {
            return Ok(ExitCode::TIMEOUT);
        }
        if app.cancel.sleep(LOOK).is_err() {
            return Ok(ExitCode::INTERRUPTED);
        }
    };
    let is_there = match args.condition {
        Condition::Exit => false,
        Condition::Ready => true,
        Condition::Idle | Condition::NeedsInput => {
            !matches!(state, KeeperState::Running | KeeperState::Paused)
        }
        Condition::Disk => state == KeeperState::Paused,
    };
    if is_there {
        let what = match args.condition {
            Condition::Disk => "disk",
            Condition::Ready => "ready",
            _ => "idle",
        };
        return came(&id, what, app);
    }
    let is_late = Arc::new(AtomicBool::new(false));
    let (over, ended) = mpsc::channel::<()>();
    if let Some(late) = until_late {
        let limit = late.saturating_duration_since(Instant::now());
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

/// Listens to what happens in a session, and asks where it is; `None` if it has no keeper that
/// answers.
fn reach(id: &SessionId, dir: &SessionDir) -> Result<Option<(Connection, KeeperState)>, Failure> {
    let asked = |request: &Request| {
        // One that answers no more is about to end by itself.
        Connection::ask(dir, request).map_err(|error| unanswered(id, error))
    };
    // First, so that nothing is missed between the two.
    let heard = asked(&Request::Events { since: u64::MAX })?;
    let status = asked(&Request::Status)?.and_then(|(_, accepted)| accepted.status);
    let state = status.map(|status| status.state);
    Ok(heard.map(|(heard, _)| heard).zip(state))
}

/// Whether a process works on a session whose command has not started.
fn is_starting(store: &Store, id: &SessionId, dir: &SessionDir) -> Result<bool, Failure> {
    let phase = dir.record()?.phase;
    Ok(matches!(phase, Phase::Preparing | Phase::Syncing) && store.is_live(id)?)
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

fn came(id: &SessionId, what: &'static str, app: &App) -> Result<ExitCode, Failure> {
    match app.ui.format() {
        OutputFormat::Json => app
            .ui
            .json(&json!({ "session": id.as_str(), "came": what })),
        OutputFormat::Text => app.ui.status(&format!(
            "session {id}: {}",
            match what {
                "ready" => "its command runs",
                "idle" => "its command has ended",
                "needs_input" => "its command wants something from you",
                "disk" => "it holds more than its limits allow, and is paused",
                _ => "it is at rest",
            }
        )),
    }
    Ok(ExitCode::SUCCESS)
}

//! One turn: a process, its streams, and what is found in them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_runtime::AGENT_HOME;
use lazaret_session::ask::answer::{AnswerParser, Sentinels};
use lazaret_session::ask::request::AskRequest;
use lazaret_session::cancel::CancelLevel;
use lazaret_session::context::WORKSPACE;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::{Exit, Role, Signal};
use lazaret_tree::{EXTRA_DIR, RelPathBuf};

use super::ended::Ended;
use super::report::Reporter;
use crate::app::App;
use crate::attach::capped::{Capped, Open, Spill, read_by};
use crate::commands::target::Target;
use crate::failure::{Failure, FailureKind};
use crate::groups::Group;
use crate::nonce::nonce;
use crate::profile::AskMode;

/// The variable that holds the nonce.
const NONCE: &str = "LAZARET_ASK_NONCE";

/// SIGTERM (POSIX.1-2024, `kill`).
const TERMINATE: i32 = 15;

/// How long a process has after SIGTERM.
const GRACE: Duration = Duration::from_secs(15);

/// What is asked, and of whom.
pub(super) struct Asked<'a> {
    pub(super) request: &'a AskRequest,
    pub(super) target: &'a Target,
    pub(super) run: u64,
    pub(super) timeout: Option<Duration>,
    /// How long a turn that is being ended is waited for.
    pub(super) until: Option<Instant>,
}

/// Takes the turn.
pub(super) fn take(
    asked: Asked<'_>,
    reporter: &mut Reporter<'_>,
    app: &App,
) -> Result<Ended, Failure> {
    let rules = &asked.target.profile().ask;
    let mut exec = read_by(asked.target.profile().command.clone());
    exec.role = match rules.mode {
        AskMode::Turn => Role::Turn,
        AskMode::Live => Role::StandingTurn,
    };
    exec.env = BTreeMap::from([
        ("LAZARET_ASK".to_owned(), asked.run.to_string()),
        (NONCE.to_owned(), nonce()?),
        ("LAZARET_SPILL".to_owned(), rules.spill.clone()),
    ]);
    if let Some(group) = asked.target.group() {
        exec.env.extend(group_variables(group));
    }
    let (dir, connection, accepted) = asked.target.exec(&exec, asked.until, app)?;
    let began = Instant::now();
    reporter.started(asked.run, asked.target.session());
    let sending = send_request(asked.request, rules.mode, &connection);
    let open = Arc::new(Open::default());
    open.add(&connection);
    let signalled = (connection.clone(), Arc::clone(&open));
    let _guard = app.cancel.guard(move |level| {
        let (connection, open) = &signalled;
        match (level, Frame::json(Kind::Signal, &Signal { n: TERMINATE })) {
            (CancelLevel::Asked, Ok(frame)) => connection.send_or_close(&frame),
            _ => open.close(),
        }
    });
    let limit = asked
        .timeout
        .unwrap_or(asked.target.profile().limits.timeout);
    let clock = Clock::start(limit, &connection, Arc::clone(&open));
    // One that was started by an earlier turn has its nonce.
    let nonce = accepted.env.get(NONCE).or_else(|| exec.env.get(NONCE));
    let own = || Sentinels::of_nonce(nonce.map_or("", String::as_str));
    let mut parser = AnswerParser::new(rules.sentinels.clone().unwrap_or_else(own));
    let mut has_ended = false;
    let mut streams = [".out", ".err"].map(|end| {
        let name = format!("{}{end}", asked.run);
        Capped::new(
            rules.output,
            Some(Spill::new(&dir, &rules.spill, name, &open)),
        )
    });
    let mut code = None;
    while !has_ended && let Ok(Some(frame)) = connection.read() {
        match (frame.kind, frame.channel) {
            (Kind::Data, channel) => {
                let [stdout, stderr] = &mut streams;
                let stream = match channel {
                    Channel::Stderr => stderr,
                    _ => {
                        match rules.mode {
                            AskMode::Turn => parser.push(&frame.payload),
                            AskMode::Live => {
                                has_ended = parser.push_to_end(&frame.payload).is_some();
                            }
                        }
                        stdout
                    }
                };
                let shown = stream.take(&frame.payload);
                reporter.output(channel, shown);
            }
            (Kind::Exit, _) => {
                code = frame.parse().ok().map(|Exit { code, .. }| code);
                break;
            }
            _ => {}
        }
    }
    let spill: Vec<String> = (streams.iter_mut()).filter_map(Capped::finish).collect();
    let answer = parser.finish();
    let timed_out = clock.stop();
    if answer.is_some() && has_ended && !timed_out && app.cancel.level().is_none() {
        // Else the process is ended with the connection: it may answer this request yet.
        drop(sending.join());
        drop(connection.send(&Frame::eof(Channel::Stdin)));
    }
    connection.close();
    if app.cancel.level().is_some() {
        app.cancel.acknowledge();
        return Err(Failure::message(FailureKind::Interrupted, "interrupted"));
    }
    let exit_code = match (code, timed_out) {
        (Some(code), _) => Some(code),
        (None, true) => Some(137),
        (None, false) if has_ended => None,
        (None, false) => {
            let id = asked.target.session();
            let text = format!("the turn in session {id} was lost: its keeper is gone");
            return Err(Failure::message(FailureKind::State, text)
                .hinted(format!("Take it up with `lazaret recover {id}`.")));
        }
    };
    Ok(Ended {
        run: asked.run,
        session: asked.target.session().to_string(),
        answer,
        exit_code,
        timed_out,
        truncated: streams.iter().any(Capped::is_cut),
        bytes: streams.each_ref().map(Capped::bytes),
        spill,
        duration: began.elapsed(),
    })
}

/// Returns what a command knows of its group: its name, its folder, and what it may read.
fn group_variables(group: &Group) -> [(String, String); 5] {
    let folder = group.folder.as_ref();
    let place = |path: &RelPathBuf| format!("{WORKSPACE}/{path}");
    let shared: Vec<String> = group.shared.iter().map(place).collect();
    let extra = group.extra.iter();
    let extra = extra.map(|rule| format!("{WORKSPACE}/{EXTRA_DIR}/{}", rule.name));
    let extra: Vec<String> = extra.collect();
    [
        ("LAZARET_GROUP".to_owned(), group.name.clone()),
        (
            "LAZARET_FOLDER".to_owned(),
            folder.map_or_else(|| WORKSPACE.to_owned(), place),
        ),
        ("LAZARET_SHARED".to_owned(), shared.join(":")),
        ("LAZARET_EXTRA".to_owned(), extra.join(":")),
        ("LAZARET_MAIL".to_owned(), format!("{AGENT_HOME}/mail")),
    ]
}

/// Sends the request as a line, and in turn mode the end of stdin. A process that reads nothing
/// holds this thread up only; it ends with the connection.
fn send_request(
    request: &AskRequest,
    mode: AskMode,
    connection: &Connection,
) -> thread::JoinHandle<()> {
    let line = format!("{}\n", request.line());
    let sending = connection.clone();
    thread::spawn(move || {
        let mut frames = Frame::data(Channel::Stdin, line.as_bytes());
        let sent = frames.try_for_each(|frame| sending.send(&frame));
        if sent.is_ok() && mode == AskMode::Turn {
            drop(sending.send(&Frame::eof(Channel::Stdin)));
        }
    })
}

/// Ends the process when its time is up.
struct Clock {
    is_over: Arc<AtomicBool>,
    over: mpsc::Sender<()>,
}

impl Clock {
    fn start(limit: Duration, connection: &Connection, open: Arc<Open>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, ended) = mpsc::channel::<()>();
        let (late, connection) = (Arc::clone(&is_over), connection.clone());
        thread::spawn(move || {
            let is_late = |limit| ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if !is_late(limit) {
                return;
            }
            late.store(true, Ordering::SeqCst);
            if let Ok(frame) = Frame::json(Kind::Signal, &Signal { n: TERMINATE }) {
                connection.send_or_close(&frame);
            }
            if is_late(GRACE) {
                // The keeper ends a process whose client is gone.
                open.close();
            }
        });
        Self { is_over, over }
    }

    /// Stops it. Returns whether the time was up.
    fn stop(self) -> bool {
        drop(self.over);
        self.is_over.load(Ordering::SeqCst)
    }
}

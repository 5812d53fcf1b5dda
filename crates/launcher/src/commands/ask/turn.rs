//! One turn: a process, its streams, and what is found in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::Verb;
use lazaret_session::ask::answer::{AnswerParser, Sentinels};
use lazaret_session::ask::request::AskRequest;
use lazaret_session::cancel::CancelLevel;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::{Exec, Exit, Request, Signal};
use lazaret_session::store::SessionDir;

use super::ended::Ended;
use super::report::Reporter;
use super::target::Target;
use crate::app::App;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// SIGTERM (POSIX.1-2024, `kill`).
const TERMINATE: i32 = 15;

/// How long a process has after SIGTERM.
const GRACE: Duration = Duration::from_secs(15);

/// The most bytes of a stream that are spilled; more are counted only.
const MAX_SPILL: u64 = 64 << 20;

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
    let nonce = nonce()?;
    let sentinels = rules.sentinels.clone();
    let sentinels = sentinels.unwrap_or_else(|| Sentinels::of_nonce(&nonce));
    let mut exec = asked_exec(&asked.target.profile().command);
    exec.turn = true;
    exec.env = BTreeMap::from([
        ("LAZARET_ASK".to_owned(), asked.run.to_string()),
        ("LAZARET_ASK_NONCE".to_owned(), nonce),
        ("LAZARET_SPILL".to_owned(), rules.spill.clone()),
    ]);
    let (dir, connection) = asked.target.exec(&exec, asked.until, app)?;
    let began = Instant::now();
    reporter.started(asked.run, asked.target.session());
    let line = format!("{}\n", asked.request.line());
    let sending = connection.clone();
    // A process that reads nothing holds this thread up only; it ends with the connection.
    thread::spawn(move || {
        let sent =
            Frame::data(Channel::Stdin, line.as_bytes()).try_for_each(|frame| sending.send(&frame));
        drop(sent.and_then(|()| sending.send(&Frame::eof(Channel::Stdin))));
    });
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
    let mut parser = AnswerParser::new(sentinels);
    let mut streams = [".out", ".err"].map(|end| Stream {
        bytes: 0,
        most: rules.output,
        spill: Spill::new(&dir, &rules.spill, format!("{}{end}", asked.run), &open),
    });
    let mut code = None;
    while let Ok(Some(frame)) = connection.read() {
        match (frame.kind, frame.channel) {
            (Kind::Data, channel) => {
                let [stdout, stderr] = &mut streams;
                let stream = match channel {
                    Channel::Stderr => stderr,
                    _ => {
                        parser.push(&frame.payload);
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
    let spill: Vec<String> = (streams.iter_mut())
        .filter_map(|stream| stream.spill.finish())
        .collect();
    connection.close();
    let timed_out = clock.stop();
    if app.cancel.level().is_some() {
        app.cancel.acknowledge();
        return Err(Failure::message(FailureKind::Interrupted, "interrupted"));
    }
    let answer = parser.finish();
    let exit_code = match (code, timed_out) {
        (Some(code), _) => code,
        (None, true) => 137,
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
        truncated: streams.iter().any(|stream| stream.bytes > stream.most),
        bytes: streams.each_ref().map(|stream| stream.bytes),
        spill,
        duration: began.elapsed(),
    })
}

/// Returns a process beside, which reads and ends with its client.
fn asked_exec(argv: &[String]) -> Exec {
    Exec {
        argv: argv.to_vec(),
        env: BTreeMap::new(),
        workdir: None,
        terminal: None,
        stdin: true,
        leave: false,
        turn: false,
    }
}

/// Makes what no earlier turn could have known.
fn nonce() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.or_fail(FailureKind::Internal, "/dev/urandom can't be read")?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// One stream of the process.
struct Stream {
    bytes: u64,
    most: u64,
    spill: Spill,
}

impl Stream {
    /// Counts what came, spills what is too much, and returns the rest.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.most.saturating_sub(self.bytes);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let (shown, over) = bytes.split_at(room);
        self.bytes += bytes.len() as u64;
        if !over.is_empty() {
            self.spill.write(over);
        }
        shown
    }
}

/// A file inside, which begins with the first byte that is too much.
struct Spill {
    dir: SessionDir,
    verb: Verb,
    path: String,
    written: u64,
    open: Arc<Open>,
    state: SpillState,
}

enum SpillState {
    /// Nothing was written.
    New,
    /// The porter writes.
    Writing(Connection),
    /// It can't.
    Lost,
}

impl Spill {
    fn new(dir: &SessionDir, directory: &str, name: String, open: &Arc<Open>) -> Self {
        Self {
            dir: dir.clone(),
            path: format!("{directory}/{name}"),
            verb: Verb::Spill {
                directory: directory.to_owned(),
                name,
            },
            written: 0,
            open: Arc::clone(open),
            state: SpillState::New,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if let SpillState::New = self.state {
            let exec = asked_exec(&self.verb.to_command());
            self.state = match Connection::ask(&self.dir, &Request::Exec(exec)) {
                Ok(Some((connection, _))) => {
                    self.open.add(&connection);
                    SpillState::Writing(connection)
                }
                // The turn does not depend on it.
                Ok(None) | Err(_) => SpillState::Lost,
            };
        }
        let SpillState::Writing(connection) = &self.state else {
            return;
        };
        let room = usize::try_from(MAX_SPILL - self.written).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.written += bytes.len() as u64;
        let sent = Frame::data(Channel::Stdin, bytes).try_for_each(|frame| connection.send(&frame));
        if sent.is_err() {
            self.state = SpillState::Lost;
        }
    }

    /// Ends the file. Returns where it is, if all of it was written.
    fn finish(&mut self) -> Option<String> {
        let SpillState::Writing(connection) = &self.state else {
            return None;
        };
        connection.send(&Frame::eof(Channel::Stdin)).ok()?;
        let mut code = None;
        while let Ok(Some(frame)) = connection.read() {
            if frame.kind == Kind::Exit {
                code = frame.parse().ok().map(|Exit { code, .. }| code);
                break;
            }
        }
        connection.close();
        (code == Some(0)).then(|| self.path.clone())
    }
}

/// The connections of a turn, which end together.
#[derive(Debug, Default)]
struct Open(Mutex<Vec<Connection>>);

impl Open {
    fn add(&self, connection: &Connection) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(connection.clone());
    }

    fn close(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(Connection::close);
    }
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

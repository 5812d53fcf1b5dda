//! `Gateway`: the porter in the gateway's container, from its order to its end.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lazaret_egress::{ConfigUpdate, Event, HEARTBEAT_INTERVAL, Policy};
use lazaret_protocol::Verb;
use lazaret_runtime::{
    EngineError, ExecSpec, HardenedSpec, Process, ProcessControl, Stdin, WhenAbandoned,
};
use lazaret_tree::PathError;

use crate::context::SessionContext;
use crate::lifecycle::latch::{Latch, SetOnDrop};
use crate::lifecycle::verify::{VerifyError, verify_controls};
use crate::network::channel::GatewayChannel;
use crate::network::decision_log::{DecisionLog, JournalEnd, Totals};
use crate::network::denials::OnDenied;
use crate::network::plan::{Plan, SOCKETS};
use crate::porter::conversation::StderrTail;
use crate::porter::ready::{NotReady, await_ready};
use crate::store::SessionDir;

/// Why a session has no network.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its log can't be written.
    #[error(transparent)]
    DecisionLog(#[from] PathError),
    /// A control of the gateway's container is not in force.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The engine gave the porter no input.
    #[error("porter {verb} has no stdin")]
    NoStdin {
        /// What it was asked for.
        verb: &'static str,
    },
    /// It did not take what it is to do.
    #[error("the gateway took no order")]
    NoOrder(#[source] io::Error),
    /// The porter is not ready.
    #[error("the network's {verb} did not start")]
    NotReady {
        /// What it was asked for.
        verb: &'static str,
        /// Why.
        source: NotReady,
    },
}

/// How long a gateway may take to say its last words once its input has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The longest event, in bytes; the gateway cuts what the command chooses.
const LONGEST_EVENT: u64 = 64 << 10;

/// How the network of a command comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkEnd {
    /// The command has ended before the gateway.
    Closed,
    /// The gateway is gone: nothing is open any more.
    Lost,
}

/// A gateway that listens, and the relay that leads to it. Dropping it closes everything.
pub struct Gateway {
    channel: GatewayChannel,
    log: Arc<DecisionLog>,
    /// [`NetworkEnd::Lost`] once its output has ended.
    ended: Arc<Latch<NetworkEnd>>,
    end: Mutex<Receiver<()>>,
    _relay: Relay,
    _control: Box<dyn ProcessControl>,
}

/// What keeps the relay alive: it ends when its input does.
struct Relay {
    _input: Mutex<Box<dyn Write + Send>>,
    _control: Box<dyn ProcessControl>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Proves the controls of the gateway's container, gives it its order, waits until it
    /// listens, and starts the relay in the command's container.
    ///
    /// # Errors
    /// A control that is not in force: no key was sent then (P12). Or the engine's, or the
    /// porter's own words.
    pub fn open(
        cx: &SessionContext<'_>,
        spec: &HardenedSpec,
        agent: &HardenedSpec,
        plan: &Plan,
        dir: &SessionDir,
    ) -> Result<Self, GatewayError> {
        let log = dir.file(crate::network::JOURNAL);
        let log = Arc::new(DecisionLog::create(&log, plan.patterns.clone())?);
        verify_controls(&*cx.engine, spec, cx.events)?;
        let directory = SOCKETS.to_owned();
        let Process {
            stdin,
            stdout,
            stderr,
            control,
        } = run(cx, spec, &Verb::Gateway { directory })?;
        let stdin = stdin.ok_or(GatewayError::NoStdin { verb: "gateway" })?;
        let ended = Arc::new(Latch::default());
        let (tell, ready) = mpsc::channel();
        let (gone, end) = mpsc::channel();
        {
            let (log, ended) = (Arc::clone(&log), Arc::clone(&ended));
            // Not joined: an engine that never ends the stream must not hold the launcher.
            thread::spawn(move || {
                follow(stdout, &log, &tell);
                ended.set(NetworkEnd::Lost);
                drop(tell);
                drop(gone);
            });
        }
        let stderr_tail = StderrTail::of(stderr);
        let channel = GatewayChannel::start(stdin, HEARTBEAT_INTERVAL);
        let ordered = channel.tell(&plan.order);
        let listens = await_ready(&ready, cx.cancel);
        if let Err(error) = listens {
            channel.end();
            let words = stderr_tail.within(LAST_WORDS).unwrap_or_default();
            return Err(GatewayError::NotReady {
                verb: "gateway",
                source: error.with_words(&words),
            });
        }
        ordered.map_err(GatewayError::NoOrder)?;
        let relay = relay(cx, agent, plan)?;
        Ok(Self {
            channel,
            log,
            ended,
            end: Mutex::new(end),
            _relay: relay,
            _control: control,
        })
    }

    /// Whether it was lost before its command had ended.
    pub fn is_lost(&self) -> bool {
        self.ended.get() == Some(NetworkEnd::Lost)
    }

    /// Waits until it is gone, or its command has ended.
    pub fn await_end(&self) -> NetworkEnd {
        self.ended.wait()
    }

    /// Notes the end of the command when the returned guard is dropped: what becomes of the
    /// gateway from then on is no loss.
    pub(crate) fn close_on_drop(&self) -> SetOnDrop<'_, NetworkEnd> {
        self.ended.set_on_drop(NetworkEnd::Closed)
    }

    /// Tells of denied connections from here on, until [`Self::finish`].
    pub fn on_denied(&self, tell: OnDenied) {
        self.log.on_denied(tell);
    }

    /// Replaces its policy.
    ///
    /// # Errors
    /// It is gone.
    pub fn change(&self, policy: Policy) -> io::Result<()> {
        self.channel.tell(&ConfigUpdate::Policy(policy))
    }

    /// Closes everything, waits for its last words, and says what it decided.
    pub fn finish(&self) -> (Totals, JournalEnd) {
        self.channel.end();
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        // It is over when the other side is dropped; else its container is removed anyway.
        let _over = end.recv_timeout(LAST_WORDS);
        self.log.end()
    }
}

/// Starts a verb of the porter as everything is started that has work to do: with its limits. On
/// another machine it outlives a lost connection.
fn run(cx: &SessionContext<'_>, spec: &HardenedSpec, verb: &Verb) -> Result<Process, EngineError> {
    let container = &spec.spec().name;
    let exec = ExecSpec::new(spec.run_argv(&verb.to_command()), Stdin::Piped);
    match cx.info.resumes_connections() {
        true => cx.spawner(container).spawn(&ExecSpec {
            when_abandoned: WhenAbandoned::End,
            ..exec
        }),
        false => cx.engine.exec(container, &exec),
    }
}

/// Reads events until they end.
fn follow(stdout: Box<dyn Read + Send>, log: &DecisionLog, ready: &mpsc::Sender<()>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader)
            .take(LONGEST_EVENT)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // What is none is cut short or not ours: nothing rests on it.
        let Ok(event) = serde_json::from_slice::<Event>(&line) else {
            continue;
        };
        log.note(&event);
        if matches!(event, Event::Ready { .. }) {
            let _given_up = ready.send(());
        }
    }
}

/// Starts the relay, and returns what keeps it alive.
fn relay(
    cx: &SessionContext<'_>,
    agent: &HardenedSpec,
    plan: &Plan,
) -> Result<Relay, GatewayError> {
    let routes = plan.leads();
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = run(cx, agent, &Verb::Relay { routes })?;
    let stdin = stdin.ok_or(GatewayError::NoStdin { verb: "relay" })?;
    let (tell, ready) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        let read = (&mut lines).take(64).read_until(b'\n', &mut line);
        if read.is_ok() && line == b"ready\n" {
            let _given_up = tell.send(());
        }
        drop(tell);
        let _ended = io::copy(&mut lines, &mut io::sink());
    });
    let stderr_tail = StderrTail::of(stderr);
    if let Err(error) = await_ready(&ready, cx.cancel) {
        drop(stdin);
        let words = stderr_tail.within(LAST_WORDS).unwrap_or_default();
        return Err(GatewayError::NotReady {
            verb: "relay",
            source: error.with_words(&words),
        });
    }
    Ok(Relay {
        _input: Mutex::new(stdin),
        _control: control,
    })
}

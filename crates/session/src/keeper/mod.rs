//! The keeper: a process that has a live session, and the clients that come and go.
//!
//! A session whose command outlives the terminal that it was started in belongs to a process of its
//! own. That process holds the session's lock, its streams and its network, and listens on a socket
//! in the session's directory. Clients are attached to the command, run processes beside it, hear
//! what happens, and end it. It never asks a question: changes that need an answer wait.
//!
//! ```text
//! keeper → client   HELLO
//! client → keeper   REQUEST                              one for each connection
//! keeper → client   REPLY                                an error ends the connection
//!   attach          → DATA stdin, EOF, RESIZE, TAKE, SIGNAL   ← SCREEN, DATA, EVENT, MESSAGE, REPORT, EXIT
//!   exec            → DATA stdin, EOF, RESIZE, SIGNAL    ← DATA stdout, DATA stderr, EXIT
//!     one that stays: EOF ends the turn
//!   events          ← EVENT, EXIT
//!   pause           → PAUSE, RESUME                     ← REPLY for its turn, and for each
//!   policy, edit_policy ← DATA stdout, EOF               the policy as JSON
//!   status, stop, limits, restart: nothing more
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`frame`], [`message`] | the protocol |
//! | `place`, `server` | the socket, and who comes in there |
//! | `hub`, `state`, `drawn`, `client` | output to every client, input from one |
//! | `exec`, `streams` | a process beside the command |
//! | `standing` | one that answers one turn after the other |
//! | `pause` | the command paused for a client |
//! | [`policy`] | what the command may reach |
//! | [`journal`] | what happened, in numbers |
//! | [`connection`] | the client's end |

mod answer;
mod client;
pub mod connection;
mod drawn;
mod exec;
pub mod frame;
mod hub;
pub mod journal;
pub mod limits;
pub mod live;
pub mod message;
mod pause;
mod place;
pub mod policy;
mod server;
mod standing;
mod state;
mod streams;

use std::fmt;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::TerminalSize;

use crate::cancel::Cancel;
use crate::keeper::drawn::Streams;
use crate::keeper::frame::Channel;
use crate::keeper::hub::{Begun, Hub};
use crate::keeper::journal::{Happening, Journal, SessionEvent, StopCause};
use crate::keeper::limits::Limits;
use crate::keeper::live::LiveContainer;
use crate::keeper::message::Exit;
use crate::keeper::server::Server;
use crate::lifecycle::command_io::{CommandIo, CommandTerminal};
use crate::lifecycle::disk_limits::{DiskLimits, DiskState};
use crate::network::{Denial, OnDenied};
use crate::output::command_input::{CommandInput, Typed};
use crate::services::Need;
use crate::services::status::{ServiceChange, ServiceState};
use crate::store::SessionDir;
use crate::store::record::CommandEnd;

/// How long the command waits for the client that asked for it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);

/// How many pieces of what is typed wait for the command, of at most 64 KiB.
const TYPED_AHEAD: usize = 16;

/// Between two looks at a container that stays without a command.
const LOOK: Duration = Duration::from_secs(10);

/// Whether a session lasts longer than its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCommand {
    /// It ends with it.
    End,
    /// Its container stays until the session is stopped.
    Stay,
}

/// Whether the command starts before a client is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstClient {
    /// It does not wait.
    None,
    /// It waits for one, for some seconds.
    Awaited,
}

/// What a keeper is to do.
#[derive(Debug, Clone, Copy)]
pub struct KeeperOptions {
    /// The size of the command's terminal; `None` if it has none.
    pub terminal: Option<TerminalSize>,
    /// What the command reads, if it has none.
    pub stdin: CommandStdin,
    /// What follows the command.
    pub after: AfterCommand,
    /// Who is there first.
    pub first: FirstClient,
    /// How long it may last.
    pub limits: Limits,
    /// The key that, held with Ctrl, begins what an attached user says to lazaret.
    pub prefix: char,
}

/// What the process of a keeper does once clients can come, such as leaving its terminal.
pub type OnReachable = Box<dyn FnOnce(&SessionDir, Messages) -> io::Result<()> + Send>;

/// Keeps one session.
pub struct Keeper {
    options: KeeperOptions,
    cancel: Cancel,
    on_reachable: Mutex<Option<OnReachable>>,
    typed: mpsc::SyncSender<Typed>,
    /// Its other end, until the command has it.
    to_type: Mutex<Option<Receiver<Typed>>>,
    live: OnceLock<Reachable>,
}

/// A keeper that clients can reach.
#[derive(Debug)]
struct Reachable {
    hub: Arc<Hub>,
    dir: SessionDir,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// Makes a keeper that no client can reach yet.
    pub fn new(options: KeeperOptions, cancel: Cancel, on_reachable: OnReachable) -> Self {
        let (sender, receiver) = mpsc::sync_channel(TYPED_AHEAD);
        Self {
            options,
            cancel,
            on_reachable: Mutex::new(Some(on_reachable)),
            typed: sender,
            to_type: Mutex::new(Some(receiver)),
            live: OnceLock::new(),
        }
    }

    /// Tells every client how the session ended, and those that want it the JSON report. No client
    /// comes any more.
    pub fn finish(&self, exit: Exit, report: &[u8]) {
        if let Some(Reachable { hub, dir }) = self.live.get() {
            place::remove(dir);
            hub.finish(exit, report);
        }
    }

    fn writer(&self, channel: Channel) -> Box<dyn Write + Send> {
        match self.live.get() {
            Some(Reachable { hub, .. }) => Box::new(ToClients {
                hub: Arc::clone(hub),
                channel,
            }),
            None => Box::new(io::sink()),
        }
    }
}

impl CommandIo for Keeper {
    fn reachable(&self, dir: &SessionDir, live: LiveContainer) -> io::Result<()> {
        let streams = match (self.options.terminal, self.options.stdin) {
            (Some(size), _) => Streams::Terminal(size),
            (None, stdin) => Streams::Pipes(stdin),
        };
        let first = self.options.first;
        let hub = Arc::new(Hub::new(Begun {
            streams,
            typed: self.typed.clone(),
            journal: Journal::open(dir),
            limits: self.options.limits,
            cancel: self.cancel.clone(),
            prefix: self.options.prefix,
        }));
        let server = Server::new(Arc::clone(&hub), dir, live);
        let listener = place::listen(dir)?;
        let serving = Arc::clone(&server);
        thread::spawn(move || serving.serve(&listener));
        thread::spawn(move || server.watch_limits());
        let reachable = Reachable {
            hub: Arc::clone(&hub),
            dir: dir.clone(),
        };
        let _only_once = self.live.set(reachable);
        let on_reachable = self.on_reachable.lock();
        let on_reachable = on_reachable.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(on_reachable) = on_reachable {
            on_reachable(dir, Messages(Arc::clone(&hub)))?;
        }
        if first == FirstClient::Awaited {
            hub.await_client(FIRST_CLIENT);
        }
        Ok(())
    }

    fn stdout(&self) -> Box<dyn Write + Send> {
        self.writer(Channel::Stdout)
    }

    fn stderr(&self) -> Box<dyn Write + Send> {
        self.writer(Channel::Stderr)
    }

    fn terminal(&self) -> Option<CommandTerminal> {
        Some(CommandTerminal {
            size: self.options.terminal?,
            input: self.stdin()?,
        })
    }

    fn stdin(&self) -> Option<Box<dyn CommandInput>> {
        let receiver = self.to_type.lock();
        let receiver = receiver.unwrap_or_else(PoisonError::into_inner).take();
        Some(Box::new(FromClients(receiver?)))
    }

    fn on_denied(&self) -> Option<OnDenied> {
        let hub = Arc::clone(&self.live.get()?.hub);
        Some(Box::new(move |Denial { target, reason }| {
            hub.happened(Happening::Denied { target, reason });
        }))
    }

    fn disk_limits(&self) -> Option<DiskLimits> {
        let reachable = self.live.get();
        Some(reachable.map_or(self.options.limits.disk, |reachable| {
            reachable.hub.disk_limits()
        }))
    }

    fn disk(&self, state: DiskState) {
        if let Some(Reachable { hub, .. }) = self.live.get() {
            hub.disk(state);
        }
    }

    fn service(&self, change: ServiceChange) {
        if let Some(Reachable { hub, .. }) = self.live.get() {
            hub.happened(Happening::Service {
                service: change.name,
                state: change.state,
                exit_code: change.exit_code,
            });
            if change.state == ServiceState::Down && change.need == Need::Required {
                hub.stop(StopCause::Service);
            }
        }
    }

    fn started(&self, argv: &[String]) {
        if let Some(Reachable { hub, .. }) = self.live.get() {
            let command = argv.to_vec();
            hub.happened(Happening::RunStarted { command });
        }
    }

    fn ended(&self, end: &CommandEnd, is_up: &dyn Fn() -> bool) {
        let Some(Reachable { hub, .. }) = self.live.get() else {
            return;
        };
        let stays = self.options.after == AfterCommand::Stay && !end.interrupted;
        hub.command_ended(Happening::RunEnded {
            exit_code: end.exit_code,
            timed_out: end.timed_out,
            stays,
        });
        // A signal to this process ends it as `stop` does.
        while stays && self.cancel.level().is_none() && !hub.await_stop(LOOK) && is_up() {}
        // It was for the command, which has ended.
        self.cancel.acknowledge();
    }
}

/// Shows clients what lazaret itself says.
#[derive(Debug, Clone)]
pub struct Messages(Arc<Hub>);

impl Messages {
    /// Returns what happens from here on. It ends after [`Happening::Ended`].
    pub fn events(&self) -> Receiver<SessionEvent> {
        self.0.watch()
    }

    /// Shows a text.
    pub fn show(&self, text: &[u8]) {
        self.0.message(text);
    }
}

/// Takes one stream of the command.
struct ToClients {
    hub: Arc<Hub>,
    channel: Channel,
}

impl Write for ToClients {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        self.hub.output(self.channel, chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What clients type.
struct FromClients(Receiver<Typed>);

impl CommandInput for FromClients {
    fn next(&mut self) -> Typed {
        /// How long secrets that are cut in two are held back.
        const BEAT: Duration = Duration::from_millis(100);
        match self.0.recv_timeout(BEAT) {
            Ok(typed) => typed,
            Err(mpsc::RecvTimeoutError::Timeout) => Typed::Nothing,
            Err(mpsc::RecvTimeoutError::Disconnected) => Typed::Gone,
        }
    }
}

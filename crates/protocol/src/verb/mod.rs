//! `Verb`: what the porter is asked to do, as its arguments.
//!
//! The host writes arguments by [`Verb::to_argv`], the porter reads them by [`Verb::parse`].

mod parse;

use std::ffi::OsString;
use std::time::Duration;

use crate::{ArgumentError, Control, PORTER_PATH, Placement, ProbeRequest, TerminalSize, Ulimit};

/// A verb of the porter. Paths are those inside of the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Does another verb, with stdin and stdout compressed.
    Compressed(Box<Self>),
    /// Copies everything in one volume into another one.
    Copy {
        /// Where the volume is that is read.
        from: String,
        /// Where the empty volume is that is written.
        to: String,
    },
    /// Connects stdin and stdout to a port of the loopback.
    Dial {
        /// The port.
        port: u16,
    },
    /// Removes everything in a volume.
    Empty {
        /// Where the volume is.
        root: String,
    },
    /// Tells what differs in a volume, and sends what is wanted of it.
    Export {
        /// Where the volume is.
        root: String,
    },
    /// Is the one way out of a session.
    Gateway {
        /// Where its sockets go.
        directory: String,
    },
    /// Keeps every other process still.
    Freeze,
    /// Tells what settings and programs a home holds, and puts others in their place.
    Home {
        /// The home.
        home: String,
    },
    /// Is PID 1.
    Init,
    /// Runs an install step of an image, and sends what it changed.
    Layer {
        /// Where to look for changes.
        root: String,
        /// Where else not to look; empty for everywhere.
        only: Vec<String>,
        /// The step.
        argv: Vec<String>,
    },
    /// Puts credential files into a home, and tells when they change.
    Credentials {
        /// The home.
        home: String,
    },
    /// Tells what lies in a group's mailbox, and removes of it what the host has stored.
    Mail {
        /// The home.
        home: String,
        /// How many files are told at most.
        most: usize,
    },
    /// Reports on every control.
    Probe {
        /// What a command would be limited to.
        limits: Vec<Ulimit>,
        /// What must hold.
        request: Box<ProbeRequest>,
    },
    /// Makes protected paths root's.
    Protect {
        /// Where the volume is.
        root: String,
    },
    /// Writes a stream into an empty volume.
    Receive {
        /// Where the volume is.
        root: String,
    },
    /// Carries loopback ports to the gateway's sockets.
    Relay {
        /// At least one.
        routes: Vec<PortRoute>,
    },
    /// Brings a resumable seat its own stdin and stdout ([`seat`](crate::seat)).
    Rejoin,
    /// Gives protected paths back to the agent.
    Release {
        /// Where the volume is.
        root: String,
    },
    /// Becomes a command.
    Run(RunCommand),
    /// Starts a command, and carries its streams as [`seat`](crate::seat) frames.
    Seat(SeatCommand),
    /// Has PID 1 end every process, and then the container.
    Stop {
        /// From SIGTERM to SIGKILL, in whole milliseconds.
        grace: Duration,
    },
    /// Writes what a caller does not take into a new file.
    Spill {
        /// The directory, which is made.
        directory: String,
        /// The name of the file.
        name: String,
    },
    /// Tries to break what `protect` did.
    VerifyProtection {
        /// Where the volume is.
        root: String,
    },
    /// Continues every process, whichever `hold` stopped it.
    Unfreeze,
    /// Brings a volume up to date.
    Update {
        /// Where the volume is.
        root: String,
        /// When it is surveyed.
        mode: UpdateMode,
    },
    /// Tells how full volumes are together, as often as it is asked.
    Usage {
        /// Where the volume is.
        root: String,
        /// Where further ones are.
        more: Vec<String>,
    },
}

/// A port inside, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRoute {
    /// The port on 127.0.0.1 and ::1.
    pub port: u16,
    /// The gateway's socket.
    pub socket: String,
}

/// When an update surveys the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateMode {
    /// Once the request has come.
    Surveyed,
    /// From the start: nothing else writes to the volume.
    Prefetched,
}

/// A command, and what holds for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommand {
    /// Its limits.
    pub limits: Vec<Ulimit>,
    /// Controls that the engine does not have.
    pub without: Vec<Control>,
    /// How long it may take, in whole milliseconds; `None` for ever.
    pub timeout: Option<Duration>,
    /// What comes before it; `None` if it starts at once.
    pub bootstrap: Option<BootstrapCommand>,
    /// Where it must run; `None` for a container's first command.
    pub same: Option<Placement>,
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// A command that a porter starts and stays beside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatCommand {
    /// The size of its terminal; `None` if it has pipes.
    pub terminal: Option<TerminalSize>,
    /// What becomes of it when the host is gone.
    pub when_abandoned: WhenAbandoned,
    /// How long it waits for another connection if this one is lost, in whole seconds
    /// ([`seat`](crate::seat)); `None` if a lost connection is a host that is gone.
    pub grace: Option<Duration>,
    /// What is started.
    pub seated: Seated,
}

/// What a seat starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seated {
    /// A command.
    Command(RunCommand),
    /// What the [`SpawnMessage`](crate::init::SpawnMessage) names that its input begins with: for
    /// an engine that passes on neither a directory nor variables.
    Message,
}

/// What becomes of a process that the host has let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenAbandoned {
    /// It goes on.
    Leave,
    /// Its session gets SIGHUP, after 5 s SIGTERM, and after another 5 s SIGKILL.
    End,
}

/// What a porter does before it becomes a command ([`bootstrap`](crate::bootstrap)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapCommand {
    /// Where the command starts, which may appear meanwhile.
    pub directory: String,
    /// What must hold; `None` if another process has reported on it.
    pub request: Option<Box<ProbeRequest>>,
    /// What the command finds on its stdin.
    pub stdin: CommandStdin,
}

/// What a command finds on its stdin after [`GO`](crate::bootstrap::GO).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandStdin {
    /// Nothing.
    Empty,
    /// What the host writes after the word.
    Kept,
}

/// Arguments that are no verb's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}; usage: porter {usage}")]
pub struct UsageError {
    /// How the verb is called.
    pub usage: &'static str,
    /// What is wrong.
    pub cause: ArgumentError,
}

impl Verb {
    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Compressed(_) => "deflated",
            Self::Copy { .. } => "copy",
            Self::Dial { .. } => "dial",
            Self::Empty { .. } => "empty",
            Self::Export { .. } => "export",
            Self::Gateway { .. } => "gateway",
            Self::Freeze => "hold",
            Self::Home { .. } => "home",
            Self::Init => "init",
            Self::Layer { .. } => "layer",
            Self::Credentials { .. } => "lend",
            Self::Mail { .. } => "mail",
            Self::Probe { .. } => "probe",
            Self::Protect { .. } => "protect",
            Self::Receive { .. } => "receive",
            Self::Relay { .. } => "relay",
            Self::Rejoin => "rejoin",
            Self::Release { .. } => "release",
            Self::Run(_) => "run",
            Self::Seat(_) => "seat",
            Self::Spill { .. } => "spill",
            Self::Stop { .. } => "stop",
            Self::VerifyProtection { .. } => "sealed",
            Self::Unfreeze => "thaw",
            Self::Update { .. } => "update",
            Self::Usage { .. } => "usage",
        }
    }

    /// Returns name and arguments, without the program.
    pub fn to_argv(&self) -> Vec<String> {
        let mut argv = vec![self.name().to_owned()];
        match self {
            Self::Freeze | Self::Init | Self::Rejoin | Self::Unfreeze => {}
            Self::Compressed(verb) => argv.extend(verb.to_argv()),
            Self::Copy { from, to } => argv.extend([from.clone(), to.clone()]),
            Self::Dial { port } => argv.push(port.to_string()),
            Self::Empty { root: path }
            | Self::Export { root: path }
            | Self::Gateway { directory: path }
            | Self::Home { home: path }
            | Self::Credentials { home: path }
            | Self::Protect { root: path }
            | Self::Receive { root: path }
            | Self::Release { root: path }
            | Self::VerifyProtection { root: path } => argv.push(path.clone()),
            Self::Layer {
                root,
                only,
                argv: step,
            } => {
                argv.push(root.clone());
                push_each(&mut argv, "--only", only.iter().cloned());
                argv.push("--".to_owned());
                argv.extend_from_slice(step);
            }
            Self::Probe { limits, request } => {
                push_each(&mut argv, "--limit", limits.iter().map(Ulimit::to_string));
                push_request(&mut argv, request);
            }
            Self::Mail { home, most } => argv.extend([home.clone(), most.to_string()]),
            Self::Relay { routes } => {
                let route = |route: &PortRoute| format!("{}={}", route.port, route.socket);
                argv.extend(routes.iter().map(route));
            }
            Self::Run(command) => command.push_to(&mut argv),
            Self::Seat(seat) => {
                argv.extend(seat.options());
                match &seat.seated {
                    Seated::Command(command) => {
                        argv.push("run".to_owned());
                        command.push_to(&mut argv);
                    }
                    Seated::Message => argv.push("message".to_owned()),
                }
            }
            Self::Spill { directory, name } => argv.extend([directory.clone(), name.clone()]),
            Self::Stop { grace } => argv.push(grace.as_millis().to_string()),
            Self::Usage { root, more } => {
                argv.push(root.clone());
                argv.extend_from_slice(more);
            }
            Self::Update { root, mode } => {
                argv.push(root.clone());
                argv.extend(mode.flag().map(str::to_owned));
            }
        }
        argv
    }

    /// Returns the whole command: the program, name and arguments.
    pub fn to_command(&self) -> Vec<String> {
        let mut command = vec![PORTER_PATH.to_owned()];
        command.extend(self.to_argv());
        command
    }
}

impl UpdateMode {
    fn flag(self) -> Option<&'static str> {
        match self {
            Self::Surveyed => None,
            Self::Prefetched => Some("--ahead"),
        }
    }
}

impl SeatCommand {
    /// Returns the options of `seat`.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let size = self.terminal.map(|size| size.to_string());
        push_each(&mut options, "--terminal", size.into_iter());
        if self.when_abandoned == WhenAbandoned::Leave {
            options.push("--leave".to_owned());
        }
        let grace = self.grace.map(|grace| grace.as_secs().to_string());
        push_each(&mut options, "--grace", grace.into_iter());
        options
    }

    /// Returns the seat of `run`, a whole command of [`Verb::Run`], without a terminal or a grace.
    /// `None` if it is no such command: a seat starts nothing that was not checked.
    pub fn around(run: &[String]) -> Option<Self> {
        let (_, arguments) = run.split_first()?;
        match Verb::parse(arguments.iter().map(OsString::from)) {
            Ok(Verb::Run(command)) => Some(Self {
                terminal: None,
                when_abandoned: WhenAbandoned::End,
                grace: None,
                seated: Seated::Command(command),
            }),
            _ => None,
        }
    }
}

impl RunCommand {
    fn push_to(&self, argv: &mut Vec<String>) {
        let Self {
            limits,
            without,
            timeout,
            bootstrap,
            same,
            argv: command,
        } = self;
        push_each(argv, "--limit", limits.iter().map(Ulimit::to_string));
        let ids = without.iter().map(|control| control.id().to_owned());
        push_each(argv, "--without", ids);
        let millis = timeout.map(|timeout| timeout.as_millis().to_string());
        push_each(argv, "--timeout", millis.into_iter());
        let same = same.map(|placement| placement.to_string());
        push_each(argv, "--same", same.into_iter());
        if let Some(BootstrapCommand {
            directory,
            request,
            stdin,
        }) = bootstrap
        {
            push_each(argv, "--poised", [directory.clone()].into_iter());
            if *stdin == CommandStdin::Kept {
                argv.push("--stdin".to_owned());
            }
            if let Some(request) = request {
                push_request(argv, request);
            }
        }
        argv.push("--".to_owned());
        argv.extend_from_slice(command);
    }
}

fn push_each(argv: &mut Vec<String>, option: &str, values: impl Iterator<Item = String>) {
    argv.extend(values.flat_map(|value| [option.to_owned(), value]));
}

fn push_request(argv: &mut Vec<String>, request: &ProbeRequest) {
    let pairs = request.to_pairs().into_iter();
    let pairs = pairs.map(|(key, value)| format!("{key}={value}"));
    push_each(argv, "--expect", pairs);
}

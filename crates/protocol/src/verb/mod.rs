//! `Verb`: what the porter is asked to do, as its arguments.
//!
//! The host writes arguments by [`Verb::to_argv`], the porter reads them by [`Verb::parse`].

use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

use crate::{ArgumentError, Control, PORTER_PATH, ProbeRequest, Ulimit};

/// A verb of the porter. Paths are those inside of the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Does another verb, with stdin and stdout compressed.
    Deflated(Box<Self>),
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
    Hold,
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
    Lend {
        /// The home.
        home: String,
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
    /// Gives protected paths back to the agent.
    Release {
        /// Where the volume is.
        root: String,
    },
    /// Becomes a command.
    Run(RunCommand),
    /// Tries to break what `protect` did.
    Sealed {
        /// Where the volume is.
        root: String,
    },
    /// Continues every process, whichever `hold` stopped it.
    Thaw,
    /// Brings a volume up to date.
    Update {
        /// Where the volume is.
        root: String,
        /// When it is surveyed.
        mode: UpdateMode,
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
    /// Only where what the host believes to lie there does not.
    Optimistic,
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
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// What a porter does before it becomes a command ([`bootstrap`](crate::bootstrap)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapCommand {
    /// Where the command starts, which may appear meanwhile.
    pub directory: String,
    /// What must hold; `None` if another process has reported on it.
    pub request: Option<Box<ProbeRequest>>,
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
            Self::Deflated(_) => "deflated",
            Self::Dial { .. } => "dial",
            Self::Empty { .. } => "empty",
            Self::Export { .. } => "export",
            Self::Gateway { .. } => "gateway",
            Self::Hold => "hold",
            Self::Init => "init",
            Self::Layer { .. } => "layer",
            Self::Lend { .. } => "lend",
            Self::Probe { .. } => "probe",
            Self::Protect { .. } => "protect",
            Self::Receive { .. } => "receive",
            Self::Relay { .. } => "relay",
            Self::Release { .. } => "release",
            Self::Run(_) => "run",
            Self::Sealed { .. } => "sealed",
            Self::Thaw => "thaw",
            Self::Update { .. } => "update",
        }
    }

    /// Returns name and arguments, without the program.
    pub fn to_argv(&self) -> Vec<String> {
        let mut argv = vec![self.name().to_owned()];
        match self {
            Self::Hold | Self::Init | Self::Thaw => {}
            Self::Deflated(verb) => argv.extend(verb.to_argv()),
            Self::Dial { port } => argv.push(port.to_string()),
            Self::Empty { root: path }
            | Self::Export { root: path }
            | Self::Gateway { directory: path }
            | Self::Lend { home: path }
            | Self::Protect { root: path }
            | Self::Receive { root: path }
            | Self::Release { root: path }
            | Self::Sealed { root: path } => argv.push(path.clone()),
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
            Self::Relay { routes } => {
                let route = |route: &PortRoute| format!("{}={}", route.port, route.socket);
                argv.extend(routes.iter().map(route));
            }
            Self::Run(command) => command.push_to(&mut argv),
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

    /// Reads name and arguments, without the program.
    ///
    /// # Errors
    /// When they are not what [`Verb::to_argv`] writes.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let texts = arguments.into_iter().map(OsString::into_string);
        let texts: Result<Vec<String>, OsString> = texts.collect();
        let texts = texts.map_err(|found| UsageError {
            usage: usage(""),
            cause: ArgumentError::Unexpected {
                found: found.to_string_lossy().into_owned(),
            },
        })?;
        let mut arguments = Arguments(texts.into_iter());
        let name = arguments.0.next().unwrap_or_default();
        let verb = Self::read(&name, &mut arguments);
        verb.map_err(|cause| UsageError {
            usage: usage(&name),
            cause,
        })
    }

    fn read(name: &str, arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let verb = match name {
            "deflated" => {
                let name = arguments.text("verb")?;
                match Self::read(&name, arguments)? {
                    Self::Deflated(_) => return Err(ArgumentError::Unexpected { found: name }),
                    verb => Self::Deflated(Box::new(verb)),
                }
            }
            "dial" => Self::Dial {
                port: arguments.parsed("port", "a number")?,
            },
            "empty" => Self::Empty {
                root: arguments.text("root")?,
            },
            "export" => Self::Export {
                root: arguments.text("root")?,
            },
            "gateway" => Self::Gateway {
                directory: arguments.text("directory")?,
            },
            "hold" => Self::Hold,
            "init" => Self::Init,
            "layer" => Self::read_layer(arguments)?,
            "lend" => Self::Lend {
                home: arguments.text("home")?,
            },
            "probe" => Self::read_probe(arguments)?,
            "protect" => Self::Protect {
                root: arguments.text("root")?,
            },
            "receive" => Self::Receive {
                root: arguments.text("root")?,
            },
            "relay" => Self::Relay {
                routes: arguments.routes()?,
            },
            "release" => Self::Release {
                root: arguments.text("root")?,
            },
            "run" => Self::Run(RunCommand::read(arguments)?),
            "sealed" => Self::Sealed {
                root: arguments.text("root")?,
            },
            "thaw" => Self::Thaw,
            "update" => Self::Update {
                root: arguments.text("root")?,
                mode: UpdateMode::read(arguments)?,
            },
            "" => return Err(ArgumentError::Missing { name: "verb" }),
            other => {
                return Err(ArgumentError::Unexpected {
                    found: other.to_owned(),
                });
            }
        };
        match arguments.0.next() {
            Some(found) => Err(ArgumentError::Unexpected { found }),
            None => Ok(verb),
        }
    }

    fn read_layer(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let root = arguments.text("root")?;
        let mut only = Vec::new();
        loop {
            let option = arguments.text("command")?;
            match &*option {
                "--" => break,
                "--only" => only.push(arguments.text("path")?),
                _ => return Err(ArgumentError::Unexpected { found: option }),
            }
        }
        let argv = arguments.command()?;
        Ok(Self::Layer { root, only, argv })
    }

    fn read_probe(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let (mut limits, mut pairs) = (Vec::new(), Vec::new());
        while let Some(option) = arguments.0.next() {
            match &*option {
                "--limit" => limits.push(arguments.text("limit")?.parse()?),
                "--expect" => pairs.push(arguments.pair()?),
                _ => return Err(ArgumentError::Unexpected { found: option }),
            }
        }
        let request = Box::new(ProbeRequest::parse(pairs)?);
        Ok(Self::Probe { limits, request })
    }
}

impl UpdateMode {
    fn flag(self) -> Option<&'static str> {
        match self {
            Self::Surveyed => None,
            Self::Prefetched => Some("--ahead"),
            Self::Optimistic => Some("--ground"),
        }
    }

    fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let Some(found) = arguments.0.next() else {
            return Ok(Self::Surveyed);
        };
        let mut modes = [Self::Prefetched, Self::Optimistic].into_iter();
        let mode = modes.find(|mode| mode.flag() == Some(&*found));
        mode.ok_or(ArgumentError::Unexpected { found })
    }
}

impl RunCommand {
    fn push_to(&self, argv: &mut Vec<String>) {
        let Self {
            limits,
            without,
            timeout,
            bootstrap,
            argv: command,
        } = self;
        push_each(argv, "--limit", limits.iter().map(Ulimit::to_string));
        let ids = without.iter().map(|control| control.id().to_owned());
        push_each(argv, "--without", ids);
        let millis = timeout.map(|timeout| timeout.as_millis().to_string());
        push_each(argv, "--timeout", millis.into_iter());
        if let Some(BootstrapCommand { directory, request }) = bootstrap {
            push_each(argv, "--poised", [directory.clone()].into_iter());
            if let Some(request) = request {
                push_request(argv, request);
            }
        }
        argv.push("--".to_owned());
        argv.extend_from_slice(command);
    }

    fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let (mut limits, mut without, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut timeout, mut directory) = (None, None);
        loop {
            let option = arguments.text("command")?;
            match &*option {
                "--" => break,
                "--limit" => limits.push(arguments.text("limit")?.parse()?),
                "--without" => without.push(arguments.parsed("control", "a case id")?),
                "--timeout" => {
                    let millis = arguments.parsed("timeout", "milliseconds")?;
                    timeout = Some(Duration::from_millis(millis));
                }
                "--poised" => directory = Some(arguments.text("directory")?),
                "--expect" => pairs.push(arguments.pair()?),
                _ => return Err(ArgumentError::Unexpected { found: option }),
            }
        }
        let bootstrap = match (directory, pairs.is_empty()) {
            (Some(directory), true) => Some(BootstrapCommand {
                directory,
                request: None,
            }),
            (Some(directory), false) => Some(BootstrapCommand {
                directory,
                request: Some(Box::new(ProbeRequest::parse(pairs)?)),
            }),
            (None, true) => None,
            (None, false) => return Err(ArgumentError::Missing { name: "directory" }),
        };
        Ok(Self {
            limits,
            without,
            timeout,
            bootstrap,
            argv: arguments.command()?,
        })
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

/// Arguments that were not read yet.
struct Arguments(std::vec::IntoIter<String>);

impl Arguments {
    fn text(&mut self, name: &'static str) -> Result<String, ArgumentError> {
        self.0.next().ok_or(ArgumentError::Missing { name })
    }

    fn parsed<T: FromStr>(
        &mut self,
        name: &'static str,
        wanted: &'static str,
    ) -> Result<T, ArgumentError> {
        let text = self.text(name)?;
        let parsed = text.parse();
        parsed.map_err(|_| ArgumentError::value(name, wanted, &text))
    }

    /// Reads `KEY=VALUE`.
    fn pair(&mut self) -> Result<(String, String), ArgumentError> {
        let text = self.text("expectation")?;
        match text.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(ArgumentError::value("expectation", "KEY=VALUE", &text)),
        }
    }

    /// Reads `PORT=SOCKET` up to the end.
    fn routes(&mut self) -> Result<Vec<PortRoute>, ArgumentError> {
        let mut routes = Vec::new();
        for text in self.0.by_ref() {
            let route = text.split_once('=').and_then(|(port, socket)| {
                let port = port.parse().ok()?;
                let socket = socket.to_owned();
                Some(PortRoute { port, socket })
            });
            routes.push(route.ok_or_else(|| ArgumentError::value("port", "PORT=SOCKET", &text))?);
        }
        match routes.is_empty() {
            true => Err(ArgumentError::Missing { name: "port" }),
            false => Ok(routes),
        }
    }

    /// Takes what is left: a program and its arguments.
    fn command(&mut self) -> Result<Vec<String>, ArgumentError> {
        let argv: Vec<String> = self.0.by_ref().collect();
        match argv.is_empty() {
            true => Err(ArgumentError::Missing { name: "command" }),
            false => Ok(argv),
        }
    }
}

/// Returns how a verb is called.
fn usage(name: &str) -> &'static str {
    match name {
        "deflated" => "deflated VERB…",
        "dial" => "dial PORT",
        "empty" => "empty ROOT",
        "export" => "export ROOT",
        "gateway" => "gateway DIRECTORY",
        "hold" => "hold",
        "init" => "init",
        "layer" => "layer ROOT [--only PATH]… -- COMMAND…",
        "lend" => "lend HOME",
        "probe" => "probe [--limit NAME=NUMBER]… --expect KEY=VALUE…",
        "protect" => "protect ROOT",
        "receive" => "receive ROOT",
        "relay" => "relay PORT=SOCKET…",
        "release" => "release ROOT",
        "run" => {
            "run [--limit NAME=NUMBER]… [--without CONTROL]… [--timeout MILLISECONDS] \
             [--poised DIRECTORY [--expect KEY=VALUE]…] -- COMMAND…"
        }
        "sealed" => "sealed ROOT",
        "thaw" => "thaw",
        "update" => "update ROOT [--ahead|--ground]",
        _ => {
            "deflated|dial|empty|export|gateway|hold|init|layer|lend|probe|protect|receive|\
             relay|release|run|sealed|thaw|update"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::probe::request;
    use crate::{IdMapping, Resource};

    fn verbs() -> Vec<Verb> {
        let text = str::to_owned;
        let root = || text("/workspace/a b");
        let limit = |resource| Ulimit { resource, limit: 7 };
        let run = |bootstrap, timeout| {
            Verb::Run(RunCommand {
                limits: vec![limit(Resource::Core), limit(Resource::Nproc)],
                without: vec![Control::Pids, Control::Memory],
                timeout,
                bootstrap,
                argv: vec![text("sh"), text("--"), text("")],
            })
        };
        let bootstrap = |request| {
            Some(BootstrapCommand {
                directory: root(),
                request,
            })
        };
        let update = |mode| Verb::Update { root: root(), mode };
        vec![
            Verb::Deflated(Box::new(Verb::Export { root: root() })),
            Verb::Dial { port: 8080 },
            Verb::Empty { root: root() },
            Verb::Export { root: root() },
            Verb::Gateway { directory: root() },
            Verb::Hold,
            Verb::Init,
            Verb::Layer {
                root: text("/"),
                only: vec![text("/usr"), text("/opt")],
                argv: vec![text("/bin/sh"), text("-ec"), text("true")],
            },
            Verb::Lend { home: root() },
            Verb::Probe {
                limits: vec![limit(Resource::Fsize)],
                request: Box::new(request(IdMapping::Host)),
            },
            Verb::Protect { root: root() },
            Verb::Receive { root: root() },
            Verb::Relay {
                routes: vec![PortRoute {
                    port: 3128,
                    socket: text("/run/a=b"),
                }],
            },
            Verb::Release { root: root() },
            run(None, None),
            run(bootstrap(None), Some(Duration::from_millis(60_000))),
            run(bootstrap(Some(Box::new(request(IdMapping::Mapped)))), None),
            Verb::Sealed { root: root() },
            Verb::Thaw,
            update(UpdateMode::Surveyed),
            update(UpdateMode::Prefetched),
            update(UpdateMode::Optimistic),
        ]
    }

    #[test]
    fn every_verb_is_read_as_it_was_written() {
        let names: BTreeSet<&str> = verbs().iter().map(Verb::name).collect();
        assert_eq!(names.len(), 18);
        for verb in verbs() {
            let argv = verb.to_argv().into_iter().map(OsString::from);
            assert_eq!(Verb::parse(argv), Ok(verb));
        }
    }

    #[test]
    fn arguments_of_no_verb_are_refused_with_the_right_ones() {
        let refused = |line: &str| {
            let arguments = line.split_whitespace().map(OsString::from);
            Verb::parse(arguments).map_err(|error| error.to_string())
        };
        for verb in verbs() {
            let mut argv = verb.to_argv();
            if !matches!(verb, Verb::Run(_) | Verb::Layer { .. }) {
                argv.push("more".to_owned());
                let error = Verb::parse(argv.into_iter().map(OsString::from));
                error.expect_err("one too many");
            }
        }
        for (line, message) in [
            ("dial", "no port; usage: porter dial PORT"),
            (
                "dial x",
                "port: expected a number, found `x`; usage: porter dial PORT",
            ),
            ("hold on", "unexpected argument `on`; usage: porter hold"),
        ] {
            assert_eq!(refused(line), Err(message.to_owned()));
        }
        for line in [
            "",
            "fly",
            "deflated",
            "deflated deflated hold",
            "relay",
            "relay 1:x",
            "run sh",
            "run --",
            "run --limit core -- sh",
            "run --without CON-99 -- sh",
            "run --expect uid=1 -- sh",
            "layer / --only",
            "update / --soon",
            "probe",
        ] {
            refused(line).expect_err("no verb");
        }
    }
}

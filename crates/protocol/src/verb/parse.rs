//! Reads the arguments of a verb.

use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

use super::{
    BootstrapCommand, CommandStdin, PortRoute, RunCommand, SeatCommand, Seated, UpdateMode,
    UsageError, Verb, WhenAbandoned,
};
use crate::{ArgumentError, ProbeRequest};

impl Verb {
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
                    Self::Compressed(_) => return Err(ArgumentError::Unexpected { found: name }),
                    verb => Self::Compressed(Box::new(verb)),
                }
            }
            "copy" => Self::Copy {
                from: arguments.text("from")?,
                to: arguments.text("to")?,
            },
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
            "hold" => Self::Freeze,
            "home" => Self::Home {
                home: arguments.text("home")?,
            },
            "init" => Self::Init,
            "layer" => Self::read_layer(arguments)?,
            "lend" => Self::Credentials {
                home: arguments.text("home")?,
            },
            "mail" => Self::Mail {
                home: arguments.text("home")?,
                most: arguments.parsed("most", "a number")?,
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
            "rejoin" => Self::Rejoin,
            "release" => Self::Release {
                root: arguments.text("root")?,
            },
            "run" => Self::Run(RunCommand::read(arguments)?),
            "seat" => Self::Seat(SeatCommand::read(arguments)?),
            "sealed" => Self::VerifyProtection {
                root: arguments.text("root")?,
            },
            "spill" => Self::Spill {
                directory: arguments.text("directory")?,
                name: arguments.text("name")?,
            },
            "stop" => Self::Stop {
                grace: Duration::from_millis(arguments.parsed("grace", "milliseconds")?),
            },
            "thaw" => Self::Unfreeze,
            "update" => Self::Update {
                root: arguments.text("root")?,
                mode: UpdateMode::read(arguments)?,
            },
            "usage" => Self::Usage {
                root: arguments.text("root")?,
                more: arguments.0.by_ref().collect(),
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
    fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let Some(found) = arguments.0.next() else {
            return Ok(Self::Surveyed);
        };
        match Self::Prefetched.flag() == Some(&*found) {
            true => Ok(Self::Prefetched),
            false => Err(ArgumentError::Unexpected { found }),
        }
    }
}

impl SeatCommand {
    fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let (mut terminal, mut when_abandoned, mut grace) = (None, WhenAbandoned::End, None);
        let seated = loop {
            let option = arguments.text("run")?;
            match &*option {
                "run" => break Seated::Command(RunCommand::read(arguments)?),
                "message" => break Seated::Message,
                "--terminal" => terminal = Some(arguments.text("terminal")?.parse()?),
                "--leave" => when_abandoned = WhenAbandoned::Leave,
                "--grace" => {
                    let seconds: u32 = arguments.parsed("grace", "seconds")?;
                    grace = Some(Duration::from_secs(seconds.into()));
                }
                _ => return Err(ArgumentError::Unexpected { found: option }),
            }
        };
        Ok(Self {
            terminal,
            when_abandoned,
            grace,
            seated,
        })
    }
}

impl RunCommand {
    fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let (mut limits, mut without, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut timeout, mut directory, mut same) = (None, None, None);
        let mut stdin = CommandStdin::Empty;
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
                "--same" => same = Some(arguments.text("placement")?.parse()?),
                "--stdin" => stdin = CommandStdin::Kept,
                "--poised" => directory = Some(arguments.text("directory")?),
                "--expect" => pairs.push(arguments.pair()?),
                _ => return Err(ArgumentError::Unexpected { found: option }),
            }
        }
        let request = match pairs.is_empty() {
            true => None,
            false => Some(Box::new(ProbeRequest::parse(pairs)?)),
        };
        let bootstrap = match directory {
            Some(directory) => Some(BootstrapCommand {
                directory,
                request,
                stdin,
            }),
            None if request.is_none() && stdin == CommandStdin::Empty => None,
            None => return Err(ArgumentError::Missing { name: "directory" }),
        };
        Ok(Self {
            limits,
            without,
            timeout,
            bootstrap,
            same,
            argv: arguments.command()?,
        })
    }
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

/// Every verb, with how it is called.
const USAGES: [(&str, &str); 26] = [
    ("copy", "copy FROM TO"),
    ("deflated", "deflated VERB…"),
    ("dial", "dial PORT"),
    ("empty", "empty ROOT"),
    ("export", "export ROOT"),
    ("gateway", "gateway DIRECTORY"),
    ("hold", "hold"),
    ("home", "home HOME"),
    ("init", "init"),
    ("layer", "layer ROOT [--only PATH]… -- COMMAND…"),
    ("lend", "lend HOME"),
    ("mail", "mail HOME MOST"),
    ("probe", "probe [--limit NAME=NUMBER]… --expect KEY=VALUE…"),
    ("protect", "protect ROOT"),
    ("receive", "receive ROOT"),
    ("relay", "relay PORT=SOCKET…"),
    ("rejoin", "rejoin"),
    ("release", "release ROOT"),
    (
        "run",
        "run [--limit NAME=NUMBER]… [--without CONTROL]… [--timeout MILLISECONDS] \
         [--same PLACEMENT] [--poised DIRECTORY [--stdin] [--expect KEY=VALUE]…] -- COMMAND…",
    ),
    ("sealed", "sealed ROOT"),
    (
        "seat",
        "seat [--terminal COLUMNSxROWS] [--leave] [--grace SECONDS] {run …|message}",
    ),
    ("spill", "spill DIRECTORY NAME"),
    ("stop", "stop MILLISECONDS"),
    ("thaw", "thaw"),
    ("update", "update ROOT [--ahead]"),
    ("usage", "usage ROOT [MORE…]"),
];

/// How the porter is called if no verb is named.
const VERBS: &str = "copy|deflated|dial|empty|export|gateway|hold|home|init|layer|lend|mail|probe|protect|\
                     receive|rejoin|relay|release|run|sealed|seat|spill|stop|thaw|update|usage";

/// Returns how a verb is called.
fn usage(name: &str) -> &'static str {
    let found = USAGES.iter().find(|(verb, _)| *verb == name);
    found.map_or(VERBS, |(_, usage)| usage)
}

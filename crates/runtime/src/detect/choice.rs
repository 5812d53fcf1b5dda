//! `EngineChoice`: which engine was asked for, by a name or an address.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Which engine to use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// The first one that answers.
    #[default]
    Auto,
    /// One by its name.
    Named(NamedEngine),
    /// Whatever listens at an address.
    Endpoint(Endpoint),
}

/// An engine by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedEngine {
    /// `docker`.
    Docker,
    /// `podman`: rootful where its socket may be used, else the user's own.
    Podman,
    /// `podman-rootless`: the user's own. For root, the one of the user that has a
    /// socket under `/run/user`.
    PodmanRootless,
    /// `apple`.
    Apple,
}

/// An address of an engine's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A unix socket, by its absolute path.
    Unix(PathBuf),
    /// Plain TCP, `host:port`.
    Tcp(String),
}

/// Why a text names no engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// Neither a name nor an address.
    #[error(
        "{text:?} names no engine: expected docker, podman, podman-rootless, apple, unix:///PATH or tcp://HOST:PORT"
    )]
    Unknown {
        /// The offending text.
        text: String,
    },
    /// No address.
    #[error("{text:?} names no engine: expected unix:///PATH or tcp://HOST:PORT")]
    NoAddress {
        /// The offending text.
        text: String,
    },
    /// A way to reach an engine that is not implemented.
    #[error("{text:?}{with}: engines over {scheme} are not supported")]
    Unsupported {
        /// The offending text.
        text: String,
        /// What asks for it beside the text, such as ` with DOCKER_TLS_VERIFY`; empty for
        /// nothing.
        with: String,
        /// How the engine would be reached.
        scheme: Scheme,
    },
    /// No context has that name.
    #[error("there is no Docker context {name:?} in {}", directory.display())]
    NoContext {
        /// The name.
        name: String,
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// A context without an address of a Docker engine.
    #[error("the Docker context {name:?} names no Docker endpoint")]
    NoEndpoint {
        /// The name.
        name: String,
    },
    /// A context whose address can't be used.
    #[error("the Docker context {name:?}: {source}")]
    Context {
        /// The name.
        name: String,
        /// Why.
        source: Box<Self>,
    },
    /// Docker's configuration can't be read, so it may name any context.
    #[error("the Docker context in force is unknown: {reason}")]
    Config {
        /// Why not.
        reason: String,
    },
    /// Two variables, two engines.
    #[error("{one} and {other} name two engines")]
    TwoEngines {
        /// One of them.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
}

impl ChoiceError {
    /// Returns what was written: an address, or the name of a context; empty if that is not
    /// known.
    pub fn text(&self) -> &str {
        match self {
            Self::Unknown { text } | Self::NoAddress { text } | Self::Unsupported { text, .. } => {
                text
            }
            Self::NoContext { name, .. } | Self::NoEndpoint { name } => name,
            Self::Context { source, .. } => source.text(),
            Self::Config { .. } | Self::TwoEngines { .. } => "",
        }
    }
}

/// A way to reach an engine that is not implemented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `ssh://`.
    Ssh,
    /// TLS over TCP.
    Tls,
    /// A named pipe of Windows.
    Pipe,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ssh => "ssh",
            Self::Tls => "tcp with TLS",
            Self::Pipe => "a named pipe",
        })
    }
}

impl NamedEngine {
    /// All of them, in the order of detection.
    pub const ALL: [Self; 4] = [
        Self::Docker,
        Self::Podman,
        Self::PodmanRootless,
        Self::Apple,
    ];

    /// Returns the name as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::PodmanRootless => "podman-rootless",
            Self::Apple => "apple",
        }
    }
}

impl fmt::Display for NamedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Named(name) => name.fmt(f),
            Self::Endpoint(endpoint) => endpoint.fmt(f),
        }
    }
}

impl FromStr for Endpoint {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let unsupported = |scheme| ChoiceError::Unsupported {
            text: text.to_owned(),
            with: String::new(),
            scheme,
        };
        let unknown = || ChoiceError::NoAddress {
            text: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix://") {
            return if path.starts_with('/') && path.len() > 1 && !path.contains('\0') {
                Ok(Self::Unix(PathBuf::from(path)))
            } else {
                Err(unknown())
            };
        }
        if let Some(address) = text
            .strip_prefix("tcp://")
            .or_else(|| text.strip_prefix("http://"))
        {
            let address = address.strip_suffix('/').unwrap_or(address);
            let (host, port) = address.rsplit_once(':').ok_or_else(unknown)?;
            let host_ok = !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
            return match port.parse::<u16>() {
                Ok(2376) => Err(unsupported(Scheme::Tls)),
                Ok(port) if host_ok && port != 0 => Ok(Self::Tcp(address.to_owned())),
                _ => Err(unknown()),
            };
        }
        match text.split_once("://") {
            Some(("ssh", _)) => Err(unsupported(Scheme::Ssh)),
            Some(("https", _)) => Err(unsupported(Scheme::Tls)),
            Some(("npipe", _)) => Err(unsupported(Scheme::Pipe)),
            _ => Err(unknown()),
        }
    }
}

impl FromStr for EngineChoice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match NamedEngine::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
        {
            Some(name) => Ok(Self::Named(name)),
            None => match text.parse() {
                Ok(endpoint) => Ok(Self::Endpoint(endpoint)),
                Err(ChoiceError::NoAddress { text }) => Err(ChoiceError::Unknown { text }),
                Err(error) => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match text.parse::<EngineChoice>() {
            Ok(choice) => format!("{choice:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn choices_are_parsed_or_refused() {
        check("auto", "Auto");
        check("docker", "Named(Docker)");
        check("podman-rootless", "Named(PodmanRootless)");
        check("unix:///run/x.sock", r#"Endpoint(Unix("/run/x.sock"))"#);
        check("tcp://127.0.0.1:2375", r#"Endpoint(Tcp("127.0.0.1:2375"))"#);
        check("tcp://[::1]:2375/", r#"Endpoint(Tcp("[::1]:2375"))"#);
        for wrong in [
            "",
            "Docker",
            "unix://relative",
            "unix:///",
            "tcp://host",
            "tcp://:1",
            "tcp://h:0",
        ] {
            assert!(
                matches!(
                    wrong.parse::<EngineChoice>(),
                    Err(ChoiceError::Unknown { .. })
                ),
                "{wrong:?}"
            );
        }
        check(
            "ssh://me@host",
            "\"ssh://me@host\": engines over ssh are not supported",
        );
        check(
            "tcp://host:2376",
            "\"tcp://host:2376\": engines over tcp with TLS are not supported",
        );
    }
}

//! `ChoiceError`: why a text, or what surrounds the user, names no engine.

use std::path::PathBuf;

/// Why a text names no engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// Neither a name nor an address.
    #[error(
        "{text:?} names no engine: expected docker, podman, podman-rootless, apple, unix:///PATH, ssh://[USER@]HOST, tcp://HOST:PORT, https://HOST:PORT or k8s://CONTEXT/NAMESPACE"
    )]
    Unknown {
        /// The offending text.
        text: String,
    },
    /// No address.
    #[error(
        "{text:?} names no engine: expected unix:///PATH, ssh://[USER@]HOST, tcp://HOST:PORT or https://HOST:PORT"
    )]
    NoAddress {
        /// The offending text.
        text: String,
    },
    /// No namespace of a Kubernetes cluster.
    #[error("{text:?} names no namespace of a cluster: expected k8s://CONTEXT/NAMESPACE")]
    NoNamespace {
        /// The offending text.
        text: String,
    },
    /// A named pipe of Windows.
    #[error("{text:?}: engines over a named pipe are not supported")]
    NamedPipe {
        /// The offending text.
        text: String,
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
            Self::Unknown { text }
            | Self::NoAddress { text }
            | Self::NoNamespace { text }
            | Self::NamedPipe { text } => text,
            Self::NoContext { name, .. } | Self::NoEndpoint { name } => name,
            Self::Context { source, .. } => source.text(),
            Self::Config { .. } | Self::TwoEngines { .. } => "",
        }
    }
}

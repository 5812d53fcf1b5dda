//! `Failure`: an error on its way to the user, and the one place that words it.

mod commits;
mod engine;
mod gate;
mod library;
mod session;

use std::error::Error;
use std::fmt;

use serde_json::json;

use lazaret_gate::format::causes;

use crate::exit_code::ExitCode;

pub(crate) use engine::{engine_hint, unusable, way_out};
pub(crate) use session::{commits_hint, recover_hint};

/// What sort of failure it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The command line can't be understood.
    Usage,
    /// What was asked for can't be done as things stand: no such session, a conflict.
    Refused,
    /// The session is in a state in which it can't be done.
    WrongState,
    /// Another client drives the session.
    Driven,
    /// A profile or a `lazaret.toml` is wrong.
    Profile,
    /// The workspace can't be used.
    Workspace,
    /// The engine failed, refused or is not there.
    Engine,
    /// An image is missing or can't be built.
    Image,
    /// State on the host could not be read or written.
    State,
    /// What went in or came out over a stream was wrong.
    Transfer,
    /// A service of the session does not run.
    Service,
    /// A secret can't be had from where the profile takes it.
    Secret,
    /// The command exists inside but can't be executed.
    NotExecutable,
    /// The command does not exist inside.
    NotFound,
    /// Ctrl-C, SIGTERM or SIGHUP.
    Interrupted,
    /// A mistake in lazaret.
    Internal,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::Usage,
        Self::Refused,
        Self::WrongState,
        Self::Driven,
        Self::Profile,
        Self::Workspace,
        Self::Engine,
        Self::Image,
        Self::State,
        Self::Transfer,
        Self::Service,
        Self::Secret,
        Self::NotExecutable,
        Self::NotFound,
        Self::Interrupted,
        Self::Internal,
    ];

    /// Returns the exit code that stands for it.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Usage => ExitCode::USAGE,
            Self::Refused => ExitCode::REFUSED,
            Self::WrongState => ExitCode::WRONG_STATE,
            Self::Driven => ExitCode::DRIVEN,
            Self::NotExecutable => ExitCode::NOT_EXECUTABLE,
            Self::NotFound => ExitCode::NOT_FOUND,
            Self::Interrupted => ExitCode::INTERRUPTED,
            Self::Profile
            | Self::Workspace
            | Self::Engine
            | Self::Image
            | Self::State
            | Self::Transfer
            | Self::Service
            | Self::Secret
            | Self::Internal => ExitCode::FAILED,
        }
    }

    /// Returns the stable word of `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::WrongState => "wrong-state",
            Self::Driven => "driven",
            Self::Profile => "profile",
            Self::Workspace => "workspace",
            Self::Engine => "engine",
            Self::Image => "image",
            Self::State => "state",
            Self::Transfer => "transfer",
            Self::Service => "service",
            Self::Secret => "secret",
            Self::NotExecutable => "not-executable",
            Self::NotFound => "not-found",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }
}

/// An error with everything the user needs: what failed, why, and what to do.
///
/// Its texts are raw; [`crate::ui::Ui::failure`] escapes them.
#[derive(Debug)]
#[must_use = "a failure that is not returned is never shown"]
pub struct Failure {
    /// What sort it is.
    pub kind: FailureKind,
    /// The error; its sources become the "caused by" lines.
    pub error: Box<dyn Error + Send + Sync>,
    /// What to do about it, one sentence each.
    pub hints: Vec<String>,
}

/// A failure that is only words.
#[derive(Debug)]
struct Message {
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Message {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl Failure {
    /// Wraps an error.
    pub fn new(kind: FailureKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// Makes a failure of words: a lowercase fragment without a period.
    pub fn message(kind: FailureKind, text: impl Into<String>) -> Self {
        Self::new(
            kind,
            Message {
                text: text.into(),
                source: None,
            },
        )
    }

    /// Says what lazaret was doing; the former error becomes its cause.
    pub fn context(self, text: impl Into<String>) -> Self {
        Self {
            kind: self.kind,
            error: Box::new(Message {
                text: text.into(),
                source: Some(self.error),
            }),
            hints: self.hints,
        }
    }

    /// Adds what to do, as a sentence.
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the exit code.
    pub fn exit_code(&self) -> ExitCode {
        self.kind.exit_code()
    }

    /// Returns the message and its causes, outermost first, not yet escaped.
    ///
    /// A cause that its parent's text already ends with is left out: many errors of
    /// libraries show their source in their own text.
    pub fn chain(&self) -> Vec<String> {
        causes(&*self.error)
    }

    /// Returns the object that `--json` prints on stderr.
    pub fn to_json(&self) -> serde_json::Value {
        let chain = self.chain();
        json!({
            "error": {
                "kind": self.kind.as_str(),
                "message": chain.first(),
                "causes": chain.get(1..).unwrap_or_default(),
                "hints": self.hints,
                "exit_code": self.exit_code().value(),
            }
        })
    }
}

/// Says what lazaret was doing when a call failed.
pub trait OrFail<T> {
    /// Makes a failure of `kind` out of any error.
    ///
    /// # Errors
    /// The same error, wrapped.
    fn or_fail(self, kind: FailureKind, doing: &str) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrFail<T> for Result<T, E> {
    fn or_fail(self, kind: FailureKind, doing: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(kind, error).context(doing))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use lazaret_runtime::EngineError;

    use super::*;

    #[test]
    fn the_chain_says_each_thing_once() {
        let cause = io::Error::new(io::ErrorKind::PermissionDenied, "not yours");
        let error = EngineError::Denied {
            endpoint: "unix:///run/x.sock".to_owned(),
            source: cause,
        };
        let failure = Failure::from(error).context("copy in");
        assert_eq!(
            failure.chain(),
            [
                "copy in",
                "no permission to use unix:///run/x.sock: not yours"
            ]
        );
        assert_eq!(failure.exit_code(), ExitCode::FAILED);
        assert_eq!(failure.hints.len(), 1);
    }

    #[test]
    fn every_kind_has_a_documented_code() {
        for kind in FailureKind::ALL {
            let code = kind.exit_code();
            assert!(
                crate::exit_code::ALL
                    .iter()
                    .any(|(known, _)| *known == code),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn json_is_one_object() {
        let failure = Failure::message(FailureKind::Refused, "no").hinted("Do.");
        assert_eq!(
            failure.to_json().to_string(),
            r#"{"error":{"causes":[],"exit_code":1,"hints":["Do."],"kind":"refused","message":"no"}}"#
        );
    }
}

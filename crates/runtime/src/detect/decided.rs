//! `DecidedBy`: what the choice of an engine rests on.

use std::fmt;
use std::path::PathBuf;

use super::EngineChoice;

/// Which engine to use, and what said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineRequest {
    /// Which one.
    pub choice: EngineChoice,
    /// What said so; [`DecidedBy::Detected`] for [`EngineChoice::Auto`].
    pub by: DecidedBy,
}

impl EngineRequest {
    /// Requests what `--engine` says.
    pub fn flag(choice: EngineChoice) -> Self {
        Self::by(choice, DecidedBy::Flag)
    }

    /// Requests what something else says. `auto` is no choice, whatever says it.
    pub fn by(choice: EngineChoice, by: DecidedBy) -> Self {
        let by = match choice {
            EngineChoice::Auto => DecidedBy::Detected,
            EngineChoice::Named(_) | EngineChoice::Endpoint(_) | EngineChoice::Cluster(_) => by,
        };
        Self { choice, by }
    }
}

/// What decided where an engine is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecidedBy {
    /// `--engine`.
    Flag,
    /// A variable, such as `DOCKER_HOST`.
    Variable(&'static str),
    /// Two variables that name two engines, so none is used.
    Variables(&'static str, &'static str),
    /// `engine` of lazaret's own configuration, in this file.
    Config(PathBuf),
    /// `currentContext` of Docker's configuration, in this file.
    CurrentContext(PathBuf),
    /// What a session, or a slot of the pool, was made in.
    Record(String),
    /// Nothing: the first engine that answers is used.
    Detected,
}

impl DecidedBy {
    /// Returns a stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Flag => "--engine",
            Self::Variable(name) => name,
            Self::Variables(..) => "ambiguous",
            Self::Config(_) => "config.toml",
            Self::CurrentContext(_) => "currentContext",
            Self::Record(_) => "record",
            Self::Detected => "detected",
        }
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag | Self::Variable(_) | Self::Detected => f.write_str(self.code()),
            Self::Variables(one, other) => write!(f, "{one} and {other}"),
            Self::Config(file) => write!(f, "`engine` of {}", file.display()),
            Self::CurrentContext(file) => write!(f, "currentContext of {}", file.display()),
            Self::Record(what) => f.write_str(what),
        }
    }
}

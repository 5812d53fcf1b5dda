//! `Rule`: one line of an allowlist, or of what is denied.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{HostName, HostPort, HostPortError, NameError, Port, PortError};

/// The names that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pattern {
    /// This name alone.
    Exact(HostName),
    /// Every name below this one, at any depth, and not the name itself: `*.example.com`.
    Below(HostName),
}

/// One line of an allowlist, or of what is denied: `host:443` or `*.host:443`.
///
/// The port is always written out: a rule without one would allow SSH, SMTP and an
/// engine's API on a host that was meant for HTTPS (NET-04).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    /// The names.
    pub pattern: Pattern,
    /// The one port.
    pub port: Port,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// There is no `:port` at its end.
    #[error("the rule `{rule}` has no port; write it out, as in `{rule}:443`")]
    NoPort {
        /// What was written, escaped.
        rule: String,
    },
    /// What stands after the colon is no port.
    #[error("the port of the rule `{rule}`: {source}")]
    Port {
        /// What was written, escaped.
        rule: String,
        /// Why.
        source: PortError,
    },
    /// The name is none.
    #[error("the rule `{rule}`: {source}")]
    Name {
        /// What was written, escaped.
        rule: String,
        /// Why.
        source: NameError,
    },
    /// A `*` that is not the whole first label.
    #[error(
        "the rule `{rule}`: a `*` can only be the whole first label, as in `*.example.com:443`"
    )]
    Star {
        /// What was written, escaped.
        rule: String,
    },
    /// A `*` above a single label: everything of a top-level domain.
    #[error("the rule `{rule}` would allow a whole top-level domain; name a domain below it")]
    TooWide {
        /// What was written, escaped.
        rule: String,
    },
}

impl Rule {
    /// Returns the rule for one name and port.
    pub fn exact(target: HostPort) -> Self {
        Self {
            pattern: Pattern::Exact(target.host),
            port: target.port,
        }
    }

    /// Whether the rule is about this name, whatever the port.
    pub fn names(&self, host: &HostName) -> bool {
        match &self.pattern {
            Pattern::Exact(name) => name == host,
            Pattern::Below(parent) => host.is_below(parent),
        }
    }

    /// Whether the rule is about this name and port.
    pub fn is_about(&self, target: &HostPort) -> bool {
        self.port == target.port && self.names(&target.host)
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let rule = || text.escape_debug().to_string();
        let (star, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.contains('*') {
            return Err(RuleError::Star { rule: rule() });
        }
        let target: HostPort = rest.parse().map_err(|error| match error {
            HostPortError::NoPort => RuleError::NoPort { rule: rule() },
            HostPortError::Port(source) => RuleError::Port {
                rule: rule(),
                source,
            },
            HostPortError::Name(source) => RuleError::Name {
                rule: rule(),
                source,
            },
        })?;
        match star {
            false => Ok(Self::exact(target)),
            true if target.host.labels().count() < 2 => Err(RuleError::TooWide { rule: rule() }),
            true => Ok(Self {
                pattern: Pattern::Below(target.host),
                port: target.port,
            }),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Exact(name) => write!(f, "{name}:{}", self.port),
            Pattern::Below(parent) => write!(f, "*.{parent}:{}", self.port),
        }
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

//! `[service]`: how an image runs as a server beside a command.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};

/// How an image runs as a server. A profile may say any of it otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceSpec {
    /// The server and its arguments; it stays in the foreground.
    pub command: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Where its volume is mounted; `None` if it keeps nothing.
    pub data: Option<DataPath>,
    /// By what it is known to be ready; `None` once it is started.
    pub ready: Option<Readiness>,
    /// What asks it to end.
    pub stop_signal: Option<StopSignal>,
}

/// By what a service is known to be ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// It takes connections to this port of 127.0.0.1 or ::1.
    Tcp(NonZeroU16),
    /// This command in its container exits with 0.
    Command(Vec<String>),
}

/// A signal that asks a server to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopSignal {
    /// SIGHUP.
    #[serde(rename = "SIGHUP")]
    Hangup,
    /// SIGINT.
    #[serde(rename = "SIGINT")]
    Interrupt,
    /// SIGQUIT.
    #[serde(rename = "SIGQUIT")]
    Quit,
    /// SIGTERM.
    #[default]
    #[serde(rename = "SIGTERM")]
    Terminate,
}

impl StopSignal {
    /// Returns its number, the same on every Linux (signal(7)).
    pub fn number(self) -> i32 {
        match self {
            Self::Hangup => 1,
            Self::Interrupt => 2,
            Self::Quit => 3,
            Self::Terminate => 15,
        }
    }
}

/// Where a volume is mounted: an absolute path of plain names, none of which lazaret or an engine
/// uses itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DataPath(String);

/// What else is mounted inside, or must not be hidden.
const TAKEN: [&str; 12] = [
    "bin",
    "dev",
    "egress",
    "etc",
    "home",
    "lazaret",
    "proc",
    "run",
    "sys",
    "tmp",
    "usr",
    "workspace",
];

impl DataPath {
    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<DataPath> for String {
    fn from(path: DataPath) -> Self {
        path.0
    }
}

impl TryFrom<String> for DataPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |what: &str| {
            Err(format!(
                "found {text:?}, {what}; expected an absolute path such as \"/data\""
            ))
        };
        let Some(rest) = text.strip_prefix('/') else {
            return wrong("which is relative");
        };
        let is_plain = |name: &str| {
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            !name.is_empty() && name != "." && name != ".." && name.bytes().all(is_safe)
        };
        if !rest.split('/').all(is_plain) {
            return wrong(
                "which has other names in it than letters, digits, `.`, `_` and `-` make",
            );
        }
        let first = rest.split('/').next().unwrap_or_default();
        let is_scratch = rest == "var/tmp" || rest.starts_with("var/tmp/") || rest == "var/run";
        if TAKEN.contains(&first) || is_scratch {
            return wrong("where something else is mounted or lies");
        }
        Ok(Self(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_what_a_server_needs() {
        let spec: ServiceSpec = toml::from_str(
            "command = [\"serve\"]\ndata = \"/data\"\nready = { tcp = 5432 }\nstop_signal = \"SIGINT\"",
        )
        .unwrap();
        assert_eq!(spec.command, ["serve"]);
        assert_eq!(spec.ready, NonZeroU16::new(5432).map(Readiness::Tcp));
        assert_eq!(spec.stop_signal.map(StopSignal::number), Some(2));
        for text in [
            "user = 70",
            "ready = { tcp = 0 }",
            "ready = { file = \"x\" }",
            "stop_signal = \"SIGKILL\"",
        ] {
            toml::from_str::<ServiceSpec>(text).expect_err(text);
        }
    }

    #[test]
    fn data_lies_where_nothing_else_does() {
        for text in ["/data", "/var/lib/postgresql", "/srv/a_b-1.0"] {
            assert_eq!(DataPath::try_from(text.to_owned()).unwrap().as_str(), text);
        }
        for text in [
            "",
            "/",
            "data",
            "/data/",
            "//data",
            "/a/../b",
            "/a b",
            "/workspace",
            "/workspace/db",
            "/proc/x",
            "/home/agent",
            "/var/tmp/x",
            "/tmp",
        ] {
            DataPath::try_from(text.to_owned()).expect_err(text);
        }
    }
}

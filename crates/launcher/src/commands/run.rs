//! `lazaret run`.

use std::path::PathBuf;
use std::str::FromStr;

use lazaret_runtime::{EnvName, SessionId};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile::ApplyMode;
use crate::profile::units::Span;

/// Run a command on a copy of the workspace, then pass its changes through the gate
///
/// Copies the workspace in, runs the profile's command or the given one, collects and
/// judges what changed, shows it, and applies what you approve.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile: a built-in name, one of your own, or a path to a TOML file
    #[arg(value_name = "PROFILE")]
    pub profile: String,
    /// Workspace [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Name of the session [default: made from the workspace's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<SessionId>,
    /// What to do with changes [default: the profile's, else ask]
    #[arg(long, value_name = "MODE")]
    pub apply: Option<ApplyMode>,
    /// Time limit of the command, such as 90s, 5m, 2h [default: the profile's]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// Variable for the command; repeatable
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<EnvVar>,
    /// Keep the session's volume after the gate is settled
    #[arg(long)]
    pub keep: bool,
    /// Only list what would be copied in, with sizes
    #[arg(long)]
    pub dry_run: bool,
    /// Command to run instead of the profile's
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// A variable for the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name.
    pub name: EnvName,
    /// Its value; may hold `=` and `,`.
    pub value: String,
}

impl FromStr for EnvVar {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("expected NAME=VALUE; a value is never taken from your own environment")?;
        let name = name.parse().map_err(|error| format!("{error}"))?;
        if value.contains('\0') {
            return Err("a value can't hold a NUL byte".to_owned());
        }
        Ok(Self {
            name,
            value: value.to_owned(),
        })
    }
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("run")
}

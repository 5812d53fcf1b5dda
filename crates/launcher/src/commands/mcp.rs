//! `lazaret mcp`.

use crate::app::{App, CommandLine};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::mcp;

/// Serve the Model Context Protocol, for an agent that starts sessions
///
/// The agent makes workspaces, starts and stops sessions, runs commands in them and reads what they
/// changed, in the `roots` and with the `profiles` that config.toml in lazaret's configuration
/// directory lists below [mcp]. It never approves, applies, allows, trusts or removes: changes wait
/// for `lazaret review`. A session outlives this process.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(crate) fn run(_: Args, line: CommandLine, app: &App) -> Result<ExitCode, Failure> {
    mcp::run(line, app)?;
    Ok(ExitCode::SUCCESS)
}

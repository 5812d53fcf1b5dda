//! `lazaret apply`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Apply a session's changes to its workspace
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
    /// Apply only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Apply without asking; block findings are never passed
    #[arg(long)]
    pub yes: bool,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("apply")
}

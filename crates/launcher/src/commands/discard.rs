//! `lazaret discard`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Throw a session's changes away
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
    /// Discard without asking
    #[arg(long)]
    pub yes: bool,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("discard")
}

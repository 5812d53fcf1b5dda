//! `lazaret show`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Show all about one session
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("show")
}

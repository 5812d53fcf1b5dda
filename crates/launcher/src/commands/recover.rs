//! `lazaret recover`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Take up what a killed lazaret left behind
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session [default: all that were broken off]
    #[arg(value_name = "NAME")]
    pub session: Option<lazaret_runtime::SessionId>,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("recover")
}

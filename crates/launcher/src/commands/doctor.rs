//! `lazaret doctor`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Show which engines are there, what they can enforce, and what to do
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    let Args {} = args;
    super::not_yet("doctor")
}

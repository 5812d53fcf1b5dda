//! `lazaret prune`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Remove what no session needs any more
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    let Args { dry_run: _ } = args;
    super::not_yet("prune")
}

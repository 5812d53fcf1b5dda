//! `lazaret ls`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// List sessions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List the sessions of this workspace only
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("ls")
}

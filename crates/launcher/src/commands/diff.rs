//! `lazaret diff`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Show what a session changed, judged
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
    /// Show only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Show names and counts only
    #[arg(long)]
    pub stat: bool,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("diff")
}

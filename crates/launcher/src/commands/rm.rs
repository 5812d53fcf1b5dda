//! `lazaret rm`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Remove sessions; refuses while changes wait that nobody has seen
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sessions
    #[arg(value_name = "NAME", required = true)]
    pub sessions: Vec<lazaret_runtime::SessionId>,
    /// Remove even with changes that nobody has seen
    #[arg(long)]
    pub force: bool,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("rm")
}

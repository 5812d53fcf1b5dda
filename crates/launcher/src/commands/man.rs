//! `lazaret man`.

use std::path::PathBuf;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Print the manual page, or write all of them to a directory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory for one page per verb [default: print the main page]
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print all verbs as one Markdown page
    #[arg(long, hide = true, conflicts_with = "dir")]
    pub markdown: bool,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<ExitCode, Failure> {
    drop(args);
    super::not_yet("man")
}

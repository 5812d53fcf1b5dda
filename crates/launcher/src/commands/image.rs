//! `lazaret image`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Build and list images
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Build images; those that are up to date are left alone
    Build {
        /// Images [default: all that are shipped]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// List the shipped images and what the engine has of them
    Ls,
}

pub(crate) fn run(command: Command, _context: &Context) -> Result<ExitCode, Failure> {
    drop(command);
    super::not_yet("image")
}

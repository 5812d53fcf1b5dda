//! `lazaret pool`.

mod drain;
mod fill;
mod ls;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Containers that wait for a run, so that it needs to make none
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make containers for a profile, and have each of its runs replace what it took
    ///
    /// A session that keeps its volume has its next container made when its command has ended;
    /// so many sessions have one as the pool has places.
    Fill(fill::Args),
    /// List what waits
    Ls,
    /// Remove what waits, and make no more
    Drain(drain::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<ExitCode, Failure> {
    match command {
        Command::Fill(args) => fill::run(&args, context),
        Command::Ls => ls::run(context),
        Command::Drain(args) => drain::run(&args, context),
    }
}

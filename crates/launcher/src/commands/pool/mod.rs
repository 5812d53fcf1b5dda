//! `lazaret pool`.

mod drain;
mod fill;
mod ls;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Keep warm containers, so that runs start faster
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create warm containers for a profile; its runs replace those that they take
    Fill(fill::Args),
    /// List warm containers
    Ls,
    /// Remove warm containers, and create no more
    Drain(drain::Args),
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Fill(args) => fill::run(&args, app),
        Command::Ls => ls::run(app),
        Command::Drain(args) => drain::run(&args, app),
    }
}

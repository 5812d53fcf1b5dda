//! `lazaret group`.

mod args;
mod ls;
mod rm;
mod set;
mod show;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Make and list groups: chats that are asked, each with a folder and a home of its own
///
/// Groups are written in groups.toml beside your profiles. `lazaret ask GROUP` asks one.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Add(set::AddArgs),
    Set(set::SetArgs),
    /// List the groups
    Ls,
    Show(show::Args),
    Rm(rm::Args),
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Add(args) => set::add(&args, app),
        Command::Set(args) => set::set(&args, app),
        Command::Ls => ls::run(app),
        Command::Show(args) => show::run(&args, app),
        Command::Rm(args) => rm::run(&args, app),
    }
}

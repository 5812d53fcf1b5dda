//! `lazaret image`.

mod build;
mod export;
mod ls;
mod rm;
mod sbom;
mod verify;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

pub(crate) use ls::{line, list, to_json};

/// Build, check and list images
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Build(build::Args),
    Export(export::Args),
    Ls(ls::Args),
    Verify(verify::Args),
    Sbom(sbom::Args),
    Rm(rm::RmArgs),
    Prune(rm::PruneArgs),
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Build(args) => build::run(&args, app),
        Command::Export(args) => export::run(&args, app),
        Command::Ls(args) => ls::run(&args, app),
        Command::Verify(args) => verify::run(&args, app),
        Command::Sbom(args) => sbom::run(&args, app),
        Command::Rm(args) => rm::rm(&args, app),
        Command::Prune(args) => rm::prune(&args, app),
    }
}

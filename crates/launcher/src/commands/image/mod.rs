//! `lazaret image`.

mod build;
mod ls;
mod rm;
mod sbom;
mod verify;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

pub(crate) use ls::{line, list, to_json};

/// Build, check and list images
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Build(build::Args),
    Ls(ls::Args),
    Verify(verify::Args),
    Sbom(sbom::Args),
    Rm(rm::RmArgs),
    Prune(rm::PruneArgs),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<ExitCode, Failure> {
    match command {
        Command::Build(args) => build::run(&args, context),
        Command::Ls(args) => ls::run(&args, context),
        Command::Verify(args) => verify::run(&args, context),
        Command::Sbom(args) => sbom::run(&args, context),
        Command::Rm(args) => rm::rm(&args, context),
        Command::Prune(args) => rm::prune(&args, context),
    }
}

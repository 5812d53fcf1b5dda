//! `lazaret volume`.

mod fill;
mod ls;
mod rm;

use lazaret_runtime::Engine;
use lazaret_session::engine::inventory::Inventory;
use lazaret_session::engine::owner::ResourceOwner;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Fill, list and remove shared volumes, such as caches
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List shared volumes
    Ls,
    /// Run a command that writes to a shared volume
    ///
    /// The command runs in a container as a session's command does, with the image and the network
    /// rules of the profile, on a copy of the workspace that is thrown away. It has no secrets, no
    /// credential files, no services and no other volumes. The volume holds what it held before. If
    /// the command exits with 0, sessions get what it holds now; otherwise it stays as it was.
    Fill(fill::Args),
    /// Remove a shared volume; refuses while a session uses it
    Rm(rm::Args),
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Ls => ls::run(app),
        Command::Fill(args) => fill::run(args, app),
        Command::Rm(args) => rm::run(&args, app),
    }
}

/// Removes what an owner has in an engine.
fn remove(owner: &ResourceOwner, engine: &dyn Engine) -> Result<(), Failure> {
    let all = Inventory::of_store(engine, &owner.store)?;
    Ok(all.of(owner).remove(engine)?)
}

//! `lazaret home`.

mod allow;
mod ls;
mod reset;
mod review;

use lazaret_runtime::SessionId;
use lazaret_session::home::state::HomeStore;
use lazaret_session::store::Store;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};

/// Review and reset homes that sessions keep
///
/// A profile with `[home] keep = "session"` keeps the command's home as long as its session.
/// Before each command, settings, hooks, MCP servers and programs in it that are not yours are put
/// back; history stays.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List sessions that keep their home
    Ls,
    Review(review::Args),
    Allow(allow::Args),
    Reset(reset::Args),
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Ls => ls::run(app),
        Command::Review(args) => review::run(&args, app),
        Command::Allow(args) => allow::run(&args, app),
        Command::Reset(args) => reset::run(&args, app),
    }
}

/// Finds the home of a session.
///
/// # Errors
/// The session keeps none.
fn home_of(store: &Store, id: &SessionId) -> Result<HomeStore, Failure> {
    let home = HomeStore::of(&store.find(id)?);
    match home.exists() {
        true => Ok(home),
        false => {
            let text = format!("session {id} keeps no home");
            Err(Failure::message(FailureKind::Refused, text)
                .hinted("`lazaret home ls` lists the sessions that do."))
        }
    }
}

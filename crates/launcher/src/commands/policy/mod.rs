//! `lazaret policy`.

mod change;
mod check;
mod log;
mod show;

use lazaret_egress::Policy;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::live;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::message::{Accepted, Request};
use lazaret_session::keeper::policy::receive;
use lazaret_session::network::RuleEffect;
use lazaret_session::store::{SessionDir, Store};

/// Show and change what a session's command may reach
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show what a running session's command may reach
    Show(show::Args),
    /// Show what a session's command tried to reach, and what was decided
    Log(log::Args),
    /// Allow a running session's command one more host and port
    Allow(change::Args),
    /// Deny a running session's command a host and port, whatever allows it, and close its
    /// connections
    Deny(change::Args),
    /// Check whether a profile allows a host and port: exit code 0 if so, 1 if not
    Check(check::Args),
}

pub(crate) fn run(command: Command, app: &App) -> Result<ExitCode, Failure> {
    match command {
        Command::Show(args) => show::run(&args, app),
        Command::Log(args) => log::run(&args, app),
        Command::Allow(args) => change::run(args, RuleEffect::Allow, app),
        Command::Deny(args) => change::run(args, RuleEffect::Deny, app),
        Command::Check(args) => check::run(&args, app),
    }
}

/// Asks the keeper of a session for its policy, or to change it. Returns the policy in force.
///
/// # Errors
/// The session has no network, its command does not run, or its gateway is gone.
fn ask(store: &Store, dir: &SessionDir, request: &Request) -> Result<(Accepted, Policy), Failure> {
    let answered = |error| live::unanswered(dir.id(), error);
    match Connection::ask(dir, request).map_err(answered)? {
        Some((connection, accepted)) => Ok((accepted, receive(&connection).map_err(answered)?)),
        None if dir.record()?.egress.is_none() => Err(no_network(dir)),
        None => Err(live::not_live(store, dir)),
    }
}

fn no_network(dir: &SessionDir) -> Failure {
    let text = format!("session {} has no network", dir.id());
    Failure::message(FailureKind::Refused, text).hinted(live::NETWORK_HINT)
}

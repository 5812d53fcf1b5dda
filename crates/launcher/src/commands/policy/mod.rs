//! `lazaret policy`.

mod change;
mod check;
mod log;
mod show;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use lazaret_session::network::LivePolicy;
use lazaret_session::store::SessionDir;

/// Show and change what a session's command may reach
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show what a session's command may reach
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
        Command::Allow(args) => change::run(&args, change::Way::Allow, app),
        Command::Deny(args) => change::run(&args, change::Way::Deny, app),
        Command::Check(args) => check::run(&args, app),
    }
}

/// Returns the policy of a session.
///
/// # Errors
/// It has no network.
fn policy_of(dir: &SessionDir) -> Result<LivePolicy, Failure> {
    LivePolicy::read(dir).ok_or_else(|| {
        let text = format!("session {} has no network", dir.id());
        Failure::message(FailureKind::Refused, text).hinted(
            "A profile gives one by [network] mode = \"allowlist\"; see docs/reference/network.md.",
        )
    })
}

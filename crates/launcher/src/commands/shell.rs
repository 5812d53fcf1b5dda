//! `lazaret shell`.

use super::exec;
use crate::app::App;
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::named::OneSession;

/// A login shell: bash where there is one.
const SHELL: &str = "command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l";

/// Open a shell in a session of `start`
///
/// The same as `exec --terminal` with a login shell; without a terminal, commands are read from
/// stdin.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let streams = app.env.streams;
    let has_terminal = [streams.stdin, streams.stdout] == [StreamKind::Terminal; 2];
    let exec = exec::Args {
        session: args.session,
        interactive: true,
        terminal: has_terminal,
        env: Vec::new(),
        workdir: None,
        leave: false,
        cap: None,
        spill: false,
        command: ["sh", "-c", SHELL].map(str::to_owned).to_vec(),
    };
    exec::run(exec, app)
}

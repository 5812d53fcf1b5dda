//! `lazaret attach`.

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::attach::beside::StdinMode;
use crate::attach::{AttachAs, AttachEnd, OnSignal, attach};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::{OneSession, Unnamed};
use lazaret_session::keeper::message::{AttachMode, Exit};
use lazaret_session::store::Store;

/// Show a session of `start` on this terminal, and type to its command
///
/// Ctrl-] d leaves, and the session goes on; Ctrl-] t takes over from another terminal; Ctrl-] three
/// times ends the command. One terminal types at a time; others look on.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Look on, and type nothing
    #[arg(long, conflicts_with = "take")]
    pub read_only: bool,
    /// Type in place of the terminal that does so now
    #[arg(long)]
    pub take: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Running, &store, app)?;
    let mode = match (args.read_only, args.take) {
        (true, _) => AttachMode::Watch,
        (false, true) => AttachMode::Take,
        (false, false) => AttachMode::Drive,
    };
    let how = AttachAs {
        mode,
        stdin: StdinMode::Empty,
        on_signal: OnSignal::Leave,
    };
    let end = attach(&store, &id, how, app)?;
    ended(end, &id, app)
}

/// Says how it ended.
pub(super) fn ended(end: AttachEnd, id: &SessionId, app: &App) -> Result<ExitCode, Failure> {
    match end {
        AttachEnd::Detached => {
            app.ui.status(&format!("left session {id}, which goes on"));
            app.ui.hint(&format!("`lazaret attach {id}` comes back."));
            Ok(ExitCode::SUCCESS)
        }
        AttachEnd::Idle(code) => {
            app.ui.status(&format!(
                "the command ended with exit code {code}; session {id} stays"
            ));
            app.ui.hint(&format!(
                "`lazaret shell {id}` goes in, `lazaret stop {id}` ends it."
            ));
            Ok(ExitCode::of_command(code))
        }
        AttachEnd::Ended(Exit { code, .. }, report) => {
            app.ui.results(|out| out.write_all(&report));
            Ok(ExitCode::of_command(i32::from(code)))
        }
        AttachEnd::Lost => {
            let text = format!("session {id} lost its keeper");
            Err(Failure::message(FailureKind::State, text)
                .hinted(format!("Take it up with `lazaret recover {id}`.")))
        }
    }
}

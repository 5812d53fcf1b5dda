//! `lazaret start`.

use serde_json::json;

use super::live_run::{self, Begin, LiveRun, Stay, TimeLimit, be_keeper, follow};
use super::run::args::Args as RunArgs;
use super::run::dry_run_of;
use crate::app::App;
use crate::attach::OnSignal;
use crate::attach::beside::StdinMode;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::keeper::{Begun, Front, is_keeper};
use crate::profile;
use crate::ui::OutputFormat;
use lazaret_runtime::SessionId;
use lazaret_session::store::Store;

/// Start a session that goes on by itself
///
/// As `run`, but the session does not end with this terminal: `attach` shows it, `exec` and `shell`
/// run commands beside it, `stop` ends it. When its command has ended, changes are collected; they
/// are applied as `--apply` says, and wait where that is to ask. In place of PROFILE, the name of a
/// session has that go on, with its profile and its command.
#[derive(Debug, clap::Args)]
#[group(id = "start")]
pub struct Args {
    #[command(flatten)]
    pub run: RunArgs,
    /// Keep the container when the command has ended, until `stop` [default: the profile's]
    #[arg(long)]
    pub stay: bool,
    /// Attach this terminal at once
    #[arg(short, long)]
    pub attach: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let Args { run, stay, attach } = args;
    let run = of_session(run, app)?;
    if run.dry_run {
        let profile = profile::load(&run.profile_name(app)?, &app.env)?;
        return dry_run_of(&run, profile, app);
    }
    if is_keeper(app) {
        let kept = LiveRun {
            run,
            stay: match stay {
                true => Stay::Asked,
                false => Stay::Profile,
            },
            limit: TimeLimit::None,
            idle: None,
            scope: None,
        };
        return be_keeper(kept, app);
    }
    let begin = Begin {
        front: match attach {
            true => Front::Follows,
            false => Front::Starts,
        },
        stdin: StdinMode::Empty,
        on_signal: OnSignal::Leave,
    };
    let id = match live_run::front(&run, begin, app)? {
        Begun::Reachable(id, _leash) => id,
        Begun::Ended(code) => return Ok(code),
    };
    if attach {
        return follow(&id, begin, app);
    }
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({ "session": id.as_str() })),
        OutputFormat::Text => {
            app.ui.result(id.as_str());
            app.ui.hint(&format!(
                "`lazaret attach {id}` shows it, `lazaret exec {id} -- CMD` runs a command beside \
                 it, `lazaret stop {id}` ends it."
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Fills in what a session knows, if one is named in place of a profile.
fn of_session(run: RunArgs, app: &App) -> Result<RunArgs, Failure> {
    let named = run.profile_name(app)?;
    let Err(unknown) = profile::load(&named, &app.env) else {
        return Ok(run);
    };
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let id = named.parse::<SessionId>().ok();
    let dir = store.zip(id).and_then(|(store, id)| store.find(&id).ok());
    let Some(dir) = dir.filter(|_| run.name.is_none()) else {
        return Err(unknown);
    };
    let record = dir.record()?;
    Ok(RunArgs {
        command: match run.command.is_empty() && run.prompt.is_none() {
            true => record.command,
            false => run.command,
        },
        profile: Some(record.profile),
        workspace: run.workspace.or(Some(record.workspace)),
        name: Some(record.id),
        ..run
    })
}

//! `lazaret run`.

pub(crate) mod args;
mod each;
mod each_line;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use lazaret_transfer::FileSelector;

use self::args::{Args, scope, terminal};
use super::dry_run::command_reach::CommandReach;
use super::live_run::{self, Begin, LiveRun, Stay, TimeLimit};
use crate::app::App;
use crate::attach::OnSignal;
use crate::attach::beside::StdinMode;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::keeper::{Begun, Front, is_keeper};
use crate::profile::{self, Origin, Profile};
use crate::resolve::copy_source::{CopyRequest, CopySource};
use crate::resolve::git::{self, History};
use crate::resolve::run_spec::gate_limits;
use crate::resolve::scope::WorkspaceScope;
use crate::session_access::reopen;
use lazaret_session::lifecycle::file_limit::FileLimit;
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::Store;

/// Run a command on a copy of the workspace, then pass its changes through the gate
///
/// Copies the workspace in, runs the profile's command or the given one, collects and
/// judges what changed, shows it, and applies what you approve.
#[derive(Debug, clap::Args)]
#[group(id = "run")]
pub struct RunArgs {
    #[command(flatten)]
    pub what: Args,
    /// Pass stdin on to the command, to its end, and ask no question
    #[arg(short, long, conflicts_with = "prompt")]
    pub interactive: bool,
    /// Run once for each line of this file (- for stdin), in a session of its own: the line is the
    /// task, or takes the place of {} in the command, else its last word
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["interactive", "prompt", "terminal", "dry_run"]
    )]
    pub each: Option<PathBuf>,
    /// How many of them run at once
    #[arg(long, value_name = "N", requires = "each", default_value_t = each::AT_ONCE)]
    pub at_once: NonZeroUsize,
}

pub(crate) fn run(args: RunArgs, app: &App) -> Result<ExitCode, Failure> {
    let RunArgs {
        what: args,
        interactive,
        each,
        at_once,
    } = args;
    if let Some(file) = each {
        return each::run(&file, at_once, args.name.as_ref(), app);
    }
    let profile = profile::load(&args.profile_name(app)?, &app.env)?;
    if is_demo(&profile, &args) {
        return match args.dry_run {
            true => super::demo::dry_run(&profile, app),
            false => super::demo::run(&profile, app),
        };
    }
    if is_keeper(app) {
        let kept = LiveRun {
            run: args,
            stay: Stay::Never,
            limit: TimeLimit::Profile,
            idle: None,
            scope: None,
        };
        return live_run::be_keeper(kept, app);
    }
    if args.dry_run {
        return dry_run_of(&args, profile, app);
    }
    let begin = Begin {
        front: match terminal(&args, &profile, app)? {
            TerminalMode::Interactive => Front::Follows,
            TerminalMode::None => Front::Owns,
        },
        stdin: match interactive {
            true => StdinMode::Passed,
            false => StdinMode::Empty,
        },
        on_signal: OnSignal::Stop,
    };
    match live_run::front(&args, begin, app)? {
        // The end of the leash ends a session that this process owns.
        Begun::Reachable(id, _leash) => live_run::follow(&id, begin, app),
        Begun::Ended(code) => Ok(code),
    }
}

/// Lists what would go in.
pub(super) fn dry_run_of(args: &Args, profile: Profile, app: &App) -> Result<ExitCode, Failure> {
    let (scope, selector) = scope(args, profile, app)?;
    dry_run(args, &scope, &selector, app)
}

/// Lists what would go in: of a session that has a volume, what would be sent now.
fn dry_run(
    args: &Args,
    scope: &WorkspaceScope,
    selector: &FileSelector,
    app: &App,
) -> Result<ExitCode, Failure> {
    let workspace = &scope.root;
    let limit = FileLimit::of(gate_limits(&scope.profile));
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let named = store.as_ref().zip(args.name.as_ref());
    let session = match named {
        Some((store, id)) => reopen::take(store, id, workspace)?,
        None => None,
    };
    let has_volume =
        (session.as_ref()).is_some_and(|session| session.dir().file("volume").exists());
    let id = match &args.name {
        Some(id) => id.clone(),
        None => "new".parse().or_fail(FailureKind::Internal, "a name")?,
    };
    let copy = CopyRequest {
        from: args.from.as_deref(),
        session: &id,
        record: session.as_ref().map(|session| session.record()),
        history: match has_volume {
            true => History::of(selector.git()),
            // The repository is weighed in each mode.
            false => History::Whole,
        },
    };
    let copy = CopySource::choose(workspace, copy, app)?;
    match named.filter(|_| has_volume) {
        Some((store, id)) => {
            let made = git::make(copy.dir(), selector, &app.env, &app.cancel)?;
            super::sync::dry_run(store, id, &copy, &made.selector, app)
        }
        None => {
            let reach = CommandReach::of(&scope.profile, &scope.bounds, &app.env);
            super::dry_run::run(&copy, selector, reach, limit, app)
        }
    }
}

/// The demo plays on a sample project of its own, unless it is told what to do.
fn is_demo(profile: &Profile, args: &Args) -> bool {
    profile.origin == Origin::BuiltIn
        && profile.name == "demo"
        && args.workspace.is_none()
        && args.from.is_none()
        && args.command.is_empty()
}

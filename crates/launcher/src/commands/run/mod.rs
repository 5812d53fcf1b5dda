//! `lazaret run`.

pub(crate) mod args;

use lazaret_transfer::FileSelector;

use self::args::{Args, job, scope, terminal};
use super::dry_run::network_reach::NetworkReach;
use super::live_run::{self, Follows, LiveRun, Stay, TimeLimit};
use crate::app::App;
use crate::attach::OnSignal;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::keeper::{Begun, is_keeper};
use crate::profile::{self, Origin, Profile};
use crate::resolve::copy_source::{CopyRequest, CopySource};
use crate::resolve::git::{self, History};
use crate::resolve::run_spec::{Connected, RunRequest, gate_limits};
use crate::resolve::scope::WorkspaceScope;
use crate::session_access::reopen;
use crate::ui::OutputFormat;
use lazaret_session::lifecycle::file_limit::FileLimit;
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::Store;

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let profile = profile::load(&args.profile, &app.env)?;
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
        };
        return live_run::be_keeper(kept, app);
    }
    if !args.dry_run && terminal(&args, &profile, app)? == TerminalMode::Interactive {
        return match live_run::front(&args, Follows::Yes, app)? {
            Begun::Reachable(id) => live_run::follow(&id, OnSignal::Stop, app),
            Begun::Ended(code) => Ok(code),
        };
    }
    let (scope, selector) = scope(&args, profile, app)?;
    if args.dry_run {
        return dry_run(&args, &scope, &selector, app);
    }
    let timeout = args.timeout.map(|span| span.0);
    let timeout = timeout.or(Some(scope.profile.limits.timeout));
    let WorkspaceScope {
        root,
        bounds,
        profile,
        shared,
        ..
    } = scope;
    let request = RunRequest {
        timeout,
        ..job(args, profile, bounds, shared, app)?
    };
    let end = request.run(&root, &selector, Connected::User, app)?;
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&end.report);
    }
    Ok(end.exit_code)
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
            let reach = NetworkReach::of(&scope.profile, &scope.bounds, &app.env);
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

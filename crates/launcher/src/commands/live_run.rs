//! A run that a keeper has: how it is begun, followed, and made.

use std::io::Read as _;
use std::time::Duration;

use super::run::args::{self, Args};
use crate::app::App;
use crate::attach::beside::StdinMode;
use crate::attach::{AttachAs, AttachEnd, OnSignal, attach};
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::gate::Asked;
use crate::keeper::{self, Begun, Front, LiveOptions, Order, Ordered, keep};
use crate::profile::units::Span;
use crate::profile::{self, SessionRules};
use crate::resolve::run_spec::{Connected, RunRequest};
use crate::resolve::scope::WorkspaceScope;
use crate::session_access::question;
use crate::ui::OutputFormat;
use crate::ui::terminal::user_terminal::size;
use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::SessionId;
use lazaret_session::keeper::AfterCommand;
use lazaret_session::keeper::limits::Limits;
use lazaret_session::keeper::message::{AttachMode, Exit, Size};
use lazaret_session::lifecycle::disk_limits::DiskLimits;
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::Store;

/// What this process is to a session that it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin {
    pub(super) front: Front,
    pub(super) stdin: StdinMode,
    pub(super) on_signal: OnSignal,
}

/// Begins a keeper.
///
/// # Errors
/// Its process can't be started.
pub(super) fn front(run: &Args, begin: Begin, app: &App) -> Result<Begun, Failure> {
    // What is on stdin is the command's, or an answer.
    let can_ask = app.ui.can_ask() && begin.stdin == StdinMode::Empty;
    let order = Order {
        size: Size::from(size()),
        front: begin.front,
        stdin: begin.stdin,
        asks: begin.front != Front::Starts && can_ask && app.ui.format() == OutputFormat::Text,
        prompt: match run.prompt.as_deref() {
            Some("-") => Some(prompt_on_stdin(app)?),
            _ => None,
        },
    };
    keeper::begin(&order, app)
}

/// Shows a session that was just started, until the user leaves or it ends. What waits then is
/// asked for.
///
/// # Errors
/// The session can't be reached, or what is decided can't be done.
pub(super) fn follow(id: &SessionId, begin: Begin, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let how = AttachAs {
        mode: match (begin.front, app.env.streams.stdin) {
            (Front::Owns, _) | (_, StreamKind::Other) => AttachMode::Follow,
            (_, StreamKind::Terminal) => AttachMode::Drive,
        },
        stdin: begin.stdin,
        on_signal: begin.on_signal,
    };
    match attach(&store, id, how, app)? {
        AttachEnd::Ended(Exit { ask: true, .. }, _) => question::ask(&store, id, app),
        end => super::attach::ended(end, id, app),
    }
}

/// Reads the task for the keeper, whose stdin is not the user's.
fn prompt_on_stdin(app: &App) -> Result<String, Failure> {
    /// One byte more than a task may have.
    const MOST: u64 = (100 << 10) + 1;
    let mut text = String::new();
    let read = match app.ui.take_stdin() {
        Some(stdin) => stdin.take(MOST).read_to_string(&mut text),
        None => Ok(0),
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) => {
            Err(Failure::new(FailureKind::Usage, error).context("the task on stdin can't be read"))
        }
    }
}

/// A run that a keeper has.
#[derive(Debug)]
pub(super) struct LiveRun {
    pub(super) run: Args,
    /// Whether the container stays when the command has ended.
    pub(super) stay: Stay,
    /// How long the command may take, if nothing is typed.
    pub(super) limit: TimeLimit,
    /// How long nothing may happen, if that is less than the profile says.
    pub(super) idle: Option<Duration>,
    /// What of which workspace goes in, if the options of the run do not say it.
    pub(super) scope: Option<WorkspaceScope>,
}

/// Whether the container stays when its command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    /// It does.
    Asked,
    /// As the profile says.
    Profile,
    /// It does not.
    Never,
}

impl Stay {
    fn after(self, rules: SessionRules) -> AfterCommand {
        match (self, rules.stay) {
            (Self::Asked, _) | (Self::Profile, true) => AfterCommand::Stay,
            (Self::Never, _) | (Self::Profile, false) => AfterCommand::End,
        }
    }
}

/// How long a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeLimit {
    /// For ever.
    None,
    /// As long as the profile says.
    Profile,
}

/// Is the keeper.
///
/// # Errors
/// Whatever keeps the command from starting.
pub(super) fn be_keeper(kept: LiveRun, app: &App) -> Result<ExitCode, Failure> {
    let LiveRun {
        run,
        stay,
        limit,
        idle,
        scope,
    } = kept;
    let ordered = Ordered::hear(app)?;
    let (scope, selector) = match scope {
        Some(scope) => {
            let selector = scope.selector()?;
            (scope, selector)
        }
        None => args::scope(&run, profile::load(&run.profile_name(app)?, &app.env)?, app)?,
    };
    let typed = run.timeout.map(|Span(timeout)| timeout);
    let timeout = match limit {
        TimeLimit::None => typed,
        TimeLimit::Profile => typed.or(Some(scope.profile.limits.timeout)),
    };
    let wants_terminal = run.wants_terminal(&scope.profile);
    let terminal = match ordered.order.front {
        Front::Starts | Front::Follows if wants_terminal => TerminalMode::Interactive,
        _ => TerminalMode::None,
    };
    let asked = match ordered.order.asks {
        true => Asked::Elsewhere,
        false => Asked::Here,
    };
    let stdin = match ordered.order.stdin {
        StdinMode::Passed => CommandStdin::Kept,
        StdinMode::Empty => CommandStdin::Empty,
    };
    let prompt = ordered.order.prompt.clone();
    let options = LiveOptions {
        terminal,
        stdin,
        after: stay.after(scope.profile.session),
        limits: Limits {
            idle: Some(match idle {
                Some(idle) => idle.min(scope.profile.limits.idle),
                None => scope.profile.limits.idle,
            }),
            life: Some(scope.profile.limits.life),
            disk: DiskLimits {
                bytes: scope.profile.limits.disk,
                inodes: scope.profile.limits.inodes.into(),
            },
        },
        prefix: scope.profile.attach.prefix,
        notify: scope.profile.notify.clone(),
    };
    keep(ordered, options, app, |keeper, released| {
        let WorkspaceScope {
            root,
            bounds,
            profile,
            shared,
            extra,
            ..
        } = scope;
        let run = Args {
            prompt: prompt.or(run.prompt),
            ..run
        };
        let request = RunRequest {
            timeout,
            terminal,
            stdin,
            asked,
            extra,
            ..args::job(run, profile, bounds, shared, app)?
        };
        request.run(
            &root,
            &selector,
            Connected::Clients { keeper, released },
            app,
        )
    })
}

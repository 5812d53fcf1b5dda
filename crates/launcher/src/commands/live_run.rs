//! A run that a keeper has: how it is begun, followed, and made.

use std::io::Read as _;

use super::run::args::{self, Args};
use crate::app::App;
use crate::attach::{AttachEnd, OnSignal, attach};
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::gate::Asked;
use crate::keeper::{Begun, LiveOptions, Order, begin, keep};
use crate::profile::units::Span;
use crate::profile::{self, SessionRules};
use crate::resolve::run_spec::{Connected, RunRequest};
use crate::resolve::scope::WorkspaceScope;
use crate::session_access::question;
use crate::ui::OutputFormat;
use lazaret_runtime::SessionId;
use lazaret_session::keeper::AfterCommand;
use lazaret_session::keeper::limits::Limits;
use lazaret_session::keeper::message::{AttachMode, Exit, Size};
use lazaret_session::output::terminal::size;
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::Store;

/// Whether this process follows the session that it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// It is attached to it until the user leaves.
    Yes,
    /// It ends.
    No,
}

/// Begins a keeper.
///
/// # Errors
/// Its process can't be started.
pub(super) fn front(run: &Args, follows: Follows, app: &App) -> Result<Begun, Failure> {
    let order = Order {
        size: Size::from(size()),
        attach: follows == Follows::Yes,
        asks: follows == Follows::Yes && app.ui.can_ask() && app.ui.format() == OutputFormat::Text,
        prompt: match run.prompt.as_deref() {
            Some("-") => Some(prompt_on_stdin(app)?),
            _ => None,
        },
    };
    begin(&order, app)
}

/// Shows a session that was just started, until the user leaves or it ends. What waits then is
/// asked for.
///
/// # Errors
/// The session can't be reached, or what is decided can't be done.
pub(super) fn follow(id: &SessionId, on_signal: OnSignal, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let mode = match app.env.streams.stdin {
        StreamKind::Terminal => AttachMode::Drive,
        StreamKind::Other => AttachMode::Follow,
    };
    match attach(&store, id, mode, on_signal, app)? {
        AttachEnd::Ended(Exit {
            code, ask: true, ..
        }) => {
            let asked = question::ask(&store, id, app)?;
            // What the command ended with says more, if it failed.
            Ok(match ExitCode::of_command(i32::from(code)) {
                ExitCode::KEPT => asked,
                failed => failed,
            })
        }
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
    let LiveRun { run, stay, limit } = kept;
    let profile = profile::load(&run.profile, &app.env)?;
    let (scope, selector) = args::scope(&run, profile, app)?;
    let typed = run.timeout.map(|Span(timeout)| timeout);
    let timeout = match limit {
        TimeLimit::None => typed,
        TimeLimit::Profile => typed.or(Some(scope.profile.limits.timeout)),
    };
    let is_own = run.prompt.is_none() && run.command.is_empty();
    let terminal = match run.terminal || (scope.profile.terminal && is_own) {
        true => TerminalMode::Interactive,
        false => TerminalMode::None,
    };
    let options = LiveOptions {
        terminal,
        after: stay.after(scope.profile.session),
        limits: Limits {
            idle: Some(scope.profile.limits.idle),
            life: Some(scope.profile.limits.life),
        },
        prefix: scope.profile.attach.prefix,
        notify: scope.profile.notify.clone(),
    };
    keep(options, app, |keeper, order| {
        let WorkspaceScope {
            root,
            bounds,
            profile,
            shared,
            ..
        } = scope;
        let run = Args {
            prompt: order.prompt.clone().or(run.prompt),
            ..run
        };
        let request = RunRequest {
            timeout,
            terminal,
            asked: match order.asks {
                true => Asked::Elsewhere,
                false => Asked::Here,
            },
            ..args::job(run, profile, bounds, shared, app)?
        };
        request.run(&root, &selector, Connected::Clients(keeper), app)
    })
}

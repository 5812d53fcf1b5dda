//! What the process of a keeper does.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::TerminalSize;
use lazaret_session::cancel::Cancel;
use lazaret_session::keeper::limits::Limits;
use lazaret_session::keeper::message::Exit;
use lazaret_session::keeper::{AfterCommand, FirstClient, Keeper, KeeperOptions, Messages};
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::SessionDir;

use super::notifier::Notifier;
use super::said::redirect;
use super::{Front, Order, Reachable, VARIABLE};
use crate::app::App;
use crate::attach::keys::PrefixKey;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::gate::{Asked, Released, RunEnd};
use crate::profile::NotifyRules;

/// Whether this process is to be a keeper.
pub(crate) fn is_keeper(app: &App) -> bool {
    app.env.text(VARIABLE).is_some()
}

/// What is asked of a session that a keeper has.
#[derive(Debug, Clone)]
pub(crate) struct LiveOptions {
    /// Whether the command has a terminal.
    pub(crate) terminal: TerminalMode,
    /// What it reads, if it has none.
    pub(crate) stdin: CommandStdin,
    /// What follows the command.
    pub(crate) after: AfterCommand,
    /// How long it may last.
    pub(crate) limits: Limits,
    /// The key before each command of an attached terminal to lazaret.
    pub(crate) prefix: PrefixKey,
    /// What is run on the host when something happens.
    pub(crate) notify: Option<NotifyRules>,
}

/// What a keeper was told by its front.
#[derive(Debug)]
pub(crate) struct Ordered {
    front: UnixStream,
    pub(crate) order: Order,
    /// Raised when the front is gone; `None` once that means nothing any more.
    leash: Arc<Mutex<Option<Cancel>>>,
}

impl Ordered {
    /// Hears the order. The end of the front takes everything back from here on.
    ///
    /// # Errors
    /// This process has no front.
    pub(crate) fn hear(app: &App) -> Result<Self, Failure> {
        let stdin = rustix::stdio::stdin().try_clone_to_owned();
        let stdin = stdin.or_fail(FailureKind::Internal, "a keeper has no stdin")?;
        let front = UnixStream::from(stdin);
        let order = hear(&front).or_fail(FailureKind::Internal, "a keeper was told nothing")?;
        let leash = Arc::new(Mutex::new(Some(app.cancel.clone())));
        watch(front.try_clone(), Arc::clone(&leash));
        Ok(Self {
            front,
            order,
            leash,
        })
    }

    /// Tells the front that clients can come. A session that it does not own outlives it from here
    /// on.
    fn reachable(&self, session: &SessionDir) -> io::Result<()> {
        let is_owned = self.order.front == Front::Owns;
        if !is_owned {
            drop(lock(&self.leash).take());
        }
        let reachable = Reachable {
            session: session.id().to_string(),
        };
        let mut line = serde_json::to_string(&reachable)?;
        line.push('\n');
        // A front that is gone does not want to know.
        let _gone = (&self.front).write_all(line.as_bytes());
        if !is_owned {
            let _gone = self.front.shutdown(std::net::Shutdown::Both);
        }
        Ok(())
    }
}

/// Keeps the session that `run` makes, until it is at rest.
///
/// # Errors
/// As `run`, as long as no client can come: later ones are told to the clients.
pub(crate) fn keep(
    ordered: Ordered,
    asked: LiveOptions,
    app: &App,
    run: impl FnOnce(&Keeper, Released<'_>) -> Result<RunEnd, Failure>,
) -> Result<ExitCode, Failure> {
    let left: Arc<Mutex<Option<Left>>> = Arc::default();
    let leaving = Arc::clone(&left);
    let options = KeeperOptions {
        terminal: match asked.terminal {
            TerminalMode::Interactive => Some(TerminalSize::from(ordered.order.size)),
            TerminalMode::None => None,
        },
        stdin: asked.stdin,
        after: asked.after,
        first: match ordered.order.front {
            Front::Starts => FirstClient::None,
            Front::Follows | Front::Owns => FirstClient::Awaited,
        },
        limits: asked.limits,
        prefix: asked.prefix.key(),
    };
    let notifier = asked
        .notify
        .map(|rules| Notifier::new(rules, &app.env, &app.ui));
    let leash = Arc::clone(&ordered.leash);
    let ui = app.ui.clone();
    let on_reachable = move |dir: &SessionDir, messages: Messages| {
        let events = messages.events();
        let stderr = redirect(&ui, dir, messages)?;
        leave_terminal(&stderr)?;
        *lock(&leaving) = Some(Left {
            notifying: notifier.map(|notifier| notifier.start(dir.id().to_string(), events)),
        });
        ordered.reachable(dir)
    };
    let keeper = Keeper::new(options, app.cancel.clone(), Box::new(on_reachable));
    let told = Cell::new(None);
    let tell = |end: &RunEnd| {
        // What is removed yet goes on without the front.
        drop(lock(&leash).take());
        told.set(Some(tell_clients(&keeper, end, app)));
    };
    let ended = run(&keeper, Released(&tell));
    let Some(Left { notifying }) = lock(&left).take() else {
        // No client could come: the failure is the user's to see.
        return ended.map(|end| end.exit_code);
    };
    let exit = match (told.get(), ended) {
        (Some(exit), _) => exit,
        (None, Ok(end)) => tell_clients(&keeper, &end, app),
        (None, Err(failure)) => {
            app.ui.failure(&failure);
            let exit = Exit::of_process(failure.exit_code().value());
            keeper.finish(exit, &[]);
            exit
        }
    };
    if let Some(notifying) = notifying {
        let _panicked = notifying.join();
    }
    Ok(ExitCode::of_command(i32::from(exit.code)))
}

/// Tells the clients how a run ended.
fn tell_clients(keeper: &Keeper, end: &RunEnd, app: &App) -> Exit {
    let mut report = Vec::new();
    let exit = Exit {
        code: end.exit_code.value(),
        ask: end.open == Some(Asked::Elsewhere),
    };
    if let Err(error) = app.ui.write_json(&end.report, &mut report) {
        app.ui
            .error(&format!("the report has no JSON form: {error}"));
    }
    keeper.finish(exit, &report);
    exit
}

/// What goes on when the terminal was left.
struct Left {
    notifying: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears the order, and nothing of what follows it.
fn hear(front: &UnixStream) -> io::Result<Order> {
    let mut line = String::new();
    BufReader::new(front).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Raises what the leash holds when the front is gone.
fn watch(front: io::Result<UnixStream>, leash: Arc<Mutex<Option<Cancel>>>) {
    thread::spawn(move || {
        let heard = front.and_then(|mut front| front.read(&mut [0]));
        if matches!(heard, Ok(0) | Err(_))
            && let Some(cancel) = lock(&leash).take()
        {
            cancel.raise();
        }
    });
}

/// Leaves the terminal: no signal comes from it any more, nothing is read from it, and what is
/// written to it goes into a file.
fn leave_terminal(stderr: &impl std::os::fd::AsFd) -> io::Result<()> {
    let nothing = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    // What fails up to here is said on the terminal. This fails for the leader of a process group
    // only, which a process that was just started is not.
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(stderr)?;
    Ok(())
}

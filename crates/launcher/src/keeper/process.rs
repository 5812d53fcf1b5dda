//! What the process of a keeper does.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use lazaret_runtime::TerminalSize;
use lazaret_session::keeper::limits::Limits;
use lazaret_session::keeper::message::Exit;
use lazaret_session::keeper::{AfterCommand, FirstClient, Keeper, KeeperOptions, Messages};
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::SessionDir;

use super::notifier::Notifier;
use super::{Order, Reachable, VARIABLE};
use crate::app::App;
use crate::attach::keys::PrefixKey;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::gate::{Asked, RunEnd};
use crate::profile::NotifyRules;

/// The most bytes of what a keeper says that are kept.
const MOST: usize = 256 << 10;

/// Whether this process is to be a keeper.
pub(crate) fn is_keeper(app: &App) -> bool {
    app.env.text(VARIABLE).is_some()
}

/// What is asked of a session that a keeper has.
#[derive(Debug, Clone)]
pub(crate) struct LiveOptions {
    /// Whether the command has a terminal.
    pub(crate) terminal: TerminalMode,
    /// What follows the command.
    pub(crate) after: AfterCommand,
    /// How long it may last.
    pub(crate) limits: Limits,
    /// The key before each command of an attached terminal to lazaret.
    pub(crate) prefix: PrefixKey,
    /// What is run on the host when something happens.
    pub(crate) notify: Option<NotifyRules>,
}

/// What goes on when the terminal was left.
struct Left {
    /// Passes on what is said.
    relay: JoinHandle<()>,
    notifying: Option<JoinHandle<()>>,
}

/// Keeps the session that `run` makes, until it is at rest.
///
/// # Errors
/// As `run`, as long as no client can come: later ones are told to the clients.
pub(crate) fn keep(
    asked: LiveOptions,
    app: &App,
    run: impl FnOnce(&Keeper, &Order) -> Result<RunEnd, Failure>,
) -> Result<ExitCode, Failure> {
    let front = rustix::stdio::stdin()
        .try_clone_to_owned()
        .or_fail(FailureKind::Internal, "a keeper has no stdin")?;
    let front = UnixStream::from(front);
    let order = hear(&front).or_fail(FailureKind::Internal, "a keeper was told nothing")?;
    let cancel = app.cancel.clone();
    let gone = Arc::new(Mutex::new(Some(cancel)));
    watch(front.try_clone(), Arc::clone(&gone));
    let left: Arc<Mutex<Option<Left>>> = Arc::default();
    let leaving = Arc::clone(&left);
    let options = KeeperOptions {
        terminal: match asked.terminal {
            TerminalMode::Interactive => Some(TerminalSize::from(order.size)),
            TerminalMode::None => None,
        },
        after: asked.after,
        first: match order.attach {
            true => FirstClient::Awaited,
            false => FirstClient::None,
        },
        limits: asked.limits,
        prefix: asked.prefix.key(),
    };
    let notifier = asked
        .notify
        .map(|rules| Notifier::new(rules, &app.env, &app.ui));
    let on_reachable = move |dir: &SessionDir, messages: Messages| {
        // From here on the session outlives the one who began it.
        drop(lock(&gone).take());
        let events = messages.events();
        *lock(&leaving) = Some(Left {
            relay: leave_terminal(dir, messages)?,
            notifying: notifier.map(|notifier| notifier.start(dir.id().to_string(), events)),
        });
        let reachable = Reachable {
            session: dir.id().to_string(),
        };
        let mut line = serde_json::to_string(&reachable)?;
        line.push('\n');
        // A front that is gone does not want to know.
        let _gone = (&front).write_all(line.as_bytes());
        let _gone = front.shutdown(std::net::Shutdown::Both);
        Ok(())
    };
    let keeper = Keeper::new(options, app.cancel.clone(), Box::new(on_reachable));
    let ended = run(&keeper, &order);
    let Some(Left { relay, notifying }) = lock(&left).take() else {
        // No client could come: the failure is the user's to see.
        return ended.map(|end| end.exit_code);
    };
    let exit = match ended {
        Ok(end) => Exit {
            code: end.exit_code.value(),
            report: serde_json::to_value(&end.report).ok(),
            ask: end.open == Some(Asked::Elsewhere),
        },
        Err(failure) => {
            app.ui.failure(&failure);
            Exit::of_process(failure.exit_code().value())
        }
    };
    // What was said is with the clients before the end is.
    let closed = nothing().and_then(|nothing| Ok(rustix::stdio::dup2_stderr(&nothing)?));
    if closed.is_ok() {
        let _panicked = relay.join();
    }
    keeper.finish(&exit);
    if let Some(notifying) = notifying {
        let _panicked = notifying.join();
    }
    Ok(ExitCode::of_command(i32::from(exit.code)))
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

/// Takes everything back when the one who began it is gone before clients can come.
fn watch(front: io::Result<UnixStream>, gone: Arc<Mutex<Option<lazaret_session::cancel::Cancel>>>) {
    thread::spawn(move || {
        let heard = front.and_then(|mut front| front.read(&mut [0]));
        if matches!(heard, Ok(0) | Err(_))
            && let Some(cancel) = lock(&gone).take()
        {
            cancel.raise();
        }
    });
}

/// Leaves the terminal: no signal comes from it any more, nothing is read from it, and what is said
/// goes to clients and into a file.
fn leave_terminal(dir: &SessionDir, messages: Messages) -> io::Result<JoinHandle<()>> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let file = (OpenOptions::new().create(true).append(true))
        .mode(0o600)
        .open(dir.file("keeper").join("messages"))?;
    let nothing = nothing()?;
    // What fails up to here is said on the terminal. This fails for the leader of a process group
    // only, which a process that was just started is not.
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&write)?;
    Ok(thread::spawn(move || relay(read, messages, file)))
}

fn nothing() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

/// Passes on what is said.
fn relay(said: OwnedFd, mut messages: Messages, mut file: File) {
    let mut said = File::from(said);
    let mut buffer = [0; 4096];
    let mut kept = 0;
    while let Ok(count @ 1..) = said.read(&mut buffer) {
        let chunk = buffer.get(..count).unwrap_or_default();
        // A disk that is full costs the file.
        if kept < MOST && file.write_all(chunk).is_ok() {
            kept += count;
        }
        let _never_fails = messages.write_all(chunk);
    }
}

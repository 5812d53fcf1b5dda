//! `lazaret exec`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::run::args::{EnvVar, own};
use crate::app::App;
use crate::attach::beside::{BesideEnd, StdinMode, Streams, carry};
use crate::attach::capped::{Capped, Open, Spill};
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::nonce::nonce;
use crate::profile::AskRules;
use crate::profile::units::ByteSize;
use crate::session_access::live::ask;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::terminal::user_terminal::size;
use lazaret_session::keeper::message::{Exec, Request, Role, Size};
use lazaret_session::spec::TerminalMode;
use lazaret_session::store::{SessionDir, Store};

/// Run a command beside the one of a session of `start`
///
/// It is held as the session's command is, and has the same files, network and variables. It ends
/// with this process, and this process with its exit code.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Pass stdin on; else it is empty
    #[arg(short, long)]
    pub interactive: bool,
    /// Give it this terminal
    #[arg(short, long)]
    pub terminal: bool,
    /// Variable, or the name of one of yours; repeatable
    #[arg(short, long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<EnvVar>,
    /// Directory that it starts in [default: that of the session's command]
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<String>,
    /// Let it go on when this process ends
    #[arg(long)]
    pub leave: bool,
    /// Bytes of each stream that you get, such as 64k [default: all]
    #[arg(long, value_name = "SIZE", conflicts_with = "terminal")]
    pub cap: Option<ByteSize>,
    /// Write the rest, up to 64 MiB of each stream, into a file in /tmp/lazaret inside
    #[arg(long, requires = "cap")]
    pub spill: bool,
    /// Command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let stdin = match args.interactive && !args.terminal {
        true => StdinMode::Passed,
        false => StdinMode::Empty,
    };
    let streams = app.env.streams;
    let has_terminal = [streams.stdin, streams.stdout] == [StreamKind::Terminal; 2];
    if args.terminal && !has_terminal {
        let text = "--terminal needs a terminal on stdin and stdout";
        return Err(Failure::message(FailureKind::Usage, text));
    }
    let mut env = BTreeMap::new();
    for EnvVar { name, value } in args.env {
        let value = match value {
            Some(value) => value,
            None => own(&name, app)?,
        };
        env.insert(name.to_string(), value);
    }
    if args.terminal {
        let variables = crate::resolve::run_spec::terminal_variables(&app.env);
        let variables = variables.into_iter();
        env.extend(variables.map(|(name, value)| (name.to_string(), value)));
    }
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Running, &store, app)?;
    let dir = store.find(&id)?;
    let cap = args.cap.map_or(u64::MAX, |ByteSize(most)| most);
    let mut streams = STREAMS.map(|_| Capped::new(cap, None));
    if args.spill {
        let directory = AskRules::default().spill;
        streams = spilled(cap, &directory, &dir)?;
        env.insert("LAZARET_SPILL".to_owned(), directory);
    }
    let exec = Exec {
        argv: args.command,
        env,
        workdir: args.workdir,
        terminal: args.terminal.then(|| Size::from(size())),
        stdin: args.interactive || args.terminal,
        leave: args.leave,
        role: Role::Any,
    };
    let terminal = match args.terminal {
        true => TerminalMode::Interactive,
        false => TerminalMode::None,
    };
    let (connection, _) = ask(&store, &dir, &Request::Exec(exec))?;
    let ended = carry(&connection, Streams { terminal, stdin }, &mut streams, app)?;
    say_what_is_cut(&mut streams, app);
    match ended {
        BesideEnd::Ended(code) => Ok(ExitCode::of_command(code)),
        BesideEnd::Left => Ok(ExitCode::INTERRUPTED),
        BesideEnd::Lost => Err(Failure::message(
            FailureKind::State,
            format!("the command in session {id} was lost: its keeper is gone"),
        )
        .hinted(format!("Take it up with `lazaret recover {id}`."))),
    }
}

/// Returns stdout and stderr of a process, whose rest is spilled.
fn spilled(cap: u64, directory: &str, dir: &SessionDir) -> Result<[Capped; 2], Failure> {
    let open = Arc::new(Open::default());
    let run = nonce()?;
    let run = run.get(..8).unwrap_or_default();
    Ok(STREAMS.map(|(_, end)| {
        let name = format!("exec-{run}.{end}");
        Capped::new(cap, Some(Spill::new(dir, directory, name, &open)))
    }))
}

/// Both streams: their names, and the ends of the names of their files.
const STREAMS: [(&str, &str); 2] = [("stdout", "out"), ("stderr", "err")];

/// Says where the rest of a stream is.
fn say_what_is_cut(streams: &mut [Capped; 2], app: &App) {
    for ((name, _), stream) in STREAMS.into_iter().zip(streams) {
        let spilled = stream.finish();
        if !stream.is_cut() {
            continue;
        }
        let bytes = stream.bytes();
        app.ui.warn(&match spilled {
            Some(path) => format!("{name} has {bytes} bytes; what follows the cap is in {path}"),
            None => format!("{name} has {bytes} bytes; what follows the cap was dropped"),
        });
    }
}

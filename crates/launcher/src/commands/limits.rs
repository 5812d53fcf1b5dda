//! `lazaret limits`.

use std::time::Duration;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile::units::{ByteSize, Span};
use crate::session_access::live::ask;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::{OutputFormat, bytes, count, elapsed};
use lazaret_session::keeper::message::{ChangedLimits, Request, Stored};
use lazaret_session::store::Store;

/// Show or change how long a session may last, and what it may hold
///
/// When a limit of time is reached, the session is stopped as by `stop`: nothing is lost. A command
/// that fills its disk is paused first, and stopped after ten minutes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// For how long nothing may happen: no output, no terminal that types, no `exec`
    #[arg(long, value_name = "TIME")]
    pub idle: Option<Span>,
    /// How long it may last in all
    #[arg(long, value_name = "TIME")]
    pub life: Option<Span>,
    /// How many bytes its volume may hold, such as 30g: a command that is paused for that goes on
    #[arg(long, value_name = "SIZE")]
    pub disk: Option<ByteSize>,
    /// How many files and directories it may hold
    #[arg(long, value_name = "NUMBER")]
    pub inodes: Option<u64>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Running, &store, app)?;
    let dir = store.find(&id)?;
    let changed = ChangedLimits {
        idle_s: args.idle.map(|Span(idle)| idle.as_secs()),
        life_s: args.life.map(|Span(life)| life.as_secs()),
        disk: args.disk.map(|ByteSize(disk)| disk),
        inodes: args.inodes,
    };
    let (_, accepted) = ask(&store, &dir, &Request::Limits(changed))?;
    let Some(status) = accepted.status else {
        return Ok(ExitCode::SUCCESS);
    };
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&status),
        OutputFormat::Text => {
            let span = |limit: Option<u64>| match limit {
                Some(seconds) => elapsed(Duration::from_secs(seconds)),
                None => "none".to_owned(),
            };
            let quiet = elapsed(Duration::from_secs(status.quiet_s));
            app.ui.result(&format!(
                "idle  {} (quiet for {quiet})",
                span(status.idle_s)
            ));
            app.ui.result(&format!("life  {}", span(status.life_s)));
            let held = |stored: Stored, words: fn(u64) -> String| match stored.used {
                Some(used) => format!("{} (holds {})", words(stored.limit), words(used)),
                None => words(stored.limit),
            };
            app.ui
                .result(&format!("disk  {}", held(status.disk, bytes)));
            app.ui
                .result(&format!("files {}", held(status.inodes, count)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

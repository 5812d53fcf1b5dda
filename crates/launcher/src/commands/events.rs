//! `lazaret events`.

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::keeper::words;
use crate::session_access::live::unanswered;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::Kind;
use lazaret_session::keeper::journal::{SessionEvent, events_since};
use lazaret_session::keeper::message::Request;
use lazaret_session::store::Store;

/// Show what happened in a session of `start`
///
/// With --json an object a line: its number, when (milliseconds since 1970), and its kind.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Go on until the session is at rest
    #[arg(short, long)]
    pub follow: bool,
    /// Begin after the event with this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub since: u64,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    let dir = store.find(&id)?;
    let since = args.since;
    let heard = match args.follow {
        true => Connection::ask(&dir, &Request::Events { since })
            .map_err(|error| unanswered(&id, error))?,
        false => None,
    };
    let Some((heard, _)) = heard else {
        let events = events_since(&dir, since)?;
        events.iter().for_each(|event| show(event, app));
        return Ok(ExitCode::SUCCESS);
    };
    let leaving = heard.clone();
    let _guard = app.cancel.guard(move |_| leaving.close());
    while let Ok(Some(frame)) = heard.read() {
        if frame.kind == Kind::Event
            && let Ok(event) = frame.parse()
        {
            show(&event, app);
        }
    }
    Ok(match app.cancel.level() {
        Some(_) => ExitCode::INTERRUPTED,
        None => ExitCode::SUCCESS,
    })
}

fn show(event: &SessionEvent, app: &App) {
    match app.ui.format() {
        OutputFormat::Json => app.ui.json_line(event),
        OutputFormat::Text => app
            .ui
            .result(&format!("{:>5}  {}", event.n, words(&event.what))),
    }
}

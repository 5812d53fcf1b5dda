//! `lazaret policy log`.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::time::Duration;

use lazaret_egress::{Denied, Event, Verdict};
use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, escape};
use serde_json::Value;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::named::named;
use crate::ui::OutputFormat;
use lazaret_session::network::JOURNAL;
use lazaret_session::store::Store;

/// Between two looks for more.
const TICK: Duration = Duration::from_millis(200);

/// What is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: SessionId,
    /// Follow the log until the session's command has ended
    #[arg(short, long)]
    pub follow: bool,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = named(&store, &args.session)?;
    let dir = store.find(&id)?;
    let path = dir.file(JOURNAL);
    if !path.exists() {
        return Err(super::no_network(&dir));
    }
    let mut reader = BufReader::new(File::open(&path).at(&path)?);
    let mut line = String::new();
    loop {
        // Asked before the last look, so that nothing written until then is missed.
        let goes_on = args.follow && store.is_live(&id)?;
        loop {
            line.clear();
            let start = reader.stream_position().at(&path)?;
            match reader.read_line(&mut line) {
                Ok(0) => break,
                // The rest of it has not been written yet.
                Ok(_) if !line.ends_with('\n') => {
                    reader.seek(SeekFrom::Start(start)).at(&path)?;
                    break;
                }
                Ok(_) => show(&line, app),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => Err(error).at(&path)?,
            }
        }
        if !goes_on {
            return Ok(ExitCode::SUCCESS);
        }
        app.cancel.sleep(TICK)?;
    }
}

fn show(line: &str, app: &App) {
    let ui = &app.ui;
    match ui.format() {
        OutputFormat::Json => {
            if let Ok(value) = serde_json::from_str::<Value>(line) {
                ui.json_line(&value);
            }
        }
        OutputFormat::Text => {
            if let Ok(event) = serde_json::from_str(line)
                && let Some(text) = words(&event)
            {
                ui.result(&escape(text.as_bytes()));
            }
        }
    }
}

/// Says an event in words; `None` for those that only programs want.
fn words(event: &Event) -> Option<String> {
    let port = |port: &Option<u16>| port.map_or(String::new(), |port| format!(":{port}"));
    Some(match event {
        Event::Decision {
            via,
            host,
            port: number,
            verdict,
            rule,
            reason,
            address,
            ..
        } => {
            let target = format!("{host}{}", port(number));
            let address = address.map_or(String::new(), |address| format!(" at {address}"));
            match verdict {
                Verdict::Allowed => {
                    let rule = rule.as_deref().unwrap_or("?");
                    format!("allowed  {via:<7} {target}{address} by {rule}")
                }
                Verdict::Denied => {
                    let why = reason.map_or(String::new(), |why| format!("{why} ({})", why.code()));
                    let by = match (reason, rule) {
                        (Some(Denied::Rule), Some(rule)) => format!(" by {rule}"),
                        _ => String::new(),
                    };
                    format!("denied   {via:<7} {target}{address}{by}: {why}")
                }
            }
        }
        Event::Broker {
            route,
            method,
            path,
            status,
            ..
        } => format!("broker   {route} {method} {path} -> {status}"),
        Event::Closed {
            reason: Some(why), ..
        } => format!("closed   {why} ({})", why.code()),
        Event::Fault { message, .. } => format!("fault    {message}"),
        Event::Ready { .. } | Event::Closed { .. } => return None,
    })
}

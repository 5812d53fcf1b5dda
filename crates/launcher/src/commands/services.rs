//! `lazaret services`.

use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::live;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::keeper::message::Request;
use lazaret_session::services::status::ServiceStatus;
use lazaret_session::store::{SessionDir, Store};

/// List the services of a session, or restart one
///
/// A service that dies is started again after 1, 5 and 25 seconds, at most three times in five
/// minutes; then it is down. `logs --service NAME` shows what it wrote.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Restart this service, also if it is down
    #[arg(long, value_name = "SERVICE")]
    pub restart: Option<String>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    let dir = store.find(&id)?;
    if let Some(service) = args.restart {
        let known = &dir.record()?.services;
        if !known.iter().any(|known| known.as_str() == service) {
            let text = format!("session {id} has no service {service}");
            return Err(Failure::message(FailureKind::Refused, text));
        }
        live::ask(&store, &dir, &Request::Restart { service })?;
    }
    let services = of(&dir)?;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({
            "session": id.as_str(),
            "services": services,
        })),
        OutputFormat::Text if services.is_empty() => app.ui.status("no services"),
        OutputFormat::Text => {
            for service in &services {
                let restarts = match service.restarts {
                    0 => String::new(),
                    restarts => format!("  ({restarts} restarts)"),
                };
                let (name, state) = (&service.name, service.state.as_str());
                app.ui.result(&format!("{name:<9}  {state}{restarts}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the services of a session: where they are if a keeper has it, else stopped.
///
/// # Errors
/// Its record can't be read.
pub(super) fn of(dir: &SessionDir) -> Result<Vec<ServiceStatus>, Failure> {
    let record = dir.record()?;
    if record.services.is_empty() {
        return Ok(Vec::new());
    }
    Ok(match live::status(dir) {
        Some(status) => status.services,
        None => record.services.iter().map(ServiceStatus::stopped).collect(),
    })
}

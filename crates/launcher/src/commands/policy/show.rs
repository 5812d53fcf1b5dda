//! `lazaret policy show`.

use lazaret_egress::{Mode, Policy, Preset};
use lazaret_runtime::SessionId;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::named::named;
use crate::ui::OutputFormat;
use lazaret_session::keeper::message::Request;
use lazaret_session::store::Store;

/// What is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: SessionId,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = named(&store, &args.session)?;
    let (_, policy) = super::ask(&store, &store.find(&id)?, &Request::Policy)?;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&policy),
        OutputFormat::Text => {
            for line in lines(&policy) {
                app.ui.result(&line);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a policy line by line.
fn lines(policy: &Policy) -> Vec<String> {
    let mut lines = vec![match policy.mode {
        Mode::Allowlist => "mode      allowlist".to_owned(),
        Mode::Open => "mode      open: every public host and port".to_owned(),
    }];
    let mut add = |what: &str, text: String| lines.push(format!("{what:<9} {text}"));
    for rule in &policy.rules {
        let preset = Preset::of(rule).map(|preset| format!("  {}", preset.name));
        add("allow", format!("{rule}{}", preset.unwrap_or_default()));
    }
    for rule in &policy.denied {
        add("deny", rule.to_string());
    }
    for target in &policy.brokered {
        add("broker", target.to_string());
    }
    for rule in &policy.private.names {
        add("private", rule.to_string());
    }
    for net in &policy.private.networks {
        add("private", net.to_string());
    }
    for (name, address) in &policy.private.hosts {
        add("host", format!("{name} = {address}"));
    }
    lines
}

//! `lazaret policy check`.

use std::path::PathBuf;

use lazaret_egress::{Denied, EntryPoint, HostPort, Policy};
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile;
use crate::resolve::network;
use crate::resolve::user_network::UserNetwork;
use crate::resolve::workspace;
use crate::ui::OutputFormat;

/// What is asked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile: a built-in name, one of your own, or a path to a TOML file
    #[arg(value_name = "PROFILE")]
    pub profile: String,
    /// Host, and port [default: 443]
    #[arg(value_name = "HOST[:PORT]")]
    pub target: String,
    /// Workspace whose lazaret.toml counts [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// Judges as the gateway will, by the door that leads there. A denial is a code and a reason.
fn judge(policy: &Policy, target: &HostPort) -> Result<String, (String, String)> {
    let via = match policy.brokered.contains(target) {
        true => EntryPoint::Broker,
        false => EntryPoint::Connect,
    };
    let judged = policy.judge_name(target, via);
    judged.map(|allowed| allowed.rule).map_err(|denied| {
        let by = policy.denying(target).filter(|_| denied == Denied::Rule);
        let by = by.map_or(String::new(), |rule| format!(": deny {rule}"));
        (denied.code().to_owned(), format!("{denied}{by}"))
    })
}

/// Adds the port of HTTPS to a host without one.
fn with_port(target: &str) -> String {
    match target.contains(':') {
        true => target.to_owned(),
        false => format!("{target}:443"),
    }
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let profile = profile::load(&args.profile, &app.env)?;
    let path = args.workspace.as_ref().unwrap_or(&app.env.cwd);
    let workspace = workspace::open(path, &app.env)?;
    let profile = profile.tightened_by(workspace.path())?.profile;
    let user = UserNetwork::load(&app.env)?;
    let judged = match network::policy(&profile, &user) {
        None => Err((
            "net.none".to_owned(),
            "the profile gives no network".to_owned(),
        )),
        Some(policy) => match with_port(&args.target).parse::<HostPort>() {
            Err(error) => Err(("net.name".to_owned(), error.to_string())),
            Ok(target) => judge(&policy, &target),
        },
    };
    let target = lazaret_tree::escape(args.target.as_bytes());
    let ui = &app.ui;
    match (ui.format(), &judged) {
        (OutputFormat::Json, Ok(rule)) => {
            ui.json(&json!({ "target": target, "allowed": true, "rule": rule }));
        }
        (OutputFormat::Json, Err((code, reason))) => ui.json(&json!({
            "target": target, "allowed": false, "code": code, "reason": reason,
        })),
        (OutputFormat::Text, Ok(rule)) => ui.result(&format!("{target} is allowed: {rule}")),
        (OutputFormat::Text, Err((code, reason))) => {
            ui.result(&format!("{target} is denied: {reason} ({code})"));
        }
    }
    Ok(match judged {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::REFUSED,
    })
}

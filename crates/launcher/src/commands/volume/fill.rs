//! `lazaret volume fill`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use lazaret_egress::{Event, Verdict};
use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::{Engine, VolumeId};
use lazaret_session::network::JOURNAL;
use lazaret_session::spec::{LogLevel, TerminalMode};
use lazaret_session::store::record::{KeepVolume, Record};
use lazaret_session::store::{SessionDir, Store};
use lazaret_session::volumes::shared::{FillRecord, FillingVolume, SharedVolumes};
use lazaret_tree::escape;
use serde_json::json;

use crate::app::App;
use crate::commands::rm;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::gate::{Asked, RunEnd};
use crate::profile::units::Span;
use crate::profile::{self, ApplyMode, Cache, Profile, VolumeRule, VolumeScope};
use crate::resolve::run_spec::{Connected, RunRequest};
use crate::resolve::scope::WorkspaceScope;
use crate::resolve::volumes::Fill;
use crate::resolve::workspace;
use crate::ui::OutputFormat;

/// What is run, and where it writes to.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shared volume of the profile, or cargo, go, npm or uv for the cache of that program
    #[arg(value_name = "NAME")]
    name: VolumeId,
    /// Profile whose image, limits and network rules hold
    #[arg(long, value_name = "PROFILE")]
    from: String,
    /// Workspace [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Time limit of the command, such as 90s, 5m, 2h [default: the profile's]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Command
    #[arg(last = true, value_name = "CMD", required = true)]
    command: Vec<String>,
}

pub(super) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let profile = profile::load(&args.from, &app.env)?;
    let rule = rule(&profile, &args.name)?;
    let path = args.workspace.as_ref().unwrap_or(&app.env.cwd);
    let workspace = workspace::open(path, &app.env)?;
    let scope = WorkspaceScope::of(without_secrets(profile), workspace, &app.env)?;
    let selector = scope.selector()?;
    let store = Store::open(&app.env.state_dir()?)?;
    let detected = app.engine()?;
    let shared = SharedVolumes::of(&store);
    let filling = Arc::new(shared.begin(&args.name, &detected.info.endpoint)?);
    let timeout = args.timeout.map(|Span(timeout)| timeout);
    let request = RunRequest {
        id: None,
        command: args.command,
        apply: ApplyMode::Ask,
        // So what it does to its copy of the workspace is neither shown nor asked about.
        asked: Asked::Elsewhere,
        timeout: Some(timeout.unwrap_or(scope.profile.limits.timeout)),
        env: scope.profile.env.clone(),
        ports: Vec::new(),
        volume: KeepVolume::UntilSettled,
        bounds: scope.bounds,
        shared: scope.shared,
        from: None,
        terminal: TerminalMode::None,
        stdin: CommandStdin::Empty,
        log: LogLevel::Info,
        extra: Vec::new(),
        fills: Some(Fill {
            rule,
            filling: Arc::clone(&filling),
        }),
        profile: scope.profile,
    };
    let ran = request.run(&scope.root, &selector, Connected::User, app);
    let filled = ran.and_then(|end| {
        let (record, denied) = remove_session(&end, &store, app)?;
        let filled = succeeded(&end, record, &filling)?;
        if matches!(filled, Filled::No(_)) {
            say_denied(&denied, app);
        }
        Ok(filled)
    });
    let filled = match filled {
        Ok(Filled::Yes(record)) => record,
        Ok(Filled::No(code)) => {
            give_up(&filling, &*detected.engine, app);
            let name = &args.name;
            app.ui.error(&format!(
                "the command failed, so shared volume {name} stays as it was"
            ));
            return Ok(code);
        }
        Err(failure) => {
            give_up(&filling, &*detected.engine, app);
            return Err(failure);
        }
    };
    // It holds on to what it replaces.
    drop(filling);
    for owner in shared.replaced()? {
        // What stays is removed by `prune`.
        if let Err(failure) = super::remove(&owner, &*detected.engine) {
            app.ui.warn(&failure.chain().join(": "));
        }
    }
    match app.ui.format() {
        OutputFormat::Json => {
            let volume = super::ls::to_json(&filled);
            app.ui.json(&json!({ "volume": volume }));
        }
        OutputFormat::Text => app.ui.status(&format!("filled {}", filled.name)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a command filled its volume.
enum Filled {
    Yes(FillRecord),
    /// The exit code that says why not.
    No(ExitCode),
}

/// Finds the shared volume of a profile, or the cache of that name.
fn rule(profile: &Profile, name: &VolumeId) -> Result<VolumeRule, Failure> {
    let named = profile.volumes.iter().find(|rule| rule.id == *name);
    let text = match named {
        Some(rule) if rule.scope != VolumeScope::Session => return Ok(rule.clone()),
        Some(_) => format!(
            "volume {name} of profile {} belongs to each session: only its commands write to it",
            profile.name
        ),
        None => match Cache::named(name.as_str()).and_then(VolumeRule::of_cache) {
            Some(rule) => return Ok(rule),
            None => format!("profile {} has no volume {name}", profile.name),
        },
    };
    Err(Failure::message(FailureKind::Usage, text).hinted(format!(
        "Add a volume with name = \"{name}\" and scope = \"shared\" to the profile."
    )))
}

/// Returns the profile for a command that needs none of what is the user's.
fn without_secrets(mut profile: Profile) -> Profile {
    profile.env_pass.clear();
    profile.secrets.clear();
    profile.files.clear();
    profile.services.clear();
    profile.volumes.clear();
    profile.network.ports.clear();
    profile
}

/// Removes the session of a command, and returns its record and what its network denied.
fn remove_session(
    end: &RunEnd,
    store: &Store,
    app: &App,
) -> Result<(Record, BTreeSet<String>), Failure> {
    let id = end.report.session.parse();
    let id = id.or_fail(FailureKind::Internal, "a session's name")?;
    let session = rm::lock(store, &id)?;
    let record = session.record().clone();
    let denied = denied(session.dir());
    let detected = app.engine_of(&record)?;
    rm::remove(store, session, &*detected.engine)?;
    Ok((record, denied))
}

/// Reads what the network of a session denied. A log that can't be read denied nothing.
fn denied(dir: &SessionDir) -> BTreeSet<String> {
    let log = fs::read_to_string(dir.file(JOURNAL)).unwrap_or_default();
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let denied = events.filter_map(|event| match event {
        Event::Decision {
            host,
            port,
            verdict: Verdict::Denied,
            reason,
            ..
        } => {
            let port = port.map_or(String::new(), |port| format!(":{port}"));
            let why = reason.map_or(String::new(), |reason| format!(": {reason}"));
            Some(format!("{host}{port}{why}"))
        }
        _ => None,
    });
    denied.collect()
}

/// Says what the network denied, which no log tells any more.
fn say_denied(denied: &BTreeSet<String>, app: &App) {
    /// The command can make up any number.
    const MOST: usize = 16;
    for target in denied.iter().take(MOST) {
        let target = escape(target.as_bytes());
        app.ui.status(&format!("network: denied {target}"));
    }
    if denied.len() > MOST {
        let more = denied.len() - MOST;
        app.ui.status(&format!("network: denied {more} more"));
    }
    if !denied.is_empty() {
        app.ui
            .hint("`allow` in [network] of the profile names the hosts that may be reached.");
    }
}

/// Makes what a command has written what sessions get, if it succeeded.
fn succeeded(end: &RunEnd, session: Record, filling: &FillingVolume) -> Result<Filled, Failure> {
    let report = &end.report;
    if report.exit_code != Some(0) || report.timed_out || end.exit_code == ExitCode::INTERRUPTED {
        return Ok(Filled::No(end.exit_code));
    }
    Ok(Filled::Yes(filling.finish(FillRecord {
        name: filling.id().to_string(),
        engine: session.engine,
        profile: session.profile,
        image: session.image,
        command: session.command,
        filled: 0,
    })?))
}

/// Removes the volume of a command that failed.
fn give_up(filling: &FillingVolume, engine: &dyn Engine, app: &App) {
    let removed = super::remove(filling.owner(), engine);
    let removed = removed.and_then(|()| Ok(filling.forget()?));
    if let Err(failure) = removed {
        app.ui.warn(&failure.chain().join(": "));
        app.ui.hint("`lazaret prune` removes what is left of it.");
    }
}

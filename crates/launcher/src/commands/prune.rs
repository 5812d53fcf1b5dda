//! `lazaret prune`.

use std::time::Duration;

use lazaret_runtime::{ContainerName, SessionId, VolumeName};
use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::profile::units::{Span, UnitError};
use crate::ui::OutputFormat;
use lazaret_session::lifecycle::prune::{Candidates, Names, Retention};
use lazaret_session::store::Store;
use lazaret_session::store::moment::Moment;

/// Remove settled sessions, and objects that no session owns
///
/// Lists settled sessions (applied, discarded, nothing to apply), and containers and volumes of
/// sessions that no longer exist, asks, and removes them. An applied session stays for
/// --older-than, so that `undo` works that long; one that was undone stays until `rm`. Sessions
/// that are in use, wait for a decision or keep their volume stay, and so does everything that
/// another user or another state directory owns. A session whose apply or undo was cut off
/// stays too, and is an error. Captures of what was discarded or removed are removed after
/// --captures-older-than.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only list what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Remove without asking
    #[arg(long)]
    pub yes: bool,
    /// Keep applied sessions that were settled less than this ago, such as 12h or 30d; 0s for none
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = age)]
    pub older_than: Duration,
    /// Keep captures of discarded and removed sessions that were taken less than this ago
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = age)]
    pub captures_older_than: Duration,
}

/// Reads an age. Unlike a time limit, it may be nothing.
fn age(text: &str) -> Result<Duration, UnitError> {
    match text {
        "0s" => Ok(Duration::ZERO),
        text => text.parse().map(|Span(age)| age),
    }
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let ui = &app.ui;
    let retention = Retention {
        older_than: args.older_than,
        captures_older_than: args.captures_older_than,
        now: Moment::now(),
    };
    let mut candidates = Candidates::of(&store, &retention)?;
    let mut code = ExitCode::SUCCESS;
    for error in std::mem::take(&mut candidates.refused) {
        let failure = Failure::from(error);
        code = failure.exit_code();
        ui.failure(&failure);
    }
    let detected = app.engine()?;
    let plan = candidates.plan(&store, &*detected.engine)?;
    let is_empty = plan.is_empty();
    if args.dry_run {
        tell(&plan.names(), &args, app);
    } else {
        if !is_empty && !args.yes {
            ask(&plan.names(), app)?;
        }
        // Also of an empty plan: the mark of a container that was never made goes with it.
        let pruned = plan.carry_out(&store, &*detected.engine)?;
        for error in pruned.failed {
            let failure = Failure::from(error);
            code = failure.exit_code();
            ui.failure(&failure);
        }
        tell(&pruned.removed, &args, app);
    }
    if is_empty && ui.format() == OutputFormat::Text {
        ui.status("nothing to prune");
    }
    Ok(code)
}

/// Lists what would go, and asks.
///
/// # Errors
/// The answer is not yes.
fn ask(names: &Names, app: &App) -> Result<(), Failure> {
    list(names, "would remove", app);
    match app.ui.confirms("Remove them for good?", &app.cancel) {
        true => Ok(()),
        false => {
            let text = "nothing is removed without a yes";
            Err(Failure::message(FailureKind::Refused, text)
                .hinted("Answer at a terminal, or run `lazaret prune --yes`."))
        }
    }
}

/// Says what was removed, or would be.
fn tell(names: &Names, args: &Args, app: &App) {
    let ui = &app.ui;
    if ui.format() == OutputFormat::Json {
        let text = |names: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            names.map(str::to_owned).collect()
        };
        ui.json(&json!({
            "dry_run": args.dry_run,
            "captures": text(&mut names.captures.iter().map(SessionId::as_str)),
            "sessions": text(&mut names.sessions.iter().map(SessionId::as_str)),
            "containers": text(&mut names.containers.iter().map(ContainerName::as_str)),
            "volumes": text(&mut names.volumes.iter().map(VolumeName::as_str)),
        }));
        return;
    }
    let verb = match args.dry_run {
        true => "would remove",
        false => "removed",
    };
    list(names, verb, app);
}

/// Lists names for people, one a line.
fn list(names: &Names, verb: &str, app: &App) {
    if app.ui.format() == OutputFormat::Json {
        return;
    }
    let result = |what: &str, name: &str| app.ui.result(&format!("{verb} {what} {name}"));
    for name in &names.sessions {
        result("session", name.as_str());
    }
    for name in &names.captures {
        result("capture", name.as_str());
    }
    for name in &names.containers {
        result("container", name.as_str());
    }
    for name in &names.volumes {
        result("volume", name.as_str());
    }
}

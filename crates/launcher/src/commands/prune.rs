//! `lazaret prune`.

use lazaret_runtime::{ContainerName, SessionId};
use serde_json::json;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session::belongings::Belongings;
use crate::session::pool::{Spare, sweep};
use crate::session::record::{KeepVolume, Phase};
use crate::session::store::{LockedSession, Store};
use crate::session::tags::Tags;
use crate::session::views;
use crate::ui::OutputFormat;

/// Remove what no session needs any more
///
/// Removes settled sessions (applied, discarded, nothing to apply), and containers and
/// volumes of sessions that no longer exist. Sessions that are live, wait for a decision or
/// keep their volume are left alone, and so is everything that another user or another state directory owns.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let Args { dry_run } = args;
    let store = Store::open(&context.env.state_dir()?)?;
    let settled = settled(&store)?;
    let half_made = half_made(&store)?;
    let detected = context.engine()?;
    // Listed before the sessions are looked at again: a session that is created meanwhile
    // has its directory before it has anything in the engine.
    let belongings = Belongings::of_store(&*detected.engine, store.id())?;
    let tags = Tags::of(&store)?;
    let mut dead: Vec<ContainerName> = Vec::new();
    for dir in store.list()? {
        // A record that can't be read names no view that could be told from others.
        if let Ok(record) = dir.record() {
            dead.extend(views::dead(&dir, &record)?);
        }
    }
    let is_settled = |tag: &str| {
        let mut owners = settled.iter().map(|session| session.record().owner());
        owners.any(|owner| owner.tag.as_str() == tag)
    };
    let doomed = |tag: &str| !tags.knows(tag) || is_settled(tag);
    let mut spares = Belongings::default();
    for session in &half_made {
        let spare = belongings.clone().of_spare(&session.record().owner());
        spares.containers.extend(spare.containers);
        spares.volumes.extend(spare.volumes);
    }
    let mut orphans = belongings;
    (orphans.containers).retain(|(name, tag)| doomed(tag) || dead.contains(name));
    orphans.volumes.retain(|(_, tag)| doomed(tag));
    if !dry_run {
        for session in &half_made {
            drop(sweep(&*detected.engine, session)?);
        }
        orphans.remove(&*detected.engine)?;
    }
    drop(half_made);
    orphans.containers.extend(spares.containers);
    orphans.volumes.extend(spares.volumes);
    let names: Vec<SessionId> = (settled.iter())
        .map(|session| session.dir().id().clone())
        .collect();
    for session in settled {
        if !dry_run {
            session.remove()?;
        }
    }
    let sessions: Vec<&str> = names.iter().map(SessionId::as_str).collect();
    let containers: Vec<&str> = orphans
        .containers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let volumes: Vec<&str> = orphans
        .volumes
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let ui = &context.ui;
    if ui.format() == OutputFormat::Json {
        ui.json(&json!({
            "dry_run": dry_run,
            "sessions": sessions,
            "containers": containers,
            "volumes": volumes,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let verb = if dry_run { "would remove" } else { "removed" };
    for (what, names) in [
        ("session", &sessions),
        ("container", &containers),
        ("volume", &volumes),
    ] {
        for name in names {
            ui.result(&format!("{verb} {what} {name}"));
        }
    }
    if sessions.is_empty() && containers.is_empty() && volumes.is_empty() {
        ui.status("nothing to prune");
    }
    Ok(ExitCode::SUCCESS)
}

/// Locks the sessions whose next container was being made, or removed, by a launcher that
/// died.
fn half_made(store: &Store) -> Result<Vec<LockedSession>, Failure> {
    let dirs = store.list()?;
    let half_made = dirs.iter().filter(|dir| Spare::is_partial(dir));
    // One that can't be locked is somebody's, or gone.
    Ok(half_made
        .filter_map(|dir| store.lock(dir.id()).ok())
        .collect())
}

/// Locks the settled sessions that nobody works on, and that keep no volume: whoever wants
/// to go on with one waits until it is gone.
fn settled(store: &Store) -> Result<Vec<LockedSession>, Failure> {
    let mut found = Vec::new();
    for dir in store.list()? {
        match store.lock(dir.id()) {
            Ok(session)
                if session.record().phase == Phase::Settled
                    && session.record().keep == KeepVolume::UntilSettled =>
            {
                found.push(session);
            }
            // A record that can't be read may name work: it is never pruned.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(found)
}

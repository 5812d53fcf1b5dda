//! A session from its opening to its collected changes, step by step: see [`run`].
//!
//! | state | made by | what holds |
//! |---|---|---|
//! | [`open::Opened`] | `open` | the session is new, or locked and its volume looked for |
//! | [`create::Created`] | `create` | volumes exist, containers run and wait; the volume is empty or as it was |
//! | [`fill::Filled`] | `fill` | every control is proven (P12), then the workspace went in; the network is open |
//! | [`guard::Guarded`] | `guard` | protected paths are root's, credentials are in place |
//! | `guard::Guarded` | `serve` | the services are ready, in containers that are proven as well |
//! | `guard::Guarded` | `set_up` | every setup step that is due has run |
//! | [`launch::Running`] | `launch` | the record says so, then and only then the command starts |
//! | [`follow::Ended`] | `follow` | the record says how the command ended |
//! | [`stop::Stopped`] | `stop` | no process of the session is left: the volume changes no more |
//! | [`collect::Collected`] | `collect` | the changes lie in the quarantine, or broke a rule |
//!
//! Up to `Guarded`, dropping a state removes all that was made; a session that was there before
//! goes back to its phase. From `Running` on nothing goes without a decision but the gateway:
//! [`recover`] resumes a session by the phase in its record.

pub mod background;
pub mod bootstrap;
pub mod collect;
pub mod command_io;
pub mod create;
pub mod disk_limits;
pub mod disk_watch;
pub mod file_limit;
pub mod fill;
pub mod follow;
pub mod forecast;
pub mod guard;
pub mod latch;
pub mod launch;
pub mod leftovers;
pub mod merge_base;
pub mod open;
pub mod outcome;
pub mod protect;
pub mod protection_plan;
pub mod prune;
pub mod recover;
pub mod repair;
pub mod setup;
pub mod standby;
pub mod stop;
pub mod supervise;
pub mod update;
pub mod update_summary;
pub mod verify;

use std::sync::Arc;
use std::thread;

use crate::cancel::CancelLevel;
use crate::context::SessionContext;
use crate::lifecycle::background::Background;
use crate::lifecycle::command_io::UserSide;
use crate::lifecycle::follow::Ended;
use crate::lifecycle::latch::{CommandEnded, Latch};
use crate::lifecycle::merge_base::BaseTexts;
use crate::lifecycle::open::Opened;
use crate::lifecycle::outcome::{RunError, RunOutcome};
use crate::lifecycle::stop::Stopped;
use crate::spec::RunSpec;
use crate::store::Store;

/// Runs a session up to the gate.
///
/// # Errors
/// Before the command starts, everything that was made is removed again. Afterwards nothing
/// is: `recover` resumes what a failure left.
pub fn run(
    cx: &SessionContext<'_>,
    store: &Store,
    opened: Opened<'_>,
    spec: &RunSpec<'_>,
    user: UserSide<'_>,
) -> Result<RunOutcome, RunError> {
    let command = Latch::default();
    let io = user.io;
    let tell = |change| io.service(change);
    let outcome = thread::scope(|beside| {
        let created = opened.create(cx, store, spec)?;
        let filled = created.fill(cx, spec)?;
        let guarded = filled.guard(cx, spec)?;
        let ready = (guarded.serve(cx, spec)?).set_up(cx, spec, io.disk_limits())?;
        let mut running = ready.launch(cx, spec)?;

        // However the command ends, what is done beside it stops waiting for that.
        let _lost = command.set_on_drop(CommandEnded::Lost);
        let pauses = Arc::clone(&running.pauses);
        let services = running.supervise_services(beside, cx, &tell);
        let background = Background::start(beside, cx, store, spec, &mut running, io, &command);
        let Ended {
            session,
            update,
            spawner,
        } = running.follow(cx, spec, user, services.services(), &command)?;
        let run_volumes = services.stop();
        let exporter = background.sync(cx);
        let id = || spec.id.clone();
        let stopped = Stopped::stop(cx, session, spec.porter.clone(), Some(&pauses))
            .map_err(|source| RunError::NotStopped { id: id(), source })?;
        drop(spawner);
        let exporter = exporter.ready();
        if cx.cancel.level() == Some(CancelLevel::Insisted) {
            return Err(RunError::Insisted { id: id() });
        }
        let texts = BaseTexts::Sent(spec.source.dir);
        let collected = (stopped.collect(cx, exporter, texts))
            .map_err(|source| RunError::NotCollected { id: id(), source })?;
        run_volumes.remove();
        Ok(RunOutcome { collected, update })
    });
    if let (Err(_), Some(cache_hit)) = (&outcome, &cx.cache_hit) {
        // The next start probes the engine.
        cache_hit.forget();
    }
    outcome
}

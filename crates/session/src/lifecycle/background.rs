//! What is done beside a command: its exporter, the pool, the texts for merging, what the
//! engine says of itself, and files that are not yet on the disk for good.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use lazaret_tree::PathError;

use crate::context::SessionContext;
use crate::engine::containers::ContainerPlan;
use crate::event::Event;
use crate::lifecycle::command_io::CommandIo;
use crate::lifecycle::disk_watch::DiskWatch;
use crate::lifecycle::latch::{BACKGROUND_DELAY, CommandEnded, Latch};
use crate::lifecycle::launch::Running;
use crate::lifecycle::merge_base;
use crate::lifecycle::standby::StandbyExporter;
use crate::pool::{self, PoolSizes, PoolStore};
use crate::spec::RunSpec;
use crate::store::Store;

/// Tasks that run beside a command, and whose results are wanted.
#[derive(Debug)]
pub(super) struct Background<'scope> {
    exporter: ScopedJoinHandle<'scope, Option<StandbyExporter>>,
    syncing: ScopedJoinHandle<'scope, Result<(), PathError>>,
}

impl<'scope> Background<'scope> {
    /// Starts all of them; each ends soon after the command has.
    pub(super) fn start(
        scope: &'scope Scope<'scope, '_>,
        cx: &'scope SessionContext<'scope>,
        store: &'scope Store,
        spec: &'scope RunSpec<'scope>,
        running: &mut Running,
        io: &'scope dyn CommandIo,
        command: &'scope Latch<CommandEnded>,
    ) -> Self {
        let (dir, record) = (running.session.dir(), running.session.record());
        let exporter = {
            let (dir, record) = (dir.clone(), record.clone());
            let counted = spec.counted_volumes(&record.owner());
            let pauses = Arc::clone(&running.pauses);
            scope.spawn(move || {
                let watch = DiskWatch {
                    cx,
                    pauses: &pauses,
                    dir: &dir,
                    record: &record,
                    counted: &counted,
                    io,
                    over: command,
                };
                StandbyExporter::beside(watch, &spec.porter)
            })
        };
        scope.spawn(move || fill_pool(cx, store, &spec.container_plan(), command));
        if let Some(cache_hit) = &cx.cache_hit {
            scope.spawn(move || {
                // Either way: the next start goes by it.
                let _ended = command.wait_for(BACKGROUND_DELAY);
                cache_hit.ask_again(&*cx.engine);
            });
        }
        let dir = dir.clone();
        scope.spawn(move || {
            merge_base::capture(cx.events, &dir, spec.source.dir, command);
        });
        let deferred = std::mem::take(&mut running.deferred);
        Self {
            exporter,
            syncing: scope.spawn(|| deferred.sync()),
        }
    }

    /// Waits until what was written before the command outlasts a power cut.
    pub(super) fn sync(self, cx: &SessionContext<'_>) -> PendingExporter<'scope> {
        if let Ok(Err(error)) = self.syncing.join() {
            // What the collection writes is synced by itself.
            cx.events.event(Event::NotSynced(&error));
        }
        PendingExporter(self.exporter)
    }
}

/// An exporter that may be on its way.
#[derive(Debug)]
pub(super) struct PendingExporter<'scope>(ScopedJoinHandle<'scope, Option<StandbyExporter>>);

impl PendingExporter<'_> {
    /// Waits for it; `None` if there is none.
    pub(super) fn ready(self) -> Option<StandbyExporter> {
        self.0.join().ok().flatten()
    }
}

/// Makes the places of the pool that are missing, once the command had the machine to itself
/// for a moment.
fn fill_pool(
    cx: &SessionContext<'_>,
    store: &Store,
    plan: &ContainerPlan,
    command: &Latch<CommandEnded>,
) {
    let count = PoolSizes::of(store).get(&plan.profile);
    if count == 0 {
        return;
    }
    // Either way: what is missing is missing, whether the command still runs or not.
    let _ended = command.wait_for(BACKGROUND_DELAY);
    if let Err(error) = pool::fill(cx, &PoolStore::of(store), plan, count) {
        cx.events.event(Event::PoolNotFilled(&error));
    }
}

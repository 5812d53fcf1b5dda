//! What is done beside a command: its exporter, the pool, the texts for merging, what the
//! engine says of itself, and files that are not yet on the disk for good.

use std::thread::{Scope, ScopedJoinHandle};

use lazaret_image_builder::Pinned;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::PathError;

use crate::context::SessionContext;
use crate::engine::memory::Recalled;
use crate::event::Event;
use crate::lifecycle::latch::{BACKGROUND_DELAY, CommandEnded, Latch};
use crate::lifecycle::merge_base;
use crate::lifecycle::standby::Standby;
use crate::pool::{self, Filling, PoolSizes, PoolStore};
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::Record;
use crate::store::{SessionDir, Store};

/// What is done beside a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tasks<'a> {
    pub(crate) site: &'a SessionContext<'a>,
    pub(crate) store: &'a Store,
    pub(crate) dir: &'a SessionDir,
    pub(crate) record: &'a Record,
    /// The image of the exporter.
    pub(crate) exporter: &'a Pinned,
    pub(crate) workspace: &'a WorkspaceDir,
    /// What places of the pool are made from.
    pub(crate) filling: &'a Filling,
    /// What of the engine was not asked again at the start.
    pub(crate) recalled: Option<&'a Recalled<'a>>,
}

/// Tasks that run, and whose results are wanted.
#[derive(Debug)]
pub(crate) struct Background<'scope> {
    pub(crate) standby: ScopedJoinHandle<'scope, Option<Standby>>,
    pub(crate) syncing: ScopedJoinHandle<'scope, Result<(), PathError>>,
}

impl<'a> Tasks<'a> {
    /// Starts all of them; each ends soon after the command has.
    pub(crate) fn start<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        over: &'env Latch<CommandEnded>,
        unsynced: DeferredSync,
    ) -> Background<'scope>
    where
        'a: 'scope,
    {
        let standby = scope
            .spawn(move || Standby::beside(self.site, self.dir, self.record, self.exporter, over));
        scope.spawn(move || self.top_up(over));
        if let Some(recalled) = self.recalled {
            scope.spawn(move || {
                // Either way: the next start goes by it.
                let _ended = over.wait_for(BACKGROUND_DELAY);
                recalled.ask_again(&*self.site.engine);
            });
        }
        scope.spawn(move || {
            merge_base::keep_beside(self.site.events, self.dir, self.workspace, over)
        });
        Background {
            standby,
            syncing: scope.spawn(|| unsynced.sync()),
        }
    }

    /// Makes the places of the pool that are missing, once the command had the machine to
    /// itself for a moment.
    fn top_up(self, over: &Latch<CommandEnded>) {
        let count = PoolSizes::of(self.store).get(&self.filling.profile);
        if count == 0 {
            return;
        }
        // Either way: what is missing is missing, whether the command still runs or not.
        let _ended = over.wait_for(BACKGROUND_DELAY);
        if let Err(error) = pool::fill(self.site, &PoolStore::of(self.store), self.filling, count) {
            self.site.events.event(Event::PoolNotFilled(&error));
        }
    }
}

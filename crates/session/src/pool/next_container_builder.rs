//! `NextContainerBuilder`: makes a kept session's next container, beside the gate.

use std::fs::File;

use lazaret_runtime::ContainerLease;

use crate::context::SessionContext;
use crate::engine::containers::{ContainerPlan, ContainerSpecs};
use crate::engine::mount::MountPlan;
use crate::engine::owner::ResourceOwner;
use crate::engine::resources::{Resources, VolumePresence};
use crate::pool::next_container::{NextContainer, drop_next_container, now};
use crate::pool::{Fingerprint, PoolError, PoolSizes};
use crate::store::record::KeepVolume;
use crate::store::{LockedSession, SessionDir, Store, StoreError};

/// A session whose next container is to be made. It shares the session's lock, so no other
/// process has the session before it is done.
#[derive(Debug)]
#[must_use = "nothing is made before `make`"]
pub struct NextContainerBuilder<'a> {
    store: &'a Store,
    dir: SessionDir,
    owner: ResourceOwner,
    plan: ContainerPlan,
    _lock: File,
}

impl<'a> NextContainerBuilder<'a> {
    /// Looks whether a session is to have one: it keeps its volume, its profile's pool is to
    /// hold any, and its engine lets two containers have one volume. A container that waits would
    /// hold on to a shared volume that is replaced, so with one of those there is none.
    ///
    /// # Errors
    /// The disk's.
    pub fn of(
        cx: &SessionContext<'_>,
        store: &'a Store,
        session: &LockedSession,
        plan: &ContainerPlan,
    ) -> Result<Option<Self>, StoreError> {
        let record = session.record();
        let is_wanted = record.keep == KeepVolume::Always
            && cx.info.capabilities.shares_volumes
            && !plan.mounts.iter().any(MountPlan::is_shared)
            && PoolSizes::of(store).get(&plan.profile) > 0;
        if !is_wanted {
            return Ok(None);
        }
        Ok(Some(Self {
            store,
            dir: session.dir().clone(),
            owner: record.owner(),
            plan: plan.clone(),
            _lock: session.share_lock()?,
        }))
    }

    /// Makes it, once the containers of the session's last command are gone, and then
    /// removes those of the profile's sessions that were used longest ago: there are never
    /// more than places in the pool.
    ///
    /// # Errors
    /// The engine's, the disk's, or an interruption: then there is none, and the next run
    /// makes its own.
    pub fn make(self, cx: &SessionContext<'_>) -> Result<(), PoolError> {
        cx.removals.finish();
        let next_container = NextContainer {
            profile: self.plan.profile.clone(),
            engine: cx.info.endpoint.clone(),
            fit: Fingerprint::of(cx, &self.plan),
            has_gateway: self.plan.policy.is_some(),
            created: now(),
        };
        let specs = ContainerSpecs::of(cx, &self.owner, &self.plan)?;
        next_container.begin(&self.dir)?;
        let mut resources = Resources::new(self.owner.clone(), VolumePresence::Present);
        let made = resources
            .make(cx, &specs)
            .map_err(PoolError::from)
            .and_then(|()| Ok(cx.cancel.check()?))
            .and_then(|()| match self.target() {
                // The pool was drained meanwhile.
                0 => Ok(false),
                _ => Ok(NextContainer::end(&self.dir).map(|()| true)?),
            });
        if let Ok(true) = made {
            drop(resources.keep().map(ContainerLease::keep));
            return self.trim(cx);
        }
        // What could not be removed is still named by the file, for `recover`.
        if resources.remove_all() {
            NextContainer::forget(&self.dir)?;
        }
        made.map(drop)
    }

    fn target(&self) -> u32 {
        PoolSizes::of(self.store).get(&self.plan.profile)
    }

    /// Removes the next containers of others that are too many.
    fn trim(&self, cx: &SessionContext<'_>) -> Result<(), PoolError> {
        let mut others = Vec::new();
        for dir in self.store.list()? {
            if let Some(next_container) = NextContainer::of(&dir)
                && next_container.profile == self.plan.profile
                && next_container.engine == cx.info.endpoint
                && dir.id() != self.dir.id()
            {
                others.push((next_container.created, dir));
            }
        }
        others.sort_by_key(|(created, _)| std::cmp::Reverse(*created));
        let most = self.target().max(1) as usize - 1;
        for (_, dir) in others.into_iter().skip(most) {
            // If the session is in use, its launcher takes the next container just now.
            if let Ok(session) = self.store.lock(dir.id()) {
                drop_next_container(&*cx.engine, &session)?;
            }
        }
        Ok(())
    }
}

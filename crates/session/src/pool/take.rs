//! Makes a session out of a slot.

use std::time::SystemTime;

use lazaret_runtime::{EngineError, Label};

use crate::context::SessionContext;
use crate::engine::containers::{ContainerPlan, HomeStorage};
use crate::event::Event;
use crate::live::pause::is_up;
use crate::pool::fill::remove;
use crate::pool::{Fingerprint, LockedSlot, PoolError, PoolStore};
use crate::store::record::{NewRecord, Record};
use crate::store::{LockedSession, Store};

/// Takes a slot that fits, if there is one, and makes a session of it. A slot whose
/// containers do not run any more, as after the machine was restarted, is removed instead.
///
/// # Errors
/// As [`Store::create`], or the disk's. What goes wrong with the engine only means that nothing
/// was taken.
pub(crate) fn take(
    cx: &SessionContext<'_>,
    store: &Store,
    new: &NewRecord,
    plan: &ContainerPlan,
) -> Result<Option<LockedSession>, PoolError> {
    // A slot has no volume for a home.
    if plan.home == HomeStorage::Volume {
        return Ok(None);
    }
    let pool = PoolStore::of(store);
    let fit = Fingerprint::of(cx, plan);
    for (tag, slot) in pool.ready()? {
        if slot.fit != fit {
            continue;
        }
        let Some(mut locked) = pool.lock(&tag)? else {
            continue;
        };
        match runs(cx, &locked, plan) {
            Ok(true) => {}
            Ok(false) => {
                if let Err(error) = remove(cx, locked) {
                    cx.events.event(Event::PoolSlotStays(&error));
                }
                continue;
            }
            Err(_) => continue,
        }
        locked.take()?;
        let mut record = Record::new(new.clone(), SystemTime::now());
        record.pool_slot = Some(tag);
        match store.create(record) {
            Ok(session) => {
                locked.forget()?;
                return Ok(Some(session));
            }
            Err(error) => {
                locked.ready()?;
                return Err(error.into());
            }
        }
    }
    Ok(None)
}

/// Whether the containers of a slot run, and are ours: a name alone says nothing (FLT-13).
fn runs(
    cx: &SessionContext<'_>,
    locked: &LockedSlot,
    plan: &ContainerPlan,
) -> Result<bool, EngineError> {
    let (engine, owner) = (&*cx.engine, &locked.owner);
    let Some(agent) = engine.container(&owner.agent())? else {
        return Ok(false);
    };
    let is_ours = agent.labels.get(Label::Store.key()) == Some(&owner.store);
    let mut runs = is_ours && is_up(engine, &owner.agent())?;
    if plan.policy.is_some() {
        runs &= is_up(engine, &owner.gateway())?;
    }
    Ok(runs)
}

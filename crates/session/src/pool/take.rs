//! Makes a session out of a place.

use std::time::SystemTime;

use lazaret_runtime::{EngineError, Label};

use crate::context::SessionContext;
use crate::engine::containers::ContainerPlan;
use crate::event::Event;
use crate::live::pause::is_up;
use crate::pool::fill::remove;
use crate::pool::{Fingerprint, Held, PoolError, PoolStore};
use crate::store::record::{NewRecord, Record};
use crate::store::{LockedSession, Store};

/// Takes a place that fits, if there is one, and makes a session of it. A place whose
/// containers do not run any more, as after the machine was restarted, is removed instead.
///
/// # Errors
/// As [`Store::create`], or the disk's. What goes wrong with the engine only means that nothing
/// was taken.
pub(crate) fn take(
    site: &SessionContext<'_>,
    store: &Store,
    new: &NewRecord,
    plan: &ContainerPlan,
) -> Result<Option<LockedSession>, PoolError> {
    let shelf = PoolStore::of(store);
    let fit = Fingerprint::of(site, plan);
    for (tag, place) in shelf.ready()? {
        if place.fit != fit {
            continue;
        }
        let Some(mut held) = shelf.hold(&tag)? else {
            continue;
        };
        match runs(site, &held, plan) {
            Ok(true) => {}
            Ok(false) => {
                if let Err(error) = remove(site, held) {
                    site.events.event(Event::PoolSlotStays(&error));
                }
                continue;
            }
            Err(_) => continue,
        }
        held.take()?;
        let mut record = Record::new(new.clone(), SystemTime::now());
        record.berth = Some(tag);
        match store.create(record) {
            Ok(session) => {
                held.forget()?;
                return Ok(Some(session));
            }
            Err(error) => {
                held.ready()?;
                return Err(error.into());
            }
        }
    }
    Ok(None)
}

/// Whether the containers of a place run, and are ours: a name alone says nothing (FLT-13).
fn runs(site: &SessionContext<'_>, held: &Held, plan: &ContainerPlan) -> Result<bool, EngineError> {
    let (engine, owner) = (&*site.engine, &held.owner);
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

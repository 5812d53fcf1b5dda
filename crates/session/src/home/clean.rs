//! Removes lent files from a home once its command has ended: a home that is kept holds no login.

use lazaret_image_builder::Pinned;
use lazaret_protocol::{HomeOrder, HomeOrders, HomeRequest, Verb};
use lazaret_runtime::{ContainerLease, HardenedSpec, Stdin};

use super::exchange::{Exchange, HomeError};
use super::state::HomeStore;
use crate::context::{SessionContext, WORKSPACE};
use crate::engine::containers::home_cleaner_spec;
use crate::engine::owner::ResourceOwner;
use crate::porter::porter;
use crate::store::SessionDir;

/// Removes what was lent to the session's last command, in a container that has the home and
/// nothing else. No process of the command is left.
///
/// # Errors
/// The engine's, the porter's or the disk's: then the next start removes it, before anything runs.
pub(crate) fn remove_lent(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    dir: &SessionDir,
    image: &Pinned,
) -> Result<(), HomeError> {
    let store = HomeStore::of(dir);
    let mut state = store.read()?;
    if state.lent.is_empty() {
        return Ok(());
    }
    let spec = home_cleaner_spec(owner, &cx.info, image)?;
    let lent = state.lent_paths().into_iter();
    let orders = HomeOrders(lent.map(|path| (path, HomeOrder::Remove)).collect());
    carry_out(cx, &spec, &orders)?;
    state.lent.clear();
    Ok(store.write(&state)?)
}

fn carry_out(
    cx: &SessionContext<'_>,
    spec: &HardenedSpec,
    orders: &HomeOrders,
) -> Result<(), HomeError> {
    let container = &spec.spec().name;
    // One that is there was left by a launcher that died.
    cx.engine.remove_container(container)?;
    let lease = ContainerLease::create(&cx.engine, spec)?;
    let _killed = cx.kill_on_cancel(container);
    cx.engine.start_container(container)?;
    let home = WORKSPACE.to_owned();
    let exec = porter(&Verb::Home { home }, Stdin::Piped);
    Exchange { cx, container }.run(&exec, |said, answers| {
        let nothing = HomeRequest(Vec::new());
        nothing.write_to(said).map_err(Exchange::lost)?;
        Exchange::entries(answers)?;
        orders.write_to(said).map_err(Exchange::lost)
    })?;
    Ok(lease.release()?)
}

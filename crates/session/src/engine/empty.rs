//! Empties a volume that an engine could not remove.
//!
//! Engines remove a volume with one descriptor for each level of directories. An agent could nest
//! so many that no engine removes the volume, and that dockerd has no descriptor left for anything
//! else; Podman forgets such a volume and leaves its files on the disk (CON-28). So a porter
//! empties it first, in a container that has this volume and nothing else.

use lazaret_image_builder::{IMAGE_LABEL, Pinned, inspect};
use lazaret_protocol::Verb;
use lazaret_runtime::{Engine, EngineError, EngineInfo, Stdin, Unenforceable, VolumeName};

use crate::context::WORKSPACE;
use crate::engine::containers::guard_spec;
use crate::engine::owner::ResourceOwner;
use crate::porter::conversation::{PorterError, finish, porter_error};
use crate::porter::porter;

/// Why a volume could not be emptied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmptyError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// The engine has nothing that could.
    #[error("cannot empty the volume: the engine has no porter image")]
    NoPorter,
}

/// The image that holds the porter and nothing else.
const PORTER: &str = "porter";

/// Removes everything in a volume of `owner`. No other process may use it.
///
/// # Errors
/// The engine's or the porter's, or that the engine has no porter image; what was removed until
/// then is gone.
pub(crate) fn empty(
    engine: &dyn Engine,
    owner: &ResourceOwner,
    volume: &VolumeName,
) -> Result<(), EmptyError> {
    let info = engine.probe()?;
    // There a volume is an image of a disk, which is removed as one file.
    // Or a porter could not remove more than the storage does.
    if !info.capabilities.shares_volumes || !info.capabilities.has_root {
        return Ok(());
    }
    let mut outcome = Err(EmptyError::NoPorter);
    for image in engine.images(IMAGE_LABEL)? {
        let is_porter = image.labels.get(IMAGE_LABEL).map(String::as_str) == Some(PORTER);
        let Ok(image) = inspect(&image) else { continue };
        if !is_porter {
            continue;
        }
        // An image of an earlier lazaret does not know how.
        outcome = empty_by(engine, &info, owner, volume, &image);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn empty_by(
    engine: &dyn Engine,
    info: &EngineInfo,
    owner: &ResourceOwner,
    volume: &VolumeName,
    image: &Pinned,
) -> Result<(), EmptyError> {
    let spec = guard_spec(owner, owner.guard(), volume.clone(), info, image)?;
    let name = &spec.spec().name;
    // A launcher that was killed may have left one behind.
    engine.remove_container(name)?;
    engine.create_container(&spec)?;
    let root = WORKSPACE.to_owned();
    let emptied = engine
        .start_container(name)
        .and_then(|()| engine.exec(name, &porter(&Verb::Empty { root }, Stdin::Closed)))
        .and_then(finish);
    engine.remove_container(name)?;
    match emptied? {
        (0, _, _) => Ok(()),
        (code, _, stderr_tail) => Err(porter_error("empty", code, &stderr_tail).into()),
    }
}

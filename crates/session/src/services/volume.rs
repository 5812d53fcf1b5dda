//! The volume of a service: made once, given to the agent's user, kept until the session is
//! removed.

use std::fs;

use lazaret_image_builder::Pinned;
use lazaret_protocol::Verb;
use lazaret_runtime::{
    ContainerLease, EngineError, Label, ServiceName, Stdin, VolumeLease, VolumeName,
};
use lazaret_tree::AtPath as _;

use super::container::guard;
use super::error::ServiceError;
use crate::context::{SessionContext, WORKSPACE};
use crate::engine::owner::ResourceOwner;
use crate::porter::conversation::{finish, porter_error};
use crate::porter::porter;
use crate::store::SessionDir;
use crate::store::file::{private_dir, remove_file};

/// Makes the volume of a service, if there is none. Returns it if it was made now.
///
/// On Podman a new volume is root's; so it is given to the agent's user, in a container that may
/// change owners and do nothing else. A mark in the session's directory says that this is done.
pub(super) fn provide(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    dir: &SessionDir,
    name: &ServiceName,
    image: &Pinned,
) -> Result<Option<VolumeLease>, ServiceError> {
    let volume = owner.service_volume(name);
    let home = dir.file("services").join(name.as_str());
    let mark = home.join("volume");
    let made = VolumeLease::create(&cx.engine, &volume, &owner.labels("service"));
    let lease = match made {
        Ok(lease) => {
            remove_file(&mark)?;
            Some(lease)
        }
        Err(EngineError::AlreadyExists { .. }) if is_owned(cx, owner, &volume)? => None,
        Err(EngineError::AlreadyExists { .. }) => {
            return Err(ServiceError::ForeignVolume { volume });
        }
        Err(error) => return Err(error.into()),
    };
    if !mark.exists() {
        give(cx, owner, name, image)?;
        private_dir(&home)?;
        fs::write(&mark, b"").at(&mark)?;
    }
    Ok(lease)
}

/// Whether a volume is this owner's, by its labels.
fn is_owned(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    name: &VolumeName,
) -> Result<bool, EngineError> {
    let volumes = cx.engine.volumes(Label::Store.key())?;
    let has = |labels: &std::collections::BTreeMap<String, String>, label: Label, value: &str| {
        labels.get(label.key()).is_some_and(|found| found == value)
    };
    Ok(volumes.iter().any(|volume| {
        volume.name == *name
            && has(&volume.labels, Label::Store, &owner.store)
            && has(&volume.labels, Label::Session, owner.tag.as_str())
    }))
}

/// Gives the volume to the agent's user.
fn give(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    name: &ServiceName,
    image: &Pinned,
) -> Result<(), ServiceError> {
    let spec = guard(cx, owner, name, image)?;
    let container = &spec.spec().name;
    // One that is there was left by a launcher that died.
    cx.engine.remove_container(container)?;
    let lease = ContainerLease::create(&cx.engine, &spec)?;
    let _killed = cx.kill_on_cancel(container);
    cx.engine.start_container(container)?;
    let root = WORKSPACE.to_owned();
    let verb = porter(&Verb::Release { root }, Stdin::Closed);
    let (code, _, stderr_tail) = finish(cx.engine.exec(container, &verb)?)?;
    lease.release()?;
    match code {
        0 => Ok(()),
        code => Err(porter_error("release", code, &stderr_tail).into()),
    }
}

//! `LastingVolume`: a volume that is made once, given to the agent's user, and kept until its
//! session is removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lazaret_image_builder::Pinned;
use lazaret_protocol::Verb;
use lazaret_runtime::{
    ContainerLease, ContainerName, EngineError, HardenedSpec, Label, Stdin, Unenforceable,
    VolumeLease, VolumeName,
};
use lazaret_tree::{AtPath as _, PathError};

use crate::context::{SessionContext, WORKSPACE};
use crate::engine::containers::guard_spec;
use crate::engine::owner::ResourceOwner;
use crate::porter::conversation::{PorterError, finish, porter_error};
use crate::porter::porter;
use crate::store::file::{private_dir, remove_file};

/// Why a volume is not there.
#[derive(Debug, thiserror::Error)]
pub enum LastingVolumeError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Another program has a volume of its name.
    #[error(
        "volume {volume} is not one of lazaret's, and has the name of one that a session needs"
    )]
    Foreign {
        /// The volume.
        volume: VolumeName,
    },
}

/// A volume that stays until its session is removed.
#[derive(Debug)]
pub(crate) struct LastingVolume<'a> {
    /// Whose it is.
    pub(crate) owner: &'a ResourceOwner,
    /// Its name.
    pub(crate) name: VolumeName,
    /// The container that gives it to the agent's user.
    pub(crate) guard: ContainerName,
    /// What its label says.
    pub(crate) role: &'static str,
}

impl LastingVolume<'_> {
    /// Makes the volume, if there is none, and gives it to the agent's user. Returns it if it was
    /// made now. A mark in `dir`, one of the session's directories, says that this is done.
    ///
    /// # Errors
    /// The engine's, the porter's or the disk's; or another program has a volume of that name.
    pub(crate) fn provide(
        &self,
        cx: &SessionContext<'_>,
        image: &Pinned,
        dir: &Path,
    ) -> Result<Option<VolumeLease>, LastingVolumeError> {
        let mark = given_mark(dir);
        let lease = self.create(cx)?;
        if lease.is_some() {
            remove_file(&mark)?;
        }
        if !mark.exists() {
            self.give(cx, image)?;
            private_dir(dir)?;
            fs::write(&mark, b"").at(&mark)?;
        }
        Ok(lease)
    }

    /// Makes the volume; `None` if it is there, and the owner's.
    ///
    /// # Errors
    /// The engine's, or that a volume of that name is another program's (FLT-13).
    pub(crate) fn create(
        &self,
        cx: &SessionContext<'_>,
    ) -> Result<Option<VolumeLease>, LastingVolumeError> {
        let labels = self.owner.labels(self.role);
        match VolumeLease::create(&cx.engine, &self.name, &labels) {
            Ok(lease) => Ok(Some(lease)),
            Err(EngineError::AlreadyExists { .. }) if self.is_owned(cx)? => Ok(None),
            Err(EngineError::AlreadyExists { .. }) => Err(LastingVolumeError::Foreign {
                volume: self.name.clone(),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the volume, if it is there and the owner's.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn remove(&self, cx: &SessionContext<'_>) -> Result<(), EngineError> {
        match self.is_owned(cx)? {
            true => VolumeLease::adopt(&cx.engine, &self.name).release(),
            false => Ok(()),
        }
    }

    /// Whether the volume is this owner's, by its labels.
    fn is_owned(&self, cx: &SessionContext<'_>) -> Result<bool, EngineError> {
        let volumes = cx.engine.volumes(Label::Store.key())?;
        let has = |labels: &BTreeMap<String, String>, label: Label, value: &str| {
            labels.get(label.key()).is_some_and(|found| found == value)
        };
        Ok(volumes.iter().any(|volume| {
            volume.name == self.name
                && has(&volume.labels, Label::Store, &self.owner.store)
                && has(&volume.labels, Label::Session, self.owner.tag.as_str())
        }))
    }

    /// Gives the volume to the agent's user, in a container that may change owners and do nothing
    /// else: on Podman a new volume is root's.
    ///
    /// # Errors
    /// The engine's or the porter's.
    pub(crate) fn give(
        &self,
        cx: &SessionContext<'_>,
        image: &Pinned,
    ) -> Result<(), LastingVolumeError> {
        let (name, volume) = (self.guard.clone(), self.name.clone());
        let spec = guard_spec(self.owner, name, volume, &cx.info, image)?;
        let root = WORKSPACE.to_owned();
        run_once(cx, &spec, &Verb::Release { root })
    }
}

/// Runs a verb of the porter in a container that is made for it.
///
/// # Errors
/// The engine's or the porter's.
pub(crate) fn run_once(
    cx: &SessionContext<'_>,
    spec: &HardenedSpec,
    verb: &Verb,
) -> Result<(), LastingVolumeError> {
    let container = &spec.spec().name;
    // One that is there was left by a launcher that died.
    cx.engine.remove_container(container)?;
    let lease = ContainerLease::create(&cx.engine, spec)?;
    let _killed = cx.kill_on_cancel(container);
    cx.engine.start_container(container)?;
    let exec = cx.engine.exec(container, &porter(verb, Stdin::Closed))?;
    let (code, _, stderr_tail) = finish(exec)?;
    lease.release()?;
    match code {
        0 => Ok(()),
        code => Err(porter_error(verb.name(), code, &stderr_tail).into()),
    }
}

/// Returns the file that says that a volume was given to the agent's user.
fn given_mark(dir: &Path) -> PathBuf {
    dir.join("volume")
}

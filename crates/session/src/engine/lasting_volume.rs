//! `LastingVolume`: a volume that is made once, given to the agent's user, and kept until its
//! session is removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lazaret_image_builder::Pinned;
use lazaret_protocol::Verb;
use lazaret_runtime::{
    ContainerLease, ContainerName, EngineError, Label, Stdin, Unenforceable, VolumeLease,
    VolumeName,
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
    /// The directory of the session's in which a mark says that it was given.
    pub(crate) dir: PathBuf,
}

impl LastingVolume<'_> {
    /// Makes the volume, if there is none. Returns it if it was made now.
    ///
    /// On Podman a new volume is root's; so it is given to the agent's user, in a container that
    /// may change owners and do nothing else. A mark in the session's directory says that this is
    /// done.
    ///
    /// # Errors
    /// The engine's, the porter's or the disk's; or another program has a volume of that name.
    pub(crate) fn provide(
        &self,
        cx: &SessionContext<'_>,
        image: &Pinned,
    ) -> Result<Option<VolumeLease>, LastingVolumeError> {
        let mark = given_mark(&self.dir);
        let made = VolumeLease::create(&cx.engine, &self.name, &self.owner.labels(self.role));
        let lease = match made {
            Ok(lease) => {
                remove_file(&mark)?;
                Some(lease)
            }
            Err(EngineError::AlreadyExists { .. }) if self.is_owned(cx)? => None,
            Err(EngineError::AlreadyExists { .. }) => {
                let volume = self.name.clone();
                return Err(LastingVolumeError::Foreign { volume });
            }
            Err(error) => return Err(error.into()),
        };
        if !mark.exists() {
            self.give(cx, image)?;
            private_dir(&self.dir)?;
            fs::write(&mark, b"").at(&mark)?;
        }
        Ok(lease)
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

    /// Gives the volume to the agent's user.
    fn give(&self, cx: &SessionContext<'_>, image: &Pinned) -> Result<(), LastingVolumeError> {
        let (name, volume) = (self.guard.clone(), self.name.clone());
        let spec = guard_spec(self.owner, name, volume, &cx.info, image)?;
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
}

/// Returns the file that says that a volume was given to the agent's user.
fn given_mark(dir: &Path) -> PathBuf {
    dir.join("volume")
}

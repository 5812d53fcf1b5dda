//! `Engine`: what lazaret asks of a container engine.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::time::Duration;

use crate::{
    ContainerName, EngineError, EngineInfo, ExecSpec, HardenedSpec, ImageRef, InitChannel, Process,
    ServerVersion, VolumeName,
};

/// A stored image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageInfo {
    /// The engine's id, `sha256:…`; empty where the engine can't tell which image a tag is on, nor
    /// whether it is there.
    pub id: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Bytes.
    pub size: u64,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The volumes that it declares. One that we did not ask for is refused (CON-25).
    pub volumes: Vec<String>,
    /// Its entrypoint.
    pub entrypoint: Vec<String>,
    /// The processor architecture.
    pub architecture: String,
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeInfo {
    /// Its name.
    pub name: VolumeName,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// Where a container is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerState {
    /// Created, never started.
    Created,
    /// Running.
    Running,
    /// Paused.
    Paused,
    /// Ended, with the exit code of its first process.
    Exited {
        /// The exit code.
        code: i32,
        /// Whether the engine saw the kernel's OOM killer in it.
        oom_killed: bool,
    },
    /// Something the engine is in the middle of, such as removing.
    Transient,
}

/// A container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerInfo {
    /// Its name.
    pub name: ContainerName,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its state.
    pub state: ContainerState,
}

/// A container engine. Every call blocks; all of them may be made from several threads.
///
/// There are no copy verbs: files move through the porter's stdin and stdout.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Asks what the engine is and can enforce. One that gives no answer at all is
    /// [`EngineError::Timeout`] after five seconds; one that is merely slow has longer.
    fn probe(&self) -> Result<EngineInfo, EngineError>;

    /// Asks only what the head of any answer says; `None` for an engine whose answers have none.
    fn server_version(&self) -> Result<Option<ServerVersion>, EngineError> {
        Ok(None)
    }

    /// Loads a `docker save` archive and returns the id of the image in it.
    fn load_image(&self, archive: &mut (dyn Read + Send)) -> Result<String, EngineError>;
    /// Looks an image up; `None` when it is not there. Never pulls.
    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError>;
    /// Lists the images that carry a label.
    fn images(&self, label_key: &str) -> Result<Vec<ImageInfo>, EngineError>;
    /// Fetches an image from its registry, with whatever credentials the engine has.
    /// The one verb that makes an engine reach out; given a digest, the engine
    /// checks it.
    fn pull_image(&self, _image: &ImageRef) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "pull image",
            reason: "this engine can't be asked to",
        })
    }
    /// Writes an image as a `docker save` archive.
    fn save_image(
        &self,
        _image: &ImageRef,
        _archive: &mut (dyn Write + Send),
    ) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "save image",
            reason: "this engine can't be asked to",
        })
    }
    /// Gives an image another tag, `name:tag`, taking it from whatever had it.
    fn tag_image(&self, _image: &ImageRef, _tag: &ImageRef) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "tag image",
            reason: "this engine can't be asked to",
        })
    }
    /// Takes a tag off an image, and removes the image with its last one.
    fn remove_image(&self, image: &ImageRef) -> Result<(), EngineError>;

    /// Creates a volume. An existing one of that name is [`EngineError::AlreadyExists`], never reused.
    fn create_volume(
        &self,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError>;
    /// Removes a volume.
    fn remove_volume(&self, name: &VolumeName) -> Result<(), EngineError>;
    /// Lists the volumes that carry a label.
    fn volumes(&self, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError>;

    /// Creates a container; the engine's log driver is `none`.
    fn create_container(&self, spec: &HardenedSpec) -> Result<(), EngineError>;
    /// Starts it.
    fn start_container(&self, name: &ContainerName) -> Result<(), EngineError>;
    /// Sends SIGTERM, waits for `grace`, then SIGKILL. A container that has ended is no error.
    fn stop_container(&self, name: &ContainerName, grace: Duration) -> Result<(), EngineError>;
    /// Sends a signal to the first process.
    fn signal_container(&self, name: &ContainerName, signal: i32) -> Result<(), EngineError>;
    /// Pauses every process.
    fn pause_container(&self, name: &ContainerName) -> Result<(), EngineError>;
    /// Lets them go on.
    fn unpause_container(&self, name: &ContainerName) -> Result<(), EngineError>;
    /// Looks a container up; `None` when it is not there.
    fn container(&self, name: &ContainerName) -> Result<Option<ContainerInfo>, EngineError>;
    /// Lists the containers that carry a label, in any state.
    fn containers(&self, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError>;
    /// Kills and removes a container with its anonymous volumes. One that is gone is no error.
    fn remove_container(&self, name: &ContainerName) -> Result<(), EngineError>;

    /// Starts a process in a running container, without a terminal whatever the spec asks for:
    /// [`Spawner`](crate::Spawner) gives one.
    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError>;

    /// Returns the channel to a container's first process, if that is a porter that this
    /// process may look into. The streams of what it starts go past the engine. `None` where only
    /// the engine can start processes. [`Spawner`](crate::Spawner) decides between the two.
    fn init_channel(&self, _name: &ContainerName) -> Option<InitChannel> {
        None
    }
}

//! `Engine`: what lazaret asks of a container engine.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

use crate::{ContainerName, EngineInfo, Greeting, HardenedSpec, ImageRef, InitChannel, VolumeName};

/// A stored image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageInfo {
    /// The engine's id, `sha256:…`.
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

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// Whether a process gets a pseudo terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// No: stdout and stderr are separate byte streams.
    None,
    /// Yes, of this size: everything arrives on stdout.
    Allocated(TerminalSize),
}

/// Whether a process can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Its stdin is empty.
    Closed,
    /// Its stdin is [`Process::stdin`].
    Piped,
}

/// A process to start in a running container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment, in addition to the container's.
    pub env: BTreeMap<crate::EnvName, String>,
    /// An absolute path inside; `None` for the container's own.
    pub workdir: Option<String>,
    /// Stdin.
    pub stdin: Stdin,
    /// Terminal.
    pub terminal: Terminal,
}

impl ExecSpec {
    /// Returns a spec without further environment, directory or terminal.
    pub fn new(argv: Vec<String>, stdin: Stdin) -> Self {
        Self {
            argv,
            env: BTreeMap::new(),
            workdir: None,
            stdin,
            terminal: Terminal::None,
        }
    }
}

/// A started process: its three streams and the means to end it.
///
/// Dropping the streams closes our end only; the process is ended by stopping its
/// container.
pub struct Process {
    /// Takes what the process reads; dropping it is end of file. `None` for [`Stdin::Closed`].
    pub stdin: Option<Box<dyn Write + Send>>,
    /// What the process writes. A connection that breaks is an error, never an end of file.
    pub stdout: Box<dyn Read + Send>,
    /// What the process writes to stderr; empty with a terminal.
    pub stderr: Box<dyn Read + Send>,
    /// Waits and resizes.
    pub control: Box<dyn ProcessControl>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

/// What can be done with a started process besides its streams.
pub trait ProcessControl: Send + Sync {
    /// Waits until the process has ended and returns its exit code (128 + n for a signal).
    ///
    /// Read stdout and stderr to their ends first, or on other threads.
    ///
    /// # Errors
    /// When the engine no longer answers.
    fn wait(&self) -> Result<i32, EngineError>;

    /// Tells the pseudo terminal its new size.
    ///
    /// # Errors
    /// When the engine refuses.
    fn resize(&self, size: TerminalSize) -> Result<(), EngineError>;
}

/// What went wrong at an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No answer within the time limit.
    #[error("{endpoint} did not answer within {after:?}")]
    Timeout {
        /// Where it was tried.
        endpoint: String,
        /// How long.
        after: Duration,
    },
    /// Nothing listens there.
    #[error("no engine answers at {endpoint}: {source}")]
    Unreachable {
        /// Where it was tried.
        endpoint: String,
        /// The cause.
        source: io::Error,
    },
    /// What was chosen names no engine that can be reached.
    #[error(transparent)]
    Choice(#[from] crate::ChoiceError),
    /// The socket is there, but not for us.
    #[error("no permission to use {endpoint}: {source}")]
    Denied {
        /// Where it was tried.
        endpoint: String,
        /// The cause.
        source: io::Error,
    },
    /// What answers is not what was asked for.
    #[error("{endpoint} is {found}, not what was asked for")]
    WrongKind {
        /// Where.
        endpoint: String,
        /// What answers there.
        found: String,
    },
    /// The engine is too old.
    #[error("{endpoint} speaks {found}, lazaret needs {needed} or newer")]
    TooOld {
        /// Where.
        endpoint: String,
        /// What it speaks, such as `API 1.40`.
        found: String,
        /// What is needed.
        needed: &'static str,
    },
    /// The thing named does not exist.
    #[error("no such {what}: {name}")]
    NotFound {
        /// `container`, `volume`, `image`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The name is taken.
    #[error("a {what} named {name} exists already")]
    AlreadyExists {
        /// `container`, `volume`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Still in use.
    #[error("{what} {name} is in use")]
    InUse {
        /// `volume`, `image`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The image declares a volume of its own (CON-25).
    #[error("image {image} declares a volume at {target}; the engine would mount an anonymous one")]
    SurpriseVolume {
        /// The image.
        image: String,
        /// The path inside.
        target: String,
    },
    /// This engine, reached this way, can't do that.
    #[error("{verb}: {reason}")]
    Unsupported {
        /// What was asked.
        verb: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// The engine said no. The message is the engine's own and not to be trusted on a terminal.
    #[error("{verb}: the engine refused: {message}")]
    Refused {
        /// What was asked, such as `create container`.
        verb: &'static str,
        /// Its HTTP status or exit code.
        status: u16,
        /// Its words.
        message: String,
    },
    /// The connection broke, or its answer could not be understood.
    #[error("{verb}: lost the engine: {message}")]
    Lost {
        /// What was asked.
        verb: &'static str,
        /// What is known.
        message: String,
    },
    /// Our own side of a stream failed; the producer's cause.
    #[error("{verb}: {source}")]
    Stream {
        /// What was asked.
        verb: &'static str,
        /// The cause.
        source: io::Error,
    },
}

/// A container engine. Every call blocks; all of them may be made from several threads.
///
/// There are no copy verbs: files move through the porter's stdin and stdout.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Asks what the engine is and can enforce. One that gives no answer at all is
    /// [`EngineError::Timeout`] after five seconds; one that is merely slow has longer.
    fn probe(&self) -> Result<EngineInfo, EngineError>;

    /// Asks only what the head of any answer says; `None` for an engine whose answers have none.
    fn greet(&self) -> Result<Option<Greeting>, EngineError> {
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

    /// Starts a process in a running container.
    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError>;

    /// Returns the channel to a container's first process, if that is a porter that this
    /// process may look into. It serves once, for a process without a terminal, whose streams
    /// then go past the engine. `None` where only the engine can start processes.
    fn init_channel(&self, _name: &ContainerName) -> Option<InitChannel> {
        None
    }
}

//! An engine in memory, with scripted processes and faults on order (feature `fake`).
//!
//! It keeps the contract of [`Engine`] that the suite in `tests/it` checks on real
//! engines too. There is no file system: what a process does is a closure.

mod archive;
mod pipe;
mod process;

pub use process::{ExecCall, ExecOutcome};

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::process::FakeProcess;
use crate::{
    Capabilities, ContainerInfo, ContainerName, ContainerState, Engine, EngineError, EngineInfo,
    EngineKind, ExecSpec, HardenedSpec, ImageInfo, ImageRef, Process, UserNamespace, VolumeInfo,
    VolumeName,
};

/// A verb of [`Engine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as the methods are")]
pub enum Verb {
    Probe,
    LoadImage,
    Image,
    Images,
    RemoveImage,
    CreateVolume,
    RemoveVolume,
    Volumes,
    CreateContainer,
    StartContainer,
    StopContainer,
    SignalContainer,
    PauseContainer,
    UnpauseContainer,
    Container,
    Containers,
    RemoveContainer,
    Exec,
}

type Handler = Arc<dyn Fn(ExecCall) -> ExecOutcome + Send + Sync>;
type MakeError = Box<dyn Fn() -> EngineError + Send>;

struct Fault {
    verb: Verb,
    /// Calls of the verb before the one that fails.
    skip: usize,
    error: MakeError,
}

struct FakeContainer {
    spec: HardenedSpec,
    state: ContainerState,
    processes: Vec<Arc<FakeProcess>>,
}

struct State {
    info: EngineInfo,
    images: BTreeMap<String, ImageInfo>,
    volumes: BTreeMap<VolumeName, BTreeMap<String, String>>,
    containers: BTreeMap<ContainerName, FakeContainer>,
    handlers: Vec<(Vec<String>, Handler)>,
    faults: Vec<Fault>,
    calls: Vec<Verb>,
}

/// The engine; clones are the same one.
#[derive(Clone)]
pub struct FakeEngine {
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for FakeEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeEngine").finish_non_exhaustive()
    }
}

impl Default for FakeEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeEngine {
    /// Returns an engine with nothing in it.
    pub fn new() -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                info: info(),
                images: BTreeMap::new(),
                volumes: BTreeMap::new(),
                containers: BTreeMap::new(),
                handlers: Vec::new(),
                faults: Vec::new(),
                calls: Vec::new(),
            })),
        }
    }

    /// Changes what [`Engine::probe`] says.
    pub fn set_info(&self, change: impl FnOnce(&mut EngineInfo)) {
        change(&mut self.lock().info);
    }

    /// Puts an image there, as a build or a load would.
    pub fn add_image(&self, image: ImageInfo) {
        self.lock().images.insert(image.id.clone(), image);
    }

    /// Lets a closure be every process whose arguments begin with `prefix`. The latest
    /// that fits is taken; without one the program is not found (exit code 127).
    pub fn on_exec<O: Into<ExecOutcome>>(
        &self,
        prefix: &[&str],
        handler: impl Fn(ExecCall) -> O + Send + Sync + 'static,
    ) {
        let prefix = prefix.iter().map(|&word| word.to_owned()).collect();
        let handler: Handler = Arc::new(move |call| handler(call).into());
        self.lock().handlers.push((prefix, handler));
    }

    /// Lets the `nth` call of a verb from now on fail; the first is 1. `error` is asked when
    /// it comes to that, and may do something to the engine itself first.
    pub fn fail(&self, verb: Verb, nth: usize, error: impl Fn() -> EngineError + Send + 'static) {
        self.lock().faults.push(Fault {
            verb,
            skip: nth.saturating_sub(1),
            error: Box::new(error),
        });
    }

    /// Ends a container from inside, as its first process or the OOM killer would.
    pub fn end_container(&self, name: &ContainerName, state: ContainerState) {
        if let Some(container) = self.lock().containers.get_mut(name) {
            container.end(state);
        }
    }

    /// Returns every call so far.
    pub fn calls(&self) -> Vec<Verb> {
        self.lock().calls.clone()
    }

    /// Returns the spec of a container.
    pub fn spec(&self, name: &ContainerName) -> Option<HardenedSpec> {
        Some(self.lock().containers.get(name)?.spec.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call, and fails it if that was ordered.
    fn enter(&self, verb: Verb) -> Result<MutexGuard<'_, State>, EngineError> {
        let mut state = self.lock();
        state.calls.push(verb);
        let mut due = None;
        for (index, fault) in state.faults.iter_mut().enumerate() {
            if fault.verb == verb {
                match fault.skip.checked_sub(1) {
                    Some(less) => fault.skip = less,
                    None => due = due.or(Some(index)),
                }
            }
        }
        match due {
            Some(index) => {
                let fault = state.faults.remove(index);
                drop(state);
                Err((fault.error)())
            }
            None => Ok(state),
        }
    }
}

impl FakeContainer {
    fn end(&mut self, state: ContainerState) {
        self.state = state;
        for process in self.processes.drain(..) {
            process.finish(ExecOutcome::Exit(137));
        }
    }
}

impl State {
    fn container(&mut self, name: &ContainerName) -> Result<&mut FakeContainer, EngineError> {
        self.containers
            .get_mut(name)
            .ok_or_else(|| not_found("container", name.as_str()))
    }

    fn image(&self, name: &str) -> Option<&ImageInfo> {
        let wanted = normal(name);
        self.images
            .values()
            .find(|image| image.id == name || image.tags.iter().any(|tag| normal(tag) == wanted))
    }
}

/// Adds the tag that a reference without one means.
fn normal(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or(reference);
    match name.contains(':') {
        true => reference.to_owned(),
        false => format!("{reference}:latest"),
    }
}

fn info() -> EngineInfo {
    EngineInfo {
        kind: EngineKind::Fake,
        version: "1".to_owned(),
        api_version: None,
        endpoint: "memory".to_owned(),
        rootless: false,
        user_namespace: UserNamespace::Mapped,
        architecture: "amd64".to_owned(),
        cores: None,
        cgroup_version: "2".to_owned(),
        runtime: "fake".to_owned(),
        nofile_hard: None,
        nproc_hard: None,
        capabilities: Capabilities::SHARED_KERNEL,
        unenforceable: Vec::new(),
        not_applicable: BTreeMap::new(),
        warnings: Vec::new(),
    }
}

fn not_found(what: &'static str, name: &str) -> EngineError {
    EngineError::NotFound {
        what,
        name: name.to_owned(),
    }
}

fn conflict(verb: &'static str, name: &ContainerName, state: ContainerState) -> EngineError {
    EngineError::Refused {
        verb,
        status: 409,
        message: format!("container {name} is {state:?}"),
    }
}

impl Engine for FakeEngine {
    fn probe(&self) -> Result<EngineInfo, EngineError> {
        Ok(self.enter(Verb::Probe)?.info.clone())
    }

    fn load_image(&self, archive: &mut (dyn Read + Send)) -> Result<String, EngineError> {
        drop(self.enter(Verb::LoadImage)?);
        let image = archive::read_image(archive)?;
        let mut state = self.lock();
        for other in state.images.values_mut() {
            other.tags.retain(|tag| !image.tags.contains(tag));
        }
        let id = image.id.clone();
        state.images.insert(id.clone(), image);
        Ok(id)
    }

    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError> {
        Ok(self.enter(Verb::Image)?.image(image.as_str()).cloned())
    }

    fn images(&self, label_key: &str) -> Result<Vec<ImageInfo>, EngineError> {
        let state = self.enter(Verb::Images)?;
        let carries = |image: &&ImageInfo| image.labels.contains_key(label_key);
        Ok(state.images.values().filter(carries).cloned().collect())
    }

    fn remove_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::RemoveImage)?;
        let Some(found) = state.image(image.as_str()).cloned() else {
            return Err(not_found("image", image.as_str()));
        };
        let used = state.containers.values().any(|container| {
            let used = container.spec.spec().image.as_str();
            state.image(used).is_some_and(|used| used.id == found.id)
        });
        if used {
            return Err(EngineError::InUse {
                what: "image",
                name: image.as_str().to_owned(),
            });
        }
        state.images.remove(&found.id);
        Ok(())
    }

    fn create_volume(
        &self,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::CreateVolume)?;
        if state.volumes.contains_key(name) {
            return Err(EngineError::AlreadyExists {
                what: "volume",
                name: name.as_str().to_owned(),
            });
        }
        state.volumes.insert(name.clone(), labels.clone());
        Ok(())
    }

    fn remove_volume(&self, name: &VolumeName) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::RemoveVolume)?;
        if !state.volumes.contains_key(name) {
            return Err(not_found("volume", name.as_str()));
        }
        let used = state.containers.values().any(|container| {
            let mut mounts = container.spec.spec().volumes.iter();
            mounts.any(|mount| mount.volume == *name)
        });
        if used {
            return Err(EngineError::InUse {
                what: "volume",
                name: name.as_str().to_owned(),
            });
        }
        state.volumes.remove(name);
        Ok(())
    }

    fn volumes(&self, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError> {
        let state = self.enter(Verb::Volumes)?;
        Ok(state
            .volumes
            .iter()
            .filter(|(_, labels)| labels.contains_key(label_key))
            .map(|(name, labels)| VolumeInfo {
                name: name.clone(),
                labels: labels.clone(),
            })
            .collect())
    }

    fn create_container(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::CreateContainer)?;
        let wanted = spec.spec();
        let Some(image) = state.image(wanted.image.as_str()) else {
            return Err(not_found("image", wanted.image.as_str()));
        };
        let asked = |target: &&String| wanted.volumes.iter().any(|mount| mount.target == **target);
        if let Some(target) = image.volumes.iter().find(|target| !asked(target)) {
            return Err(EngineError::SurpriseVolume {
                image: wanted.image.as_str().to_owned(),
                target: target.clone(),
            });
        }
        for mount in &wanted.volumes {
            if !state.volumes.contains_key(&mount.volume) {
                return Err(not_found("volume", mount.volume.as_str()));
            }
        }
        if state.containers.contains_key(&wanted.name) {
            return Err(EngineError::AlreadyExists {
                what: "container",
                name: wanted.name.as_str().to_owned(),
            });
        }
        let container = FakeContainer {
            spec: spec.clone(),
            state: ContainerState::Created,
            processes: Vec::new(),
        };
        state.containers.insert(wanted.name.clone(), container);
        Ok(())
    }

    fn start_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::StartContainer)?;
        state.container(name)?.state = ContainerState::Running;
        Ok(())
    }

    fn stop_container(&self, name: &ContainerName, _grace: Duration) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::StopContainer)?;
        let container = state.container(name)?;
        if matches!(
            container.state,
            ContainerState::Running | ContainerState::Paused
        ) {
            container.end(ContainerState::Exited {
                code: 137,
                oom_killed: false,
            });
        }
        Ok(())
    }

    fn signal_container(&self, name: &ContainerName, signal: i32) -> Result<(), EngineError> {
        const SIGKILL: i32 = 9;
        let mut state = self.enter(Verb::SignalContainer)?;
        let container = state.container(name)?;
        match container.state {
            ContainerState::Running | ContainerState::Paused => {
                // A first process without handlers ignores everything else.
                if signal == SIGKILL {
                    container.end(ContainerState::Exited {
                        code: 137,
                        oom_killed: false,
                    });
                }
                Ok(())
            }
            state => Err(conflict("signal container", name, state)),
        }
    }

    fn pause_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::PauseContainer)?;
        let container = state.container(name)?;
        match container.state {
            ContainerState::Running => container.state = ContainerState::Paused,
            state => return Err(conflict("pause container", name, state)),
        }
        Ok(())
    }

    fn unpause_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::UnpauseContainer)?;
        let container = state.container(name)?;
        match container.state {
            ContainerState::Paused => container.state = ContainerState::Running,
            state => return Err(conflict("unpause container", name, state)),
        }
        Ok(())
    }

    fn container(&self, name: &ContainerName) -> Result<Option<ContainerInfo>, EngineError> {
        let state = self.enter(Verb::Container)?;
        Ok(state.containers.get(name).map(describe))
    }

    fn containers(&self, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError> {
        let state = self.enter(Verb::Containers)?;
        Ok(state
            .containers
            .values()
            .map(describe)
            .filter(|container| container.labels.contains_key(label_key))
            .collect())
    }

    fn remove_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let mut state = self.enter(Verb::RemoveContainer)?;
        if let Some(mut container) = state.containers.remove(name) {
            container.end(ContainerState::Transient);
        }
        Ok(())
    }

    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError> {
        let mut state = self.enter(Verb::Exec)?;
        let handler = state
            .handlers
            .iter()
            .rev()
            .find(|(prefix, _)| spec.argv.starts_with(prefix))
            .map(|(_, handler)| Arc::clone(handler));
        let container = state.container(name)?;
        if container.state != ContainerState::Running {
            return Err(conflict("exec", name, container.state));
        }
        let (fake, process) = process::start(name, spec, handler)?;
        container.processes.push(fake);
        Ok(process)
    }
}

fn describe(container: &FakeContainer) -> ContainerInfo {
    let spec = container.spec.spec();
    ContainerInfo {
        name: spec.name.clone(),
        labels: spec.labels.clone(),
        state: container.state,
    }
}

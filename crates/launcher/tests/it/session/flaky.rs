//! `Flaky`: an engine that fails on order, before it does what it was asked, or after.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lazaret_runtime::fake::{FakeEngine, Verb};
use lazaret_runtime::{
    ContainerInfo, ContainerName, Engine, EngineError, EngineInfo, ExecSpec, HardenedSpec,
    ImageInfo, ImageRef, Process, VolumeInfo, VolumeName,
};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The engine says no, and did nothing.
    Refused,
    /// The connection breaks before the engine hears of it.
    Lost,
    /// The engine did it, and the answer is lost.
    AnswerLost,
    /// The engine dies: this call and all that follow.
    Died,
}

/// Which call it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The nth call of a verb, from 1.
    Verb(Verb, usize),
    /// Every call of a verb.
    Every(Verb),
    /// The nth call of all, from 1.
    Call(usize),
}

/// A fault on order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: At,
    pub(super) kind: Kind,
}

#[derive(Debug, Default)]
struct Plan {
    fault: Option<Fault>,
    seen: usize,
    met: bool,
}

/// What another process does.
struct Meanwhile(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meanwhile").finish_non_exhaustive()
    }
}

/// The engine in memory behind a connection that can fail. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Flaky {
    pub(super) fake: FakeEngine,
    /// What another process does as soon as a verb was answered, once.
    meanwhile: Arc<Mutex<Option<(Verb, Meanwhile)>>>,
    plan: Arc<Mutex<Plan>>,
}

impl Flaky {
    pub(super) fn new(fake: FakeEngine) -> Self {
        Self {
            fake,
            meanwhile: Arc::default(),
            plan: Arc::default(),
        }
    }

    /// Orders a fault, counted from now on; `None` makes the engine healthy.
    pub(super) fn order(&self, fault: Option<Fault>) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        *plan = Plan {
            fault,
            ..Plan::default()
        };
    }

    /// Lets another process act after the next answer to this verb, before the caller gets it.
    pub(super) fn meanwhile(&self, verb: Verb, act: impl FnOnce() + Send + 'static) {
        let mut meanwhile = self
            .meanwhile
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *meanwhile = Some((verb, Meanwhile(Box::new(act))));
    }

    fn let_others(&self, verb: Verb) {
        let mut meanwhile = self
            .meanwhile
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let act = meanwhile.take_if(|(wanted, _)| *wanted == verb);
        drop(meanwhile);
        if let Some((_, Meanwhile(act))) = act {
            act();
        }
    }

    /// Whether the fault was met.
    pub(super) fn met(&self) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.met
    }

    fn due(&self, verb: Verb) -> Option<Kind> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let Fault { at, kind } = plan.fault?;
        if plan.met {
            return (kind == Kind::Died).then_some(kind);
        }
        let nth = match at {
            At::Verb(wanted, _) | At::Every(wanted) if wanted != verb => return None,
            At::Every(_) => return Some(kind),
            At::Verb(_, nth) | At::Call(nth) => nth,
        };
        plan.seen += 1;
        plan.met = plan.seen == nth;
        plan.met.then_some(kind)
    }

    fn call<T>(
        &self,
        verb: Verb,
        call: impl FnOnce() -> Result<T, EngineError>,
        end: impl FnOnce(T),
    ) -> Result<T, EngineError> {
        let lost = || EngineError::Lost {
            verb: "fault",
            message: "on order".to_owned(),
        };
        match self.due(verb) {
            None => {
                let answer = call();
                self.let_others(verb);
                answer
            }
            Some(Kind::Lost | Kind::Died) => Err(lost()),
            Some(Kind::Refused) => Err(EngineError::Refused {
                verb: "fault",
                status: 500,
                message: "on order".to_owned(),
            }),
            Some(Kind::AnswerLost) => {
                end(call()?);
                Err(lost())
            }
        }
    }
}

/// Waits for the end of a process whose answer is lost, so that the test knows where it is.
fn outlive(process: Process) {
    let Process {
        stdin,
        mut stdout,
        stderr: _,
        control,
    } = process;
    drop(stdin);
    // Its output does not matter, nor whether it failed without its stdin.
    drop(std::io::copy(&mut stdout, &mut std::io::sink()));
    drop(control.wait());
}

impl Engine for Flaky {
    fn probe(&self) -> Result<EngineInfo, EngineError> {
        self.call(Verb::Probe, || self.fake.probe(), drop)
    }
    fn load_image(&self, archive: &mut (dyn Read + Send)) -> Result<String, EngineError> {
        self.call(Verb::LoadImage, || self.fake.load_image(archive), drop)
    }
    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError> {
        self.call(Verb::Image, || self.fake.image(image), drop)
    }
    fn images(&self, label_key: &str) -> Result<Vec<ImageInfo>, EngineError> {
        self.call(Verb::Images, || self.fake.images(label_key), drop)
    }
    fn remove_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        self.call(Verb::RemoveImage, || self.fake.remove_image(image), drop)
    }
    fn create_volume(
        &self,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        let call = || self.fake.create_volume(name, labels);
        self.call(Verb::CreateVolume, call, drop)
    }
    fn remove_volume(&self, name: &VolumeName) -> Result<(), EngineError> {
        self.call(Verb::RemoveVolume, || self.fake.remove_volume(name), drop)
    }
    fn volumes(&self, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError> {
        self.call(Verb::Volumes, || self.fake.volumes(label_key), drop)
    }
    fn create_container(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        let call = || self.fake.create_container(spec);
        self.call(Verb::CreateContainer, call, drop)
    }
    fn start_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = || self.fake.start_container(name);
        self.call(Verb::StartContainer, call, drop)
    }
    fn stop_container(&self, name: &ContainerName, grace: Duration) -> Result<(), EngineError> {
        let call = || self.fake.stop_container(name, grace);
        self.call(Verb::StopContainer, call, drop)
    }
    fn signal_container(&self, name: &ContainerName, signal: i32) -> Result<(), EngineError> {
        let call = || self.fake.signal_container(name, signal);
        self.call(Verb::SignalContainer, call, drop)
    }
    fn pause_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = || self.fake.pause_container(name);
        self.call(Verb::PauseContainer, call, drop)
    }
    fn unpause_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = || self.fake.unpause_container(name);
        self.call(Verb::UnpauseContainer, call, drop)
    }
    fn container(&self, name: &ContainerName) -> Result<Option<ContainerInfo>, EngineError> {
        self.call(Verb::Container, || self.fake.container(name), drop)
    }
    fn containers(&self, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError> {
        self.call(Verb::Containers, || self.fake.containers(label_key), drop)
    }
    fn remove_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = || self.fake.remove_container(name);
        self.call(Verb::RemoveContainer, call, drop)
    }
    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError> {
        self.call(Verb::Exec, || self.fake.exec(name, spec), outlive)
    }
}

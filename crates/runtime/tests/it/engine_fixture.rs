//! `EngineFixture`: an engine to be tested, with names that no other run has.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lazaret_runtime::{
    Access, ContainerLease, ContainerName, ContainerSpec, ContainerState, Detected, Engine,
    EngineError, EngineKind, ExecSpec, HardenedSpec, ImageRef, Limits, Network, Privilege, Process,
    Role, Stdin, VolumeMount, VolumeName,
};

use crate::image::Recipe;

/// The label that selects what these tests create.
pub(crate) const LABEL: &str = "io.lazaret.test";

pub(crate) const MIB: u64 = 1 << 20;

/// A suite's engine and names that no other run has.
pub(crate) struct EngineFixture {
    pub(crate) detected: Detected,
    pub(crate) prefix: String,
    pub(crate) tag: String,
}

impl Drop for EngineFixture {
    fn drop(&mut self) {
        // A failed test may have left a container of it.
        drop(self.engine().remove_image(&self.image()));
    }
}

impl EngineFixture {
    pub(crate) fn new(detected: Detected) -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("lazaret-test-{}-{number}", std::process::id());
        let fixture = Self {
            detected,
            tag: format!("lazaret-test/guest:{}-{number}", std::process::id()),
            prefix,
        };
        let recipe = fixture.recipe(&[]);
        fixture
            .engine()
            .load_image(&mut recipe.archive().as_slice())
            .unwrap();
        fixture
    }

    pub(crate) fn recipe<'a>(&'a self, volumes: &'a [&'a str]) -> Recipe<'a> {
        Recipe {
            tag: &self.tag,
            label: &self.prefix,
            volumes,
        }
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.detected.engine
    }

    pub(crate) fn is_fake(&self) -> bool {
        self.detected.info.kind == EngineKind::Fake
    }

    /// Whether processes can be frozen: not by rootless Podman on cgroup v1.
    pub(crate) fn pauses(&self) -> bool {
        let info = &self.detected.info;
        !(info.rootless && info.cgroup_version == "1")
    }

    pub(crate) fn image(&self) -> ImageRef {
        self.tag.parse().unwrap()
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(LABEL.to_owned(), self.prefix.clone())])
    }

    pub(crate) fn volume_name(&self, suffix: &str) -> VolumeName {
        format!("{}-{suffix}", self.prefix).parse().unwrap()
    }

    pub(crate) fn container_name(&self, suffix: &str) -> ContainerName {
        format!("{}-{suffix}", self.prefix).parse().unwrap()
    }

    pub(crate) fn spec(
        &self,
        suffix: &str,
        volume: Option<(&VolumeName, Access)>,
    ) -> ContainerSpec {
        let volumes = volume.map(|(volume, access)| VolumeMount {
            volume: volume.clone(),
            target: "/workspace".to_owned(),
            access,
        });
        ContainerSpec {
            name: self.container_name(suffix),
            role: Role::Agent,
            image: self.image(),
            privilege: Privilege::Agent,
            volumes: volumes.into_iter().collect(),
            network: Network::None,
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/workspace".to_owned(),
            limits: Limits {
                memory: 256 * MIB,
                cpus: 1.0,
                pids: 64,
                tmp: 16 * MIB,
                shm: MIB,
                home: 16 * MIB,
                nofile: 1024,
                fsize: 1024 * MIB,
            },
            labels: self.labels(),
        }
    }

    pub(crate) fn create(&self, suffix: &str) -> ContainerLease {
        self.create_with(&self.spec(suffix, None)).unwrap()
    }

    pub(crate) fn create_with(&self, spec: &ContainerSpec) -> Result<ContainerLease, EngineError> {
        let spec = HardenedSpec::new(spec.clone(), &self.detected.info).unwrap();
        ContainerLease::create(self.engine(), &spec)
    }

    pub(crate) fn state(&self, name: &ContainerName) -> Option<ContainerState> {
        let found = self.engine().container(name).unwrap();
        found.map(|container| container.state)
    }

    /// Waits until a container has ended, and returns its exit code.
    #[track_caller]
    pub(crate) fn ended(&self, name: &ContainerName) -> i32 {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match self.state(name) {
                Some(ContainerState::Exited { code, .. }) => return code,
                state if Instant::now() > deadline => panic!("{name} is {state:?}"),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    pub(crate) fn exec(&self, name: &ContainerName, stdin: Stdin, argv: &[&str]) -> Process {
        let argv = ["/lazaret/porter"]
            .iter()
            .chain(argv)
            .map(|&word| word.to_owned());
        let spec = ExecSpec::new(argv.collect(), stdin);
        self.engine().exec(name, &spec).unwrap()
    }
}

/// Reads both outputs to their ends, and the exit code.
pub(crate) fn finish(process: Process) -> (Vec<u8>, Vec<u8>, i32) {
    let Process {
        stdin,
        mut stdout,
        mut stderr,
        control,
    } = process;
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).map(|_| bytes)
    });
    let mut out = Vec::new();
    stdout.read_to_end(&mut out).unwrap();
    let errors = errors.join().unwrap().unwrap();
    let code = control.wait().unwrap();
    drop(stdin);
    (out, errors, code)
}

#[track_caller]
pub(crate) fn output(process: Process) -> (String, String, i32) {
    let (out, errors, code) = finish(process);
    (
        String::from_utf8(out).unwrap(),
        String::from_utf8(errors).unwrap(),
        code,
    )
}

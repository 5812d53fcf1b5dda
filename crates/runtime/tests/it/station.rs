//! A container with the real porter, on a real engine, for the tests of the controls.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::{
    Access, ContainerLease, ContainerSpec, Detected, ExecSpec, HardenedSpec, ImageRef, Limits,
    Network, Privilege, ProbeFailure, Process, Proven, Role, Stdin, VolumeLease, VolumeMount,
};

use crate::engines;
use crate::image::{Recipe, guest, porter};

pub(crate) const MIB: u64 = 1 << 20;

/// An image of our own and names that no other test has. Everything goes with it.
pub(crate) struct Station {
    /// One at a time: an engine under load may take longer than its limits allow.
    _turn: MutexGuard<'static, ()>,
    pub(crate) name: String,
    pub(crate) detected: Detected,
    prefix: String,
}

impl Drop for Station {
    fn drop(&mut self) {
        // A failed test may have left a container of it.
        drop(self.detected.engine.remove_image(&self.image()));
    }
}

/// What a process wrote, and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Station {
    /// Returns one on each engine that `LAZARET_TEST_ENGINE` names.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        static TURN: Mutex<()> = Mutex::new(());
        engines::real().into_iter().map(|(name, detected)| {
            static COUNTER: AtomicU32 = AtomicU32::new(0);
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let station = Self {
                _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner),
                name,
                detected,
                prefix: format!("lazaret-test-{}-s{number}", std::process::id()),
            };
            let recipe = Recipe {
                tag: station.image().as_str(),
                label: &station.prefix,
                volumes: &[],
            }
            .archive_of(&[("lazaret/porter", porter()), ("lazaret/guest", guest())]);
            station
                .detected
                .engine
                .load_image(&mut recipe.as_slice())
                .unwrap();
            station
        })
    }

    fn image(&self) -> ImageRef {
        format!("lazaret-test/station:{}", self.prefix)
            .parse()
            .unwrap()
    }

    /// Returns an agent's container with every control.
    pub(crate) fn hardened(&self) -> HardenedSpec {
        self.hardened_as(Role::Agent, Privilege::Agent)
    }

    /// Returns a container of either kind.
    pub(crate) fn hardened_as(&self, role: Role, privilege: Privilege) -> HardenedSpec {
        let name = match role {
            Role::Service => format!("{}-service", self.prefix),
            _ => self.prefix.clone(),
        };
        let spec = ContainerSpec {
            name: name.parse().unwrap(),
            role,
            image: self.image(),
            privilege,
            volumes: vec![VolumeMount {
                volume: self.prefix.parse().unwrap(),
                target: "/workspace".to_owned(),
                access: Access::ReadWrite,
            }],
            network: match role {
                Role::Gateway => Network::Engine,
                Role::Service => Network::Joined(self.prefix.parse().unwrap()),
                _ => Network::None,
            },
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/workspace".to_owned(),
            limits: Limits {
                memory: 64 * MIB,
                cpus: 1.0,
                pids: 64,
                tmp: 8 * MIB,
                shm: 4 * MIB,
                home: 8 * MIB,
                nofile: 256,
                fsize: 32 * MIB,
            },
            labels: BTreeMap::from([("io.lazaret.test".to_owned(), self.prefix.clone())]),
        };
        HardenedSpec::new(spec, &self.detected.info).unwrap()
    }

    /// Starts a container, hands it to `body`, and removes it and its volume. A service's is in the
    /// network of an agent's.
    pub(crate) fn with<T>(&self, spec: &HardenedSpec, body: impl FnOnce(&Running<'_>) -> T) -> T {
        let engine = &self.detected.engine;
        let volume =
            VolumeLease::create(engine, &self.prefix.parse().unwrap(), &spec.spec().labels)
                .unwrap();
        let agent = (spec.spec().role == Role::Service).then(|| {
            let agent = ContainerLease::create(engine, &self.hardened()).unwrap();
            engine.start_container(agent.name()).unwrap();
            agent
        });
        let container = ContainerLease::create(engine, spec).unwrap();
        engine.start_container(container.name()).unwrap();
        let outcome = body(&Running {
            station: self,
            spec: spec.clone(),
        });
        container.release().unwrap();
        agent.map_or(Ok(()), ContainerLease::release).unwrap();
        volume.release().unwrap();
        outcome
    }
}

/// Returns the control and the verdict of each line of a report.
fn verdicts(report: &Finished) -> Vec<Vec<&str>> {
    let lines = report.stdout.lines();
    lines
        .map(|line| line.split(' ').take(2).collect())
        .collect()
}

/// A started container.
pub(crate) struct Running<'a> {
    pub(crate) station: &'a Station,
    pub(crate) spec: HardenedSpec,
}

impl Running<'_> {
    /// Returns the agent's container whose network a service's is in.
    pub(crate) fn agent(&self) -> Self {
        Self {
            station: self.station,
            spec: self.station.hardened(),
        }
    }

    /// Asks for proof of every control, as a process of its own and as one that waits to
    /// become a command: they find the same.
    pub(crate) fn probe(&self) -> Result<Proven, ProbeFailure> {
        let name = &self.station.name;
        let report = self.exec(self.spec.probe_argv());
        assert_eq!(report.code, 0, "{name}: {report:?}");
        let command = ["/bin/true".to_owned()];
        let bootstrap = self.exec(self.spec.bootstrap_argv(
            "/",
            std::iter::empty(),
            &command,
            None,
            CommandStdin::Empty,
        ));
        assert_eq!(bootstrap.code, 125, "{name}: {bootstrap:?}");
        assert!(
            bootstrap.stderr.contains("never told to start"),
            "{bootstrap:?}"
        );
        assert_eq!(verdicts(&report), verdicts(&bootstrap), "{name}");
        self.spec.judge(report.stdout.as_bytes())
    }

    /// Runs a command as every command of an agent is run.
    pub(crate) fn run(&self, command: &[&str]) -> Finished {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        self.exec(self.spec.run_argv(&command))
    }

    /// Runs the guest.
    pub(crate) fn guest(&self, arguments: &[&str]) -> Finished {
        self.run(&[&["/lazaret/guest"], arguments].concat())
    }

    pub(crate) fn exec(&self, argv: Vec<String>) -> Finished {
        let spec = ExecSpec::new(argv, Stdin::Closed);
        let engine = &self.station.detected.engine;
        let process = engine.exec(&self.spec.spec().name, &spec).unwrap();
        let Process {
            mut stdout,
            mut stderr,
            control,
            ..
        } = process;
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text)
        });
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        Finished {
            stdout: text,
            stderr: errors.join().unwrap().unwrap(),
            code: control.wait().unwrap(),
        }
    }
}

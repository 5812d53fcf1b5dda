//! `verify`: every declared command inside, under the hardening that sessions run with.

use std::collections::BTreeMap;
use std::time::Duration;

use lazaret_runtime::{
    ContainerLease, ContainerSpec, ExecSpec, HardenedSpec, Limits, Network, Privilege, Role, Stdin,
};

use crate::builder::{BUILD_LABEL, container_name};
use crate::cache::entry::CacheEntry;
use crate::error::VerifyError;
use crate::image::install_step::{self, version_in};
use crate::{BuildError, BuildEvent, Builder, ImageSpec, Pinned};

/// A declared command that succeeded inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The component that declares it; `None` for the image itself.
    pub component: Option<String>,
    /// The command.
    pub command: String,
    /// The version in what it said, if any.
    pub version: Option<String>,
    /// What it said, escaped.
    pub said: String,
}

impl Builder<'_> {
    /// Runs every command that the image `name` and its components declare, in a container
    /// as hardened as a session's, of the build that is in the engine's store.
    ///
    /// # Errors
    /// Names the command that fails, with its last lines.
    pub fn verify(
        &self,
        name: &str,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Vec<Verified>, BuildError> {
        let built = self.ensure(name, on_event)?;
        self.verify_image(self.spec(name)?.as_ref(), &built.pinned, on_event)
    }

    /// Does it for an image that may have no tag yet.
    pub(crate) fn verify_image(
        &self,
        spec: &ImageSpec,
        image: &Pinned,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Vec<Verified>, BuildError> {
        let commands = self.commands(spec);
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        on_event(BuildEvent::Verifying {
            image: spec.name.to_string(),
        });
        self.run_all(spec, image, commands)
            .map_err(|source| BuildError::Verify {
                image: spec.name.to_string(),
                source: Box::new(source),
            })
    }

    /// Collects the declared commands, those of the lowest base first.
    fn commands(&self, spec: &ImageSpec) -> Vec<(Option<String>, String)> {
        let mut commands = Vec::new();
        if let crate::Base::Image(name) = &spec.base
            && let Some(below) = self.catalog.get(name.as_str())
        {
            commands = self.commands(below);
        }
        let own = spec.verify.iter().map(|command| (None, command.clone()));
        commands.extend(own);
        for choice in &spec.components {
            if let Some(component) = self.catalog.component(&choice.component) {
                let name = component.name.to_string();
                let verify = component.verify.iter();
                commands.extend(verify.map(|command| (Some(name.clone()), command.clone())));
            }
        }
        commands
    }

    fn run_all(
        &self,
        spec: &ImageSpec,
        image: &Pinned,
        commands: Vec<(Option<String>, String)>,
    ) -> Result<Vec<Verified>, VerifyError> {
        let key = format!("verify-{}", spec.name);
        let entry = CacheEntry {
            cache: self.cache,
            key: &key,
        };
        let _guard = entry.lock(|| ())?;
        let label = self.build_label(&key);
        let name = container_name(&label)?;
        // One of that name is a killed verification's: this one holds the guard.
        self.engine.remove_container(&name)?;
        let spec = ContainerSpec {
            name,
            role: Role::Agent,
            image: image.reference().clone(),
            privilege: Privilege::Agent,
            volumes: Vec::new(),
            network: Network::None,
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/tmp".to_owned(),
            limits: limits(),
            labels: BTreeMap::from([(BUILD_LABEL.to_owned(), label)]),
        };
        let spec = HardenedSpec::new(spec, &self.engine.probe()?)?;
        let lease = ContainerLease::create(self.engine, &spec)?;
        self.engine.start_container(lease.name())?;
        let mut verified = Vec::new();
        for (component, command) in commands {
            let argv = ["/bin/sh", "-ec", &command].map(str::to_owned);
            let exec = ExecSpec {
                workdir: Some("/tmp".to_owned()),
                ..ExecSpec::new(spec.run_argv(&argv), Stdin::Closed)
            };
            let process = self.engine.exec(lease.name(), &exec)?;
            let said = install_step::answer(process).map_err(|source| VerifyError::Command {
                component: component.clone(),
                command: command.clone(),
                source,
            })?;
            verified.push(Verified {
                component,
                command,
                version: version_in(&said).map(str::to_owned),
                said,
            });
        }
        self.engine.stop_container(lease.name(), Duration::ZERO)?;
        lease.release()?;
        Ok(verified)
    }
}

/// Those of a session that says nothing of limits, as far as a `--version` needs them.
fn limits() -> Limits {
    const MIB: u64 = 1 << 20;
    Limits {
        memory: 2048 * MIB,
        cpus: 4.0,
        pids: 512,
        tmp: 512 * MIB,
        shm: 64 * MIB,
        home: 256 * MIB,
        nofile: 4096,
        fsize: 1024 * MIB,
    }
}

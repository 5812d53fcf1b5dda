//! `Maker`: a component's layer, from the first of its sources that gives what is wanted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use lazaret_runtime::{ContainerName, EnvName, ImageRef, NameError};
use lazaret_tree::Digest;

use crate::assemble::{self, Parts};
use crate::host_rust::{self, HostRust, HostRustError};
use crate::layer::LayerDigest;
use crate::ledger::Entry;
use crate::lock::{LockedLayer, installed_packages};
use crate::rootfs::{self, TidyError};
use crate::slot::{CacheError, Guard, Slot, at};
use crate::stack::{self, Missing, Stack};
use crate::step::{Place, Step, StepError, version_in};
use crate::{
    BuildError, BuildEvent, Builder, Choice, Component, Recipe, Source, Trust, User, Version, Via,
    apt_sources, elf,
};

/// On containers that run install steps: the cache that the layer is for.
pub const BUILD_LABEL: &str = "io.lazaret.build";

/// How long a vendor's site may take to answer before the next source is tried.
const REACH: Duration = Duration::from_secs(5);

/// The helpers that install steps find on their search path.
const APT_INSTALL: &str = include_str!("scripts/apt-install.sh");
const CRATE_INSTALL: &str = include_str!("scripts/crate-install.sh");

/// A component that an image wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) choice: &'a Choice,
    pub(crate) component: &'a Component,
}

/// Why a source did not give a component.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The vendor's site does not answer.
    #[error("{site} can't be reached: {reason}")]
    Unreachable {
        /// The host and port.
        site: String,
        /// Why.
        reason: String,
    },
    /// The install step.
    #[error("the install step: {0}")]
    Install(#[source] StepError),
    /// What it installed does not work.
    #[error("`{command}` after the install step: {source}")]
    Check {
        /// The command.
        command: String,
        /// The cause.
        source: StepError,
    },
    /// It has another version.
    #[error("it has version {found}, wanted {wanted}")]
    Version {
        /// What is there.
        found: String,
        /// What was asked for.
        wanted: Version,
    },
    /// The host's toolchain.
    #[error(transparent)]
    Host(#[from] HostRustError),
    /// What the step changed is nothing that an image could hold.
    #[error(transparent)]
    Tidy(#[from] TidyError),
    /// A tool that it needs, or the image that it runs in.
    #[error(transparent)]
    Ground(Box<BuildError>),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl From<BuildError> for SourceError {
    fn from(error: BuildError) -> Self {
        Self::Ground(Box::new(error))
    }
}

/// A component's layer.
pub(crate) struct Maker<'a> {
    pub(crate) builder: &'a Builder<'a>,
    /// What it goes on.
    pub(crate) below: &'a Stack,
    pub(crate) wish: Wish<'a>,
    pub(crate) slot: Slot<'a>,
}

/// A layer that a source gave.
struct Made {
    version: String,
    digest: LayerDigest,
}

impl Maker<'_> {
    /// Returns the layer, making it when it is not in the cache or older than `max_age`.
    pub(crate) fn ensure(
        &self,
        max_age: Option<Duration>,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(LockedLayer, Duration), BuildError> {
        let image = || self.wish.recipe.name.to_string();
        let guard = self
            .slot
            .lock(|| on_event(BuildEvent::WaitingForOther { image: image() }))?;
        let cached = stack::cached(self.slot);
        if let Some((locked, age)) = &cached
            && (max_age.is_none_or(|max_age| *age <= max_age) || self.slot.tried_lately())
        {
            return Ok((locked.clone(), *age));
        }
        match (self.make(&guard, on_event), cached) {
            (Ok(locked), _) => Ok((locked, Duration::ZERO)),
            (Err(error), Some(old)) => {
                self.slot.note_try()?;
                on_event(BuildEvent::KeptOld {
                    image: image(),
                    reason: error.to_string(),
                });
                Ok(old)
            }
            (Err(error), None) => Err(error),
        }
    }

    fn make(
        &self,
        guard: &Guard,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<LockedLayer, BuildError> {
        let Wish {
            recipe,
            choice,
            component,
        } = self.wish;
        let mut reasons = String::new();
        let wanted = choice.source.as_ref();
        let sources = component.sources.iter();
        for source in sources.filter(|source| wanted.is_none_or(|wanted| source.name == *wanted)) {
            let scratch = self.slot.scratch(guard)?;
            on_event(BuildEvent::Installing {
                image: recipe.name.to_string(),
                component: component.name.to_string(),
                source: source.name.to_string(),
            });
            let fresh = scratch.path().join("layer.tar");
            match self.from(source, scratch.path(), &fresh, on_event) {
                Ok(made) => {
                    let locked = self.record(source, &fresh, made)?;
                    let digest = locked.digest();
                    let record = locked.to_toml()?;
                    self.slot.commit(scratch.path(), &fresh, &digest, &record)?;
                    return Ok(locked);
                }
                Err(error) => {
                    reasons.push_str(&format!("\n- {}: {error}", source.name));
                    on_event(BuildEvent::SourceFailed {
                        image: recipe.name.to_string(),
                        component: component.name.to_string(),
                        source: source.name.to_string(),
                        reason: error.to_string(),
                    });
                }
            }
        }
        Err(BuildError::Component {
            image: recipe.name.to_string(),
            place: format!("{}:{}", recipe.file, choice.line),
            component: component.name.to_string(),
            reasons,
        })
    }

    /// Says what went in. Packages are those that are new or other than below.
    fn record(&self, source: &Source, fresh: &Path, made: Made) -> Result<LockedLayer, BuildError> {
        const STATUS: &str = "var/lib/dpkg/status";
        let mut packages = BTreeMap::new();
        let mut file = File::open(fresh).map_err(at(fresh))?;
        let found = rootfs::read_files(&mut file, &[STATUS]).map_err(at(fresh))?;
        if let Some(status) = found.get(STATUS) {
            let architecture = elf::architecture(self.builder.porter)?;
            packages = installed_packages(&String::from_utf8_lossy(status), architecture);
            for below in &self.below.locked {
                packages.retain(|name, version| below.packages.get(name) != Some(version));
            }
        }
        Ok(LockedLayer {
            name: self.wish.component.name.to_string(),
            source: source.name.to_string(),
            version: made.version,
            layer: format!("sha256:{}", made.digest.hex),
            bytes: made.digest.size,
            packages,
        })
    }

    fn from(
        &self,
        source: &Source,
        scratch: &Path,
        fresh: &Path,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Made, SourceError> {
        let component = self.wish.component;
        let wanted = self
            .wish
            .choice
            .version
            .as_ref()
            .or(component.version.as_ref());
        let admit = |found: String| match wanted {
            Some(wanted) if !wanted.admits(&found) => Err(SourceError::Version {
                found,
                wanted: wanted.clone(),
            }),
            _ => Ok(found),
        };
        if let (Some(wanted), Some(given)) = (wanted, &source.gives)
            && !wanted.admits(given.as_str())
            && !given.admits(wanted.as_str())
        {
            return Err(SourceError::Version {
                found: given.to_string(),
                wanted: wanted.clone(),
            });
        }
        match &source.via {
            Via::HostRust { toolchain } => {
                let architecture =
                    elf::architecture(self.builder.porter).map_err(BuildError::from)?;
                let host = HostRust::find(toolchain, architecture)?;
                let version = admit(host.version.clone())?;
                let digest = host.write(fresh)?;
                Ok(Made { version, digest })
            }
            Via::Script { reach, install } => {
                if let Some(site) = reach
                    && self.builder.surroundings.proxies.is_empty()
                {
                    reachable(site)?;
                }
                let mut stack = self.below.clone();
                for tool in &source.tools {
                    // What the image has itself is not put on it a second time.
                    if !stack.has(tool) {
                        self.add_tool(&mut stack, tool, on_event)?;
                    }
                }
                let image = self.build_image(&stack, on_event)?;
                let changes = scratch.join("changes.tar");
                let step = Step::start(self.builder.engine, self.place(&image, wanted)?)
                    .map_err(SourceError::Install)?;
                on_event(BuildEvent::StepStarted {
                    container: step.container().clone(),
                });
                let name = self.wish.recipe.name.to_string();
                let finish = component.finish.as_deref().unwrap_or_default();
                let script = format!("{install}\n{finish}");
                step.run(&script, &component.paths, &changes, &mut |line| {
                    let image = name.clone();
                    on_event(BuildEvent::Output { image, line });
                })
                .map_err(SourceError::Install)?;
                let command = component.verify.first().map_or("", String::as_str);
                let said = step.ask(command).map_err(|source| SourceError::Check {
                    command: command.to_owned(),
                    source,
                })?;
                drop(step);
                let version = admit(version_in(&said).unwrap_or_default().to_owned())?;
                let digest = tidy(&changes, fresh)?;
                Ok(Made { version, digest })
            }
        }
    }

    fn add_tool(
        &self,
        stack: &mut Stack,
        tool: &crate::ComponentName,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), BuildError> {
        let recipe = self.wish.recipe;
        let line = self.wish.choice.line;
        let component = self
            .builder
            .catalog
            .component(tool)
            .ok_or_else(|| recipe.refuse_line(line, "it needs a tool that there is not"))?;
        let choice = Choice {
            component: tool.clone(),
            line,
            version: None,
            source: None,
            packages: Vec::new(),
        };
        let wish = Wish {
            recipe,
            choice: &choice,
            component,
        };
        self.builder
            .add(stack, wish, &mut Missing::Make(on_event))?;
        Ok(())
    }

    /// Loads the image so far into the engine, with what install steps are given.
    fn build_image(
        &self,
        stack: &Stack,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuildImage<'_>, SourceError> {
        let Builder {
            engine,
            porter,
            surroundings,
            ..
        } = *self.builder;
        let certificates = match self.wish.recipe.trust {
            Trust::Host => surroundings.certificates().map_err(BuildError::from)?,
            Trust::Image => Vec::new(),
        };
        let sources = match &stack.suite {
            Some(suite) => apt_sources::read(Path::new("/etc/apt"), suite.as_str())
                .map_err(at(Path::new("/etc/apt")))?
                .unwrap_or_default(),
            None => String::new(),
        };
        let mut for_build: Vec<(&str, u32, &[u8])> = vec![
            ("apt-install", 0o755, APT_INSTALL.as_bytes()),
            ("crate-install", 0o755, CRATE_INSTALL.as_bytes()),
            ("rust-run", 0o755, host_rust::RUN.as_bytes()),
        ];
        if !certificates.is_empty() {
            for_build.push(("ca.pem", 0o644, &certificates));
        }
        if !sources.is_empty() {
            for_build.push(("apt.d/machine.sources", 0o644, sources.as_bytes()));
        }
        let process = std::process::id();
        let tag = format!("localhost/lazaret/build:{}-{process}", self.slot.key);
        let mut archive = assemble::on_system(
            Parts {
                name: "build",
                description: "An image that is being built",
                user: &User::default(),
                porter,
                architecture: elf::architecture(porter).map_err(BuildError::from)?,
                inputs: self.slot.key,
                tag: &tag,
                for_build: &for_build,
            },
            stack.layers.clone(),
            stack.path.as_deref(),
        )
        .map_err(at(self.slot.cache))?;
        on_event(BuildEvent::Loading {
            image: self.wish.recipe.name.to_string(),
            bytes: archive.size,
        });
        let reference = tag.parse::<ImageRef>().map_err(BuildError::from)?;
        let place = engine
            .probe()
            .map_err(|error| SourceError::Install(error.into()))?
            .endpoint;
        self.builder
            .ledger()
            .note(&Entry::new(&archive.id, &tag, &place))?;
        engine
            .load_image(&mut archive)
            .map_err(|error| SourceError::Install(error.into()))?;
        Ok(BuildImage {
            builder: self.builder,
            reference,
        })
    }

    fn place<'p>(
        &self,
        image: &'p BuildImage<'_>,
        wanted: Option<&Version>,
    ) -> Result<Place<'p>, SourceError> {
        let Wish {
            recipe,
            choice,
            component,
        } = self.wish;
        let builder = self.builder;
        let info = builder
            .engine
            .probe()
            .map_err(|error| SourceError::Install(error.into()))?;
        let mut env = builder.surroundings.environment(recipe.trust);
        let packages: Vec<_> = component
            .packages
            .iter()
            .chain(&choice.packages)
            .map(|package| package.as_str())
            .collect();
        env.insert("PACKAGES".to_owned(), packages.join(" "));
        env.insert("ARCH".to_owned(), info.architecture.clone());
        let version = wanted.map_or("", Version::as_str);
        env.insert("VERSION".to_owned(), version.to_owned());
        let env = env
            .into_iter()
            .map(|(name, value)| Ok((name.parse::<EnvName>()?, value)))
            .collect::<Result<_, NameError>>()
            .map_err(BuildError::from)?;
        let label = builder.build_label(self.slot.key);
        Ok(Place {
            name: container_name(&label).map_err(BuildError::from)?,
            image: &image.reference,
            network: builder.surroundings.network,
            labels: BTreeMap::from([(BUILD_LABEL.to_owned(), label)]),
            info: Box::new(info),
            env,
        })
    }
}

impl Builder<'_> {
    /// Returns the label of a container that fills the slot `key` of this cache.
    pub(crate) fn build_label(&self, key: &str) -> String {
        let cache = Digest::of(self.cache.as_os_str().as_encoded_bytes()).to_hex();
        format!("{}.{key}", cache.get(..12).unwrap_or(&cache))
    }

    /// Returns the slot that a container with that label fills; `None` for another cache's.
    pub(crate) fn key_of(&self, label: &str) -> Option<String> {
        let (_, key) = label.split_once('.')?;
        (self.build_label(key) == label).then(|| key.to_owned())
    }
}

/// Returns the name of the container with that label.
pub(crate) fn container_name(label: &str) -> Result<ContainerName, NameError> {
    let hash = Digest::of(label.as_bytes()).to_hex();
    format!("lazaret-build-{}", hash.get(..24).unwrap_or(&hash)).parse()
}

/// The image that an install step runs in; it goes with this value.
struct BuildImage<'a> {
    builder: &'a Builder<'a>,
    reference: ImageRef,
}

impl Drop for BuildImage<'_> {
    fn drop(&mut self) {
        // One that stays costs space until `image prune`, nothing else.
        drop(self.builder.engine.remove_image(&self.reference));
    }
}

/// Makes a layer of what a step changed.
fn tidy(changes: &Path, fresh: &Path) -> Result<LayerDigest, SourceError> {
    let mut changes = File::open(changes).map_err(at(changes))?;
    let out = File::create_new(fresh).map_err(at(fresh))?;
    let out = BufWriter::with_capacity(1 << 20, out);
    let (mut out, digest) = rootfs::tidy_changes(&mut changes, out)?;
    out.flush()
        .and_then(|()| out.get_ref().sync_all())
        .map_err(at(fresh))?;
    Ok(digest)
}

/// Asks whether something answers at `host:port`, names included.
fn reachable(site: &str) -> Result<(), SourceError> {
    let unreachable = |reason: String| SourceError::Unreachable {
        site: site.to_owned(),
        reason,
    };
    let (answer, answered) = mpsc::channel();
    let target = site.to_owned();
    // Not joined: a resolver that hangs must not hold the build.
    std::thread::spawn(move || {
        let connected = target.to_socket_addrs().and_then(|addresses| {
            let mut last = std::io::Error::other("the name has no address");
            for address in addresses {
                match TcpStream::connect_timeout(&address, REACH) {
                    Ok(_) => return Ok(()),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        // Nobody listens any more when it took too long.
        drop(answer.send(connected));
    });
    match answered.recv_timeout(REACH) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!(
            "no answer within {} s",
            REACH.as_secs()
        ))),
    }
}

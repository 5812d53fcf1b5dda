//! `LayerBuilder`: a component's layer, from the first of its sources that gives what is wanted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use lazaret_runtime::{EnvName, NameError};

use super::build_image::{BuildImage, BuildImageContents};
use super::host_rust::HostRust;
use super::reach;
use super::source_error::SourceError;
use crate::builder::{BUILD_LABEL, container_name};
use crate::cache::entry::{Aged, CacheEntry, CacheLock, at};
use crate::cache::layer_cache::Cached;
use crate::cache::lock::{LockedLayer, installed_packages};
use crate::image::install_step::{InstallContainer, InstallStep, version_in};
use crate::layer::normalize;
use crate::layer::stack::LayerStack;
use crate::layer::writer::LayerDigest;
use crate::{
    BuildError, BuildEvent, Builder, Component, ComponentRequest, ImageSpec, Source, SourceKind,
    Version, elf,
};

/// A component that an image wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerRequest<'a> {
    pub(crate) spec: &'a ImageSpec,
    pub(crate) choice: &'a ComponentRequest,
    pub(crate) component: &'a Component,
}

/// Adds the layer of a tool to a stack.
pub(crate) type AddTool<'a> = dyn Fn(&mut LayerStack, LayerRequest<'_>, &mut dyn FnMut(BuildEvent)) -> Result<(), BuildError>
    + 'a;

/// Builds a component's layer.
pub(crate) struct LayerBuilder<'a> {
    pub(crate) builder: &'a Builder<'a>,
    /// What it goes on.
    pub(crate) below: &'a LayerStack,
    pub(crate) request: LayerRequest<'a>,
    /// The hash of everything that the layer is made of.
    pub(crate) key: &'a str,
    pub(crate) add_tool: &'a AddTool<'a>,
}

/// A layer that a source gave.
struct BuiltLayer {
    version: String,
    digest: LayerDigest,
}

impl Cached for LayerBuilder<'_> {
    type Value = LockedLayer;
    type Error = BuildError;

    fn image(&self) -> &str {
        self.request.spec.name.as_str()
    }

    fn entry(&self) -> CacheEntry<'_> {
        CacheEntry {
            cache: self.builder.cache,
            key: self.key,
        }
    }

    fn load(&self) -> Option<Aged<LockedLayer>> {
        self.entry().load_layer(LockedLayer::parse)
    }

    fn make(
        &self,
        lock: &CacheLock,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<LockedLayer, BuildError> {
        let LayerRequest {
            spec,
            choice,
            component,
        } = self.request;
        let mut reasons = String::new();
        let wanted = choice.source.as_ref();
        let sources = component.sources.iter();
        for source in sources.filter(|source| wanted.is_none_or(|wanted| source.name == *wanted)) {
            let scratch = self.entry().scratch(lock)?;
            on_event(BuildEvent::Installing {
                image: spec.name.to_string(),
                component: component.name.to_string(),
                source: source.name.to_string(),
            });
            let fresh = scratch.path().join("layer.tar");
            match self.install(source, scratch.path(), &fresh, on_event) {
                Ok(made) => {
                    let locked = self.record(source, &fresh, made)?;
                    let digest = locked.digest();
                    let record = locked.to_toml()?;
                    self.entry()
                        .commit(scratch.path(), &fresh, &digest, &record)?;
                    return Ok(locked);
                }
                Err(error) => {
                    reasons.push_str(&format!("\n- {}: {error}", source.name));
                    on_event(BuildEvent::SourceFailed {
                        image: spec.name.to_string(),
                        component: component.name.to_string(),
                        source: source.name.to_string(),
                        reason: error.to_string(),
                    });
                }
            }
        }
        Err(BuildError::Component {
            image: spec.name.to_string(),
            place: format!("{}:{}", spec.file, choice.line),
            component: component.name.to_string(),
            reasons,
        })
    }
}

impl LayerBuilder<'_> {
    /// Returns what went in. Packages are those that are new or other than below.
    fn record(
        &self,
        source: &Source,
        fresh: &Path,
        made: BuiltLayer,
    ) -> Result<LockedLayer, BuildError> {
        const STATUS: &str = "var/lib/dpkg/status";
        let mut packages = BTreeMap::new();
        let mut file = File::open(fresh).map_err(at(fresh))?;
        let found = normalize::read_files(&mut file, &[STATUS]).map_err(at(fresh))?;
        if let Some(status) = found.get(STATUS) {
            let architecture = elf::architecture(self.builder.porter)?;
            packages = installed_packages(&String::from_utf8_lossy(status), architecture);
            for below in &self.below.locked {
                packages.retain(|name, version| below.packages.get(name) != Some(version));
            }
        }
        Ok(LockedLayer {
            name: self.request.component.name.to_string(),
            source: source.name.to_string(),
            version: made.version,
            layer: format!("sha256:{}", made.digest.hex),
            bytes: made.digest.size,
            packages,
        })
    }

    fn install(
        &self,
        source: &Source,
        scratch: &Path,
        fresh: &Path,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltLayer, SourceError> {
        let component = self.request.component;
        let wanted = self
            .request
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
        if let (Some(wanted), Some(given)) = (wanted, &source.only_version)
            && !wanted.admits(given.as_str())
            && !given.admits(wanted.as_str())
        {
            return Err(SourceError::Version {
                found: given.to_string(),
                wanted: wanted.clone(),
            });
        }
        match &source.kind {
            SourceKind::HostRust { toolchain } => {
                let architecture =
                    elf::architecture(self.builder.porter).map_err(BuildError::from)?;
                let host = HostRust::find(toolchain, architecture)?;
                let version = admit(host.version.clone())?;
                let digest = host.write(fresh)?;
                Ok(BuiltLayer { version, digest })
            }
            SourceKind::Script { reach, install } => {
                if let Some(site) = reach
                    && self.builder.host.proxies.is_empty()
                {
                    reach::check(site)?;
                }
                let mut stack = self.below.clone();
                for tool in &source.tools {
                    // What the image has itself is not put on it a second time.
                    if !stack.has(tool) {
                        self.add(&mut stack, tool, on_event)?;
                    }
                }
                let contents = BuildImageContents {
                    spec: self.request.spec,
                    stack: &stack,
                    key: self.key,
                };
                let image = BuildImage::load(self.builder, contents, on_event)?;
                let changes = scratch.join("changes.tar");
                let step = InstallStep::start(self.builder.engine, self.place(&image, wanted)?)
                    .map_err(SourceError::Install)?;
                on_event(BuildEvent::StepStarted {
                    container: step.container().clone(),
                });
                let name = self.request.spec.name.to_string();
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
                let digest = normalize_changes(&changes, fresh)?;
                Ok(BuiltLayer { version, digest })
            }
        }
    }

    fn add(
        &self,
        stack: &mut LayerStack,
        tool: &crate::ComponentName,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), BuildError> {
        let spec = self.request.spec;
        let line = self.request.choice.line;
        let component = self
            .builder
            .catalog
            .component(tool)
            .ok_or_else(|| spec.refuse_line(line, "it needs a tool that there is not"))?;
        let choice = ComponentRequest {
            component: tool.clone(),
            image: spec.name.clone(),
            line,
            version: None,
            source: None,
            packages: Vec::new(),
        };
        let tool = LayerRequest {
            spec,
            choice: &choice,
            component,
        };
        (self.add_tool)(stack, tool, on_event)
    }

    fn place<'p>(
        &self,
        image: &'p BuildImage<'_>,
        wanted: Option<&Version>,
    ) -> Result<InstallContainer<'p>, SourceError> {
        let LayerRequest {
            spec,
            choice,
            component,
        } = self.request;
        let builder = self.builder;
        let info = builder
            .engine
            .probe()
            .map_err(|error| SourceError::Install(error.into()))?;
        let mut env = builder.host.environment(spec.trust);
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
        let label = builder.build_label(self.key);
        Ok(InstallContainer {
            name: container_name(&label).map_err(BuildError::from)?,
            image: &image.reference,
            network: builder.host.network,
            labels: BTreeMap::from([(BUILD_LABEL.to_owned(), label)]),
            info: Box::new(info),
            env,
        })
    }
}

/// Makes a layer of what a step changed.
fn normalize_changes(changes: &Path, fresh: &Path) -> Result<LayerDigest, SourceError> {
    let mut changes = File::open(changes).map_err(at(changes))?;
    let out = File::create_new(fresh).map_err(at(fresh))?;
    let out = BufWriter::with_capacity(1 << 20, out);
    let (mut out, digest) = normalize::normalize_changes(&mut changes, out)?;
    out.flush()
        .and_then(|()| out.get_ref().sync_all())
        .map_err(at(fresh))?;
    Ok(digest)
}

//! Resolves the layers of an image: finds each in the cache, or has it built.

use lazaret_tree::Digest;

use crate::builder::Builder;
use crate::cache::entry::Aged;
use crate::cache::layer_cache::{self, Cached as _};
use crate::layer::stack::LayerStack;
use crate::source::debian::DebianBase;
use crate::source::registry::RegistryBase;
use crate::source::script::{LayerBuilder, LayerRequest};
use crate::{
    BUILDER_VERSION, Base, BuildError, BuildEvent, Component, ComponentRequest, ImageSpec,
    SpecError, elf,
};

/// What is done about a layer that is not in the cache.
pub(crate) enum OnCacheMiss<'e> {
    /// It is built; events report how.
    Build(&'e mut dyn FnMut(BuildEvent)),
    /// Nothing: the image has no complete stack then.
    Skip,
}

impl Builder<'_> {
    /// Returns the layers of an image; `None` if one is missing and is not built.
    pub(crate) fn stack(
        &self,
        spec: &ImageSpec,
        on_miss: &mut OnCacheMiss<'_>,
    ) -> Result<Option<LayerStack>, BuildError> {
        let Some(mut stack) = self.base_layers(spec, on_miss)? else {
            return Ok(None);
        };
        for choice in &spec.components {
            // A combined image gets the layer that its part has, from the part's declaration.
            let owner = match choice.image == spec.name {
                true => spec,
                false => self.catalog.get(choice.image.as_str()).unwrap_or(spec),
            };
            let component = self.find_component(owner, choice)?;
            let request = LayerRequest {
                spec: owner,
                choice,
                component,
            };
            if !self.add(&mut stack, request, on_miss)? {
                return Ok(None);
            }
        }
        Ok(Some(stack))
    }

    fn find_component(
        &self,
        spec: &ImageSpec,
        choice: &ComponentRequest,
    ) -> Result<&Component, SpecError> {
        self.catalog
            .component(&choice.component)
            .ok_or_else(|| spec.refuse_line(choice.line, "there is no such component"))
    }

    /// Returns the layers that the components go on.
    fn base_layers(
        &self,
        spec: &ImageSpec,
        on_miss: &mut OnCacheMiss<'_>,
    ) -> Result<Option<LayerStack>, BuildError> {
        let image = || spec.name.to_string();
        let architecture = elf::architecture(self.porter)?;
        let mut stack = LayerStack::default();
        match &spec.base {
            Base::Scratch => {}
            Base::Devcontainer(_) => {
                let reason = "a devcontainer.json is read with the user's own declarations only";
                return Err(spec.refuse_line(spec.base_line, reason).into());
            }
            Base::Image(name) => {
                let below = self
                    .catalog
                    .get(name.as_str())
                    .ok_or_else(|| spec.refuse_line(spec.base_line, "there is no such image"))?;
                return self.stack(below, on_miss);
            }
            Base::Debootstrap { suite, include } => {
                let max_age = spec.max_age.map(|age| age.0);
                let debian = DebianBase {
                    image: spec.name.as_str(),
                    suite,
                    include,
                    architecture,
                    key: DebianBase::key(suite, include, architecture),
                    cache: self.cache,
                    program: "mmdebstrap",
                };
                let system = match on_miss {
                    OnCacheMiss::Skip => debian.load(),
                    OnCacheMiss::Build(on_event) => {
                        let built = layer_cache::ensure(&debian, max_age, on_event);
                        Some(built.map_err(|source| BuildError::Bootstrap {
                            image: image(),
                            source,
                        })?)
                    }
                };
                let Some(Aged { value: locked, age }) = system else {
                    return Ok(None);
                };
                stack.note_age(&locked.name, age, max_age);
                stack.suite = Some(suite.clone());
                let path = debian.entry().layer(&locked.layer);
                stack.push(format!("Debian {suite}"), path, locked);
            }
            Base::Registry(reference) => {
                let base = RegistryBase {
                    engine: &**self.engine,
                    image: spec.name.as_str(),
                    base: reference,
                    key: RegistryBase::key(reference),
                    architecture,
                    cache: self.cache,
                };
                let pulled = match on_miss {
                    OnCacheMiss::Skip => base.load(),
                    OnCacheMiss::Build(on_event) => {
                        // A digest names one image for ever: it has no age.
                        let pulled = layer_cache::ensure(&base, None, on_event);
                        Some(pulled.map_err(|source| BuildError::Registry {
                            image: image(),
                            source,
                        })?)
                    }
                };
                let Some(Aged { value: pulled, .. }) = pulled else {
                    return Ok(None);
                };
                stack.layers = base.layers(&pulled);
                stack.locked = pulled.locked(reference);
                stack.path = pulled.path;
            }
        }
        stack.base_layers = stack.layers.len();
        Ok(Some(stack))
    }

    /// Puts a component's layer on the stack; `false` if it is missing and is not built.
    fn add(
        &self,
        stack: &mut LayerStack,
        request: LayerRequest<'_>,
        on_miss: &mut OnCacheMiss<'_>,
    ) -> Result<bool, BuildError> {
        let below = match request.component.paths.is_empty() {
            true => stack.clone(),
            false => stack.base(),
        };
        let key = self.layer_key(&below, request)?;
        let layer = LayerBuilder {
            builder: self,
            below: &below,
            request,
            key: &key,
            add_tool: &|stack, tool, on_event| {
                let _added = self.add(stack, tool, &mut OnCacheMiss::Build(on_event))?;
                Ok(())
            },
        };
        let max_age = request.spec.max_age.map(|age| age.0);
        let found = match on_miss {
            OnCacheMiss::Skip => layer.load(),
            OnCacheMiss::Build(on_event) => Some(layer_cache::ensure(&layer, max_age, on_event)?),
        };
        let Some(Aged { value: locked, age }) = found else {
            return Ok(false);
        };
        stack.note_age(&locked.name, age, max_age);
        let path = layer.entry().layer(&locked.layer);
        stack.push(
            format!("{} from {}", locked.name, locked.source),
            path,
            locked,
        );
        Ok(true)
    }

    /// Hashes everything that a component's layer is made of.
    fn layer_key(
        &self,
        below: &LayerStack,
        request: LayerRequest<'_>,
    ) -> Result<String, BuildError> {
        let LayerRequest {
            spec,
            choice,
            component,
        } = request;
        let mut text = format!(
            "lazaret layer {BUILDER_VERSION}\narchitecture {}\ntrust {:?}\nversion {:?}\nsource {:?}\n",
            elf::architecture(self.porter)?,
            spec.trust,
            choice.version,
            choice.source,
        );
        for layer in &below.layers {
            text.push_str(&format!("below {}\n", layer.digest.hex));
        }
        for package in &choice.packages {
            text.push_str(&format!("package {package}\n"));
        }
        self.declaration(component, &mut text);
        let hex = Digest::of(text.as_bytes()).to_hex();
        let short = hex.get(..24).unwrap_or(&hex);
        Ok(format!("{}-{short}", component.name))
    }

    /// Adds the declarations of a component and of all its tools.
    pub(crate) fn declaration(&self, component: &Component, text: &mut String) {
        text.push_str(&format!(
            "component {} {}\n",
            component.name,
            Digest::of(component.text.as_bytes())
        ));
        let tools = component.sources.iter().flat_map(|source| &source.tools);
        for tool in tools.filter_map(|tool| self.catalog.component(tool)) {
            self.declaration(tool, text);
        }
    }
}

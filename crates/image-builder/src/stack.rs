//! `Stack`: the layers of an image from its base to its last component, and how to come
//! by those that are not in the cache.

use std::path::PathBuf;
use std::time::Duration;

use lazaret_tree::Digest;

use crate::archive::{Layer, LayerSource};
use crate::component_layer::{Maker, Wish};
use crate::layer::LayerDigest;
use crate::lock::LockedLayer;
use crate::registry::RegistryBase;
use crate::slot::{Held, Slot, hex_of};
use crate::{
    BUILDER_VERSION, Base, BuildError, BuildEvent, Builder, Choice, Component, ComponentName,
    Recipe, RecipeError, Suite, elf,
};

/// What is done about a layer that is not in the cache.
pub(crate) enum Missing<'e> {
    /// It is made; what happens is told.
    Make(&'e mut dyn FnMut(BuildEvent)),
    /// Nothing.
    LeaveIt,
}

/// A layer that is due to be made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldLayer {
    /// Its component, or `debian`.
    pub layer: String,
    /// Time since it was made.
    pub age: Duration,
    /// The `max_age` of the image that declares it.
    pub allowed: Duration,
}

/// The layers of an image, lowest first, and what is known of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stack {
    pub(crate) layers: Vec<Layer>,
    pub(crate) locked: Vec<LockedLayer>,
    /// How many of the layers are the base's own.
    pub(crate) ground: usize,
    /// Where the base says that its programs are.
    pub(crate) path: Option<String>,
    /// The Debian release, where it is one that was bootstrapped.
    pub(crate) suite: Option<Suite>,
    /// The first layer that is older than the image that declares it allows.
    pub(crate) old: Option<OldLayer>,
    /// Time since the oldest layer was made.
    pub(crate) age: Option<Duration>,
}

impl Stack {
    /// Returns the base alone.
    fn ground(&self) -> Self {
        let mut ground = self.clone();
        ground.layers.truncate(self.ground);
        ground.locked.truncate(self.ground);
        ground
    }

    /// Returns the files of the layers.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.layers.iter().filter_map(|layer| match &layer.source {
            LayerSource::File(path) => Some(path.clone()),
            LayerSource::Memory(_) => None,
        })
    }

    /// Whether a layer of that component is among them.
    pub(crate) fn has(&self, component: &ComponentName) -> bool {
        let mut locked = self.locked.iter();
        locked.any(|layer| layer.name == component.as_str())
    }

    fn aged(&mut self, layer: &str, age: Duration, max_age: Option<Duration>) {
        if let Some(allowed) = max_age.filter(|allowed| age > *allowed) {
            let layer = layer.to_owned();
            self.old.get_or_insert(OldLayer {
                layer,
                age,
                allowed,
            });
        }
        self.age = Some(self.age.map_or(age, |oldest| oldest.max(age)));
    }

    pub(crate) fn push(&mut self, slot: Slot<'_>, locked: LockedLayer) {
        self.layers.push(Layer {
            purpose: format!("{} from {}", locked.name, locked.source),
            digest: LayerDigest {
                hex: hex_of(&locked.layer).to_owned(),
                size: locked.bytes,
            },
            source: LayerSource::File(slot.layer(&locked.layer)),
        });
        self.locked.push(locked);
    }
}

impl Builder<'_> {
    /// Returns the layers of an image; `None` when one is missing and that is left so.
    pub(crate) fn stack(
        &self,
        recipe: &Recipe,
        missing: &mut Missing<'_>,
    ) -> Result<Option<Stack>, BuildError> {
        let Some(mut stack) = self.ground(recipe, missing)? else {
            return Ok(None);
        };
        for choice in &recipe.components {
            let component = self.find_component(recipe, choice)?;
            let wish = Wish {
                recipe,
                choice,
                component,
            };
            if !self.add(&mut stack, wish, missing)? {
                return Ok(None);
            }
        }
        Ok(Some(stack))
    }

    fn find_component(&self, recipe: &Recipe, choice: &Choice) -> Result<&Component, RecipeError> {
        self.catalog
            .component(&choice.component)
            .ok_or_else(|| recipe.refuse_line(choice.line, "there is no such component"))
    }

    /// Returns the layers that the components go on.
    fn ground(
        &self,
        recipe: &Recipe,
        missing: &mut Missing<'_>,
    ) -> Result<Option<Stack>, BuildError> {
        let image = || recipe.name.to_string();
        let architecture = elf::architecture(self.porter)?;
        let mut stack = Stack::default();
        match &recipe.base {
            Base::Scratch => {}
            Base::Devcontainer(_) => {
                let reason = "a devcontainer.json is read with the user's own declarations only";
                return Err(recipe.refuse_line(recipe.base_line, reason).into());
            }
            Base::Image(name) => {
                let below = self.catalog.get(name.as_str()).ok_or_else(|| {
                    recipe.refuse_line(recipe.base_line, "there is no such image")
                })?;
                return self.stack(below, missing);
            }
            Base::Debootstrap { suite, include } => {
                let max_age = recipe.max_age.map(|age| age.0);
                let bootstrap = self.bootstrap(recipe, suite, include, architecture);
                let system = match missing {
                    Missing::LeaveIt => match bootstrap.cached() {
                        Some(system) => system,
                        None => return Ok(None),
                    },
                    Missing::Make(on_event) => {
                        let made = bootstrap.ensure(max_age, on_event);
                        made.map_err(|source| BuildError::Bootstrap {
                            image: image(),
                            source,
                        })?
                    }
                };
                stack.aged("debian", system.age, max_age);
                stack.suite = Some(suite.clone());
                stack.layers.push(system.layer());
                stack.locked.push(system.lock.as_layer());
            }
            Base::Registry(reference) => {
                let base = RegistryBase {
                    image: recipe.name.as_str(),
                    base: reference,
                    architecture,
                    cache: self.cache,
                };
                let taken = match missing {
                    Missing::LeaveIt => base.cached(),
                    Missing::Make(on_event) => {
                        Some(base.ensure(&**self.engine, on_event).map_err(|source| {
                            BuildError::Registry {
                                image: image(),
                                source,
                            }
                        })?)
                    }
                };
                let Some(taken) = taken else {
                    return Ok(None);
                };
                stack.layers = base.layers(&taken);
                stack.locked = taken.locked(reference);
                stack.path = taken.path;
            }
        }
        stack.ground = stack.layers.len();
        Ok(Some(stack))
    }

    /// Puts a component's layer on the stack; `false` when it is missing and that is left so.
    pub(crate) fn add(
        &self,
        stack: &mut Stack,
        wish: Wish<'_>,
        missing: &mut Missing<'_>,
    ) -> Result<bool, BuildError> {
        let below = match wish.component.paths.is_empty() {
            true => stack.clone(),
            false => stack.ground(),
        };
        let key = self.layer_key(&below, wish)?;
        let slot = Slot {
            cache: self.cache,
            key: &key,
        };
        let max_age = wish.recipe.max_age.map(|age| age.0);
        let (locked, age) = match missing {
            Missing::LeaveIt => match cached(slot) {
                Some(found) => found,
                None => return Ok(false),
            },
            Missing::Make(on_event) => Maker {
                builder: self,
                below: &below,
                wish,
                slot,
            }
            .ensure(max_age, on_event)?,
        };
        stack.aged(&locked.name, age, max_age);
        stack.push(slot, locked);
        Ok(true)
    }

    /// Hashes everything that a component's layer is made of.
    fn layer_key(&self, below: &Stack, wish: Wish<'_>) -> Result<String, BuildError> {
        let Wish {
            recipe,
            choice,
            component,
        } = wish;
        let mut text = format!(
            "lazaret layer {BUILDER_VERSION}\narchitecture {}\ntrust {:?}\nversion {:?}\nsource {:?}\n",
            elf::architecture(self.porter)?,
            recipe.trust,
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

/// Returns a layer that is in the cache and whole, and its age.
pub(crate) fn cached(slot: Slot<'_>) -> Option<(LockedLayer, Duration)> {
    let Held { record, age } = slot.held()?;
    let locked = LockedLayer::parse(&record).ok()?;
    let found = std::fs::metadata(slot.layer(&locked.layer)).ok()?;
    (found.len() == locked.bytes).then_some((locked, age))
}

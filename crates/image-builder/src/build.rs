//! `Builder`: brings an image into an engine's store, or finds that it is there.

use std::path::Path;
use std::sync::Arc;

use lazaret_runtime::{Engine, ImageInfo, ImageRef};
use lazaret_tree::Digest;

use crate::archive::Archive;
use crate::assemble::{self, Parts};
use crate::bootstrap::Bootstrap;
use crate::ledger::{Entry, Ledger};
use crate::lock::{IMAGE_FORMAT, ImageLock};
use crate::slot::Slot;
use crate::stack::{Missing, Stack};
use crate::{
    BUILDER_VERSION, Base, BuildError, BuildEvent, Catalog, PackageName, Pinned, Recipe, Suite,
    Surroundings, elf, inspect,
};

/// Brings images into an engine's store.
#[derive(Debug, Clone, Copy)]
pub struct Builder<'a> {
    /// Where the images go.
    pub engine: &'a Arc<dyn Engine>,
    /// The static porter, which becomes the entrypoint.
    pub porter: &'a [u8],
    /// Where layers are kept, shared by every engine:
    /// `$XDG_CACHE_HOME/lazaret/images`. Created when needed.
    pub cache: &'a Path,
    /// The record of what was brought into engines: what [`Self::prune`] may take.
    /// `$XDG_STATE_HOME/lazaret/images`. Made when needed.
    pub ledger: &'a Path,
    /// What is declared.
    pub catalog: &'a Catalog,
    /// What of the host install steps may use.
    pub surroundings: &'a Surroundings,
}

/// An image that is in the engine's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltImage {
    /// Its tag, for people. Containers are made of [`Self::pinned`].
    pub reference: ImageRef,
    /// Its id, inspected: what containers are made of (CON-25).
    pub pinned: Pinned,
    /// The engine's id, `sha256:…`.
    pub id: String,
    /// The hash of recipe, porter and builder version.
    pub inputs: Digest,
    /// Whether it was there before.
    pub reused: bool,
}

impl Builder<'_> {
    /// Makes sure that the image `name` is in the engine's store, as declared.
    ///
    /// With nothing to do this is one look-up. An image that is older than its
    /// `max_age` is built anew; where that fails, what is there is used and
    /// [`BuildEvent::KeptOld`] says why.
    ///
    /// # Errors
    /// Names the step that failed. No tag has been moved then.
    pub fn ensure(
        &self,
        name: &str,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltImage, BuildError> {
        self.ensure_recipe(find(self.catalog, name)?, on_event)
    }

    /// Does what [`Self::ensure`] does, and makes the layers again where the engine has the
    /// image and the cache has lost them: so there is a [`Self::lock`] afterwards.
    ///
    /// # Errors
    /// Like [`Self::ensure`].
    pub fn ensure_layers(
        &self,
        name: &str,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltImage, BuildError> {
        let recipe = find(self.catalog, name)?;
        if self.lock(name)?.is_some() {
            return self.ensure_recipe(recipe, on_event);
        }
        let inputs = self.inputs(recipe)?;
        let reference = reference(recipe, inputs)?;
        self.build(recipe, inputs, reference, on_event)
    }

    /// Does what [`Self::ensure`] does for an image that is declared elsewhere.
    ///
    /// # Errors
    /// Like [`Self::ensure`].
    pub fn ensure_recipe(
        &self,
        recipe: &Recipe,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltImage, BuildError> {
        let inputs = self.inputs(recipe)?;
        let reference = reference(recipe, inputs)?;
        match self.present(recipe, inputs, &reference)? {
            Some(present) => Ok(present),
            None => self.build(recipe, inputs, reference, on_event),
        }
    }

    /// Looks for the image `name` in the engine's store. `None` where it has to be built.
    ///
    /// # Errors
    /// When there is no such declaration, or the engine does not answer.
    pub fn find(&self, name: &str) -> Result<Option<BuiltImage>, BuildError> {
        let recipe = find(self.catalog, name)?;
        let inputs = self.inputs(recipe)?;
        self.present(recipe, inputs, &reference(recipe, inputs)?)
    }

    fn present(
        &self,
        recipe: &Recipe,
        inputs: Digest,
        reference: &ImageRef,
    ) -> Result<Option<BuiltImage>, BuildError> {
        let Some(image) = self.look_up(recipe, reference)? else {
            return Ok(None);
        };
        // A tag of ours on something else: somebody moved it. Building puts it right.
        let Ok(pinned) = inspect(&image) else {
            return Ok(None);
        };
        let present = BuiltImage {
            reference: reference.clone(),
            pinned,
            id: image.id,
            inputs,
            reused: true,
        };
        Ok((!self.is_old(recipe)?).then_some(present))
    }

    /// Returns the record of what went into the image `name`, if its layers are in the cache.
    ///
    /// # Errors
    /// When there is no such declaration.
    pub fn lock(&self, name: &str) -> Result<Option<ImageLock>, BuildError> {
        let recipe = find(self.catalog, name)?;
        let architecture = elf::architecture(self.porter)?.to_owned();
        let stack = self.stack(recipe, &mut Missing::LeaveIt)?;
        Ok(stack.map(|stack| ImageLock {
            format: IMAGE_FORMAT,
            image: recipe.name.to_string(),
            architecture,
            layer: stack.locked,
        }))
    }

    fn build(
        &self,
        recipe: &Recipe,
        inputs: Digest,
        reference: ImageRef,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltImage, BuildError> {
        let image = || recipe.name.to_string();
        let engine_error = |source| BuildError::Engine {
            image: image(),
            source,
        };
        let architecture = elf::architecture(self.porter)?;
        let engine = self.engine.probe().map_err(engine_error)?;
        if engine.architecture != architecture {
            return Err(BuildError::Architecture {
                image: image(),
                engine: engine.architecture,
                porter: architecture,
            });
        }
        let stack = self
            .stack(recipe, &mut Missing::Make(on_event))?
            .unwrap_or_default();
        // Until it has its tag or is gone, `prune` in another process takes it for a build
        // that is under way.
        let key = candidate_key(recipe.name.as_str());
        let slot = Slot {
            cache: self.cache,
            key: &key,
        };
        let _guard = slot.lock(|| on_event(BuildEvent::WaitingForOther { image: image() }))?;
        let inputs_hex = inputs.to_hex();
        // A tag that no session is made of: the image gets its own when it is found good.
        // Of this process: another one may be building the same image just now.
        let short = inputs_hex.get(..12).unwrap_or(&inputs_hex);
        let process = std::process::id();
        let candidate = format!(
            "localhost/lazaret/candidate:{}-{short}-{process}",
            recipe.name
        )
        .parse()?;
        let parts = Parts {
            name: recipe.name.as_str(),
            description: &recipe.description,
            user: &recipe.user,
            porter: self.porter,
            architecture,
            inputs: &inputs_hex,
            tag: ImageRef::as_str(&candidate),
            for_build: &[],
        };
        let mut archive =
            assemble(recipe, parts, &stack).map_err(|source| BuildError::Assemble {
                image: image(),
                source,
            })?;
        let expected = archive.id.clone();
        let is_there = self
            .look_up(recipe, &reference)?
            .is_some_and(|stored| same_id(&stored.id, &expected));
        if !is_there {
            let made = |tag: &ImageRef| Entry::new(&expected, tag.as_str(), &engine.endpoint);
            self.ledger().note(&made(&candidate))?;
            on_event(BuildEvent::Loading {
                image: image(),
                bytes: archive.size,
            });
            self.engine.load_image(&mut archive).map_err(engine_error)?;
            let candidate = Candidate {
                engine: self.engine,
                reference: candidate,
            };
            let loaded = self.check_loaded(recipe, &candidate.reference, &expected)?;
            self.verify_image(recipe, &loaded, on_event)?;
            self.ledger().note(&made(&reference))?;
            self.engine
                .tag_image(loaded.reference(), &reference)
                .map_err(engine_error)?;
        }
        let pinned = self.check_loaded(recipe, &reference, &expected)?;
        Ok(BuiltImage {
            reference,
            id: pinned.reference().as_str().to_owned(),
            pinned,
            inputs,
            reused: is_there,
        })
    }

    /// Looks whether what the engine has under `reference` is the image that was made here.
    fn check_loaded(
        &self,
        recipe: &Recipe,
        reference: &ImageRef,
        expected: &str,
    ) -> Result<Pinned, BuildError> {
        let mangled = |found: String| BuildError::Mangled {
            image: recipe.name.to_string(),
            expected: expected.to_owned(),
            found,
        };
        let stored = self
            .look_up(recipe, reference)?
            .ok_or_else(|| mangled("nothing under its tag".to_owned()))?;
        if !same_id(&stored.id, expected) {
            return Err(mangled(stored.id));
        }
        inspect(&stored).map_err(|source| BuildError::Refused {
            image: recipe.name.to_string(),
            source,
        })
    }

    pub(crate) fn ledger(&self) -> Ledger<'_> {
        Ledger { file: self.ledger }
    }

    pub(crate) fn bootstrap<'r>(
        &'r self,
        recipe: &'r Recipe,
        suite: &'r Suite,
        include: &'r [PackageName],
        architecture: &'r str,
    ) -> Bootstrap<'r> {
        Bootstrap {
            image: recipe.name.as_str(),
            suite,
            include,
            architecture,
            cache: self.cache,
            program: "mmdebstrap",
        }
    }

    /// Whether a layer of the image is older than its `max_age`, as far as the cache knows.
    pub(crate) fn is_old(&self, recipe: &Recipe) -> Result<bool, BuildError> {
        let stack = self.stack(recipe, &mut Missing::LeaveIt)?;
        Ok(stack.is_some_and(|stack| stack.old.is_some()))
    }

    pub(crate) fn look_up(
        &self,
        recipe: &Recipe,
        reference: &ImageRef,
    ) -> Result<Option<ImageInfo>, BuildError> {
        self.engine
            .image(reference)
            .map_err(|source| BuildError::Engine {
                image: recipe.name.to_string(),
                source,
            })
    }

    /// Hashes everything that goes into the image.
    pub(crate) fn inputs(&self, recipe: &Recipe) -> Result<Digest, BuildError> {
        if self.porter.is_empty() {
            return Err(BuildError::NoPorter);
        }
        let mut text = format!(
            "lazaret image {BUILDER_VERSION}\nporter {}\n",
            Digest::of(self.porter)
        );
        self.declarations(recipe, &mut text);
        Ok(Digest::of(text.as_bytes()))
    }

    /// Adds all that is declared of an image: its own recipe, its base's and its components.
    fn declarations(&self, recipe: &Recipe, text: &mut String) {
        text.push_str(&format!(
            "name {}\nrecipe {}\n",
            recipe.name,
            Digest::of(recipe.source.as_bytes())
        ));
        for choice in &recipe.components {
            if let Some(component) = self.catalog.component(&choice.component) {
                self.declaration(component, text);
            }
        }
        if let Base::Image(name) = &recipe.base
            && let Some(below) = self.catalog.get(name.as_str())
        {
            self.declarations(below, text);
        }
    }
}

/// The tag of an image that is not yet found good; it is taken off with this value.
struct Candidate<'a> {
    engine: &'a Arc<dyn Engine>,
    reference: ImageRef,
}

impl Drop for Candidate<'_> {
    fn drop(&mut self) {
        // One that stays costs space until `image prune`, nothing else.
        drop(self.engine.remove_image(&self.reference));
    }
}

fn assemble(recipe: &Recipe, parts: Parts<'_>, stack: &Stack) -> std::io::Result<Archive> {
    match recipe.base {
        Base::Scratch => assemble::from_scratch(parts),
        _ => assemble::on_system(parts, stack.layers.clone(), stack.path.as_deref()),
    }
}

pub(crate) fn find<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Recipe, BuildError> {
    catalog.get(name).ok_or_else(|| BuildError::Unknown {
        name: name.to_owned(),
        known: catalog
            .recipes()
            .iter()
            .map(|recipe| recipe.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// Returns the name of the guard that a build of the image holds while it is loaded.
pub(crate) fn candidate_key(image: &str) -> String {
    format!("candidate-{image}")
}

/// Returns the tag of the build of `inputs`.
///
/// `localhost/` is a place that no registry can serve: a name that an engine looks
/// up elsewhere when it is missing could be answered by a stranger.
pub(crate) fn reference(recipe: &Recipe, inputs: Digest) -> Result<ImageRef, BuildError> {
    let hex = inputs.to_hex();
    let short = hex.get(..12).unwrap_or(&hex);
    Ok(format!("localhost/lazaret/{}:{short}", recipe.name).parse()?)
}

/// Whether two ids are the same; some engines leave `sha256:` out.
fn same_id(one: &str, other: &str) -> bool {
    let hex = |id: &str| id.strip_prefix("sha256:").unwrap_or(id).to_owned();
    hex(one) == hex(other)
}

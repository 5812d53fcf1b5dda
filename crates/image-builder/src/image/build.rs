//! Brings an image into an engine's store, or finds that it is there.

use std::sync::Arc;

use lazaret_runtime::{Engine, ImageInfo, ImageRef};
use lazaret_tree::Digest;

use crate::cache::entry::CacheEntry;
use crate::cache::lock::{IMAGE_FORMAT, ImageLock};
use crate::image::archive::Archive;
use crate::image::assemble::{self, Parts};
use crate::image::installed::Entry;
use crate::image::layers::OnCacheMiss;
use crate::layer::stack::LayerStack;
use crate::{
    BUILDER_VERSION, Base, BuildError, BuildEvent, Builder, ImageSpec, Pinned, elf, inspect,
};

/// An image that is in the engine's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltImage {
    /// Its tag, for people. Containers are made of [`Self::pinned`].
    pub reference: ImageRef,
    /// Its id, inspected: what containers are made of (CON-25).
    pub pinned: Pinned,
    /// The engine's id, `sha256:…`.
    pub id: String,
    /// The hash of spec, porter and builder version.
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
        self.ensure_spec(self.spec(name)?.as_ref(), on_event)
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
        let spec = self.spec(name)?;
        if self.lock(name)?.is_some() {
            return self.ensure_spec(&spec, on_event);
        }
        let inputs = self.inputs(&spec)?;
        let reference = reference(&spec, inputs)?;
        self.build(&spec, inputs, reference, on_event)
    }

    /// Does what [`Self::ensure`] does for an image that is declared elsewhere.
    ///
    /// # Errors
    /// Like [`Self::ensure`].
    pub fn ensure_spec(
        &self,
        spec: &ImageSpec,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltImage, BuildError> {
        let inputs = self.inputs(spec)?;
        let reference = reference(spec, inputs)?;
        match self.present(spec, inputs, &reference)? {
            Some(present) => Ok(present),
            None => self.build(spec, inputs, reference, on_event),
        }
    }

    fn present(
        &self,
        spec: &ImageSpec,
        inputs: Digest,
        reference: &ImageRef,
    ) -> Result<Option<BuiltImage>, BuildError> {
        let Some(image) = self.look_up(spec, reference)? else {
            return Ok(None);
        };
        let pinned = match image.id.is_empty() {
            // An engine that tells names only: it starts the image with the id that this build has.
            true => self.built_here(spec, inputs, reference)?,
            // The tag may be on an image that lazaret did not build: it was moved. Building puts it
            // right.
            false => inspect(&image).ok(),
        };
        let Some(pinned) = pinned else {
            return Ok(None);
        };
        let present = BuiltImage {
            reference: reference.clone(),
            id: pinned.reference().as_str().to_owned(),
            pinned,
            inputs,
            reused: true,
        };
        Ok((!self.is_old(spec)?).then_some(present))
    }

    /// Returns the record of what went into the image `name`, if its layers are in the cache.
    ///
    /// # Errors
    /// When there is no such declaration.
    pub fn lock(&self, name: &str) -> Result<Option<ImageLock>, BuildError> {
        let spec = self.spec(name)?;
        let architecture = elf::architecture(self.porter)?.to_owned();
        let stack = self.stack(&spec, &mut OnCacheMiss::Skip)?;
        Ok(stack.map(|stack| ImageLock {
            format: IMAGE_FORMAT,
            image: spec.name.to_string(),
            architecture,
            layer: stack.locked,
        }))
    }

    fn build(
        &self,
        spec: &ImageSpec,
        inputs: Digest,
        reference: ImageRef,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<BuiltImage, BuildError> {
        let image = || spec.name.to_string();
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
            .stack(spec, &mut OnCacheMiss::Build(on_event))?
            .unwrap_or_default();
        self.refuse_overlaps(spec, &stack)?;
        // Until it has its tag or is gone, `prune` in another process takes it for a build
        // that is under way.
        let key = candidate_key(&spec.name.in_store());
        let entry = CacheEntry {
            cache: self.cache,
            key: &key,
        };
        let _lock = entry.lock(|| on_event(BuildEvent::WaitingForOther { image: image() }))?;
        let inputs_hex = inputs.to_hex();
        // A tag that no session is made of: the image gets its own when it is found good.
        // Of this process: another one may be building the same image just now.
        let short = inputs_hex.get(..12).unwrap_or(&inputs_hex);
        let process = std::process::id();
        let candidate = format!(
            "localhost/lazaret/candidate:{}-{short}-{process}",
            spec.name.in_store()
        )
        .parse()?;
        let mut archive = self.archive(spec, inputs, &candidate, &stack)?;
        let expected = archive.id.clone();
        let is_there = self
            .look_up(spec, &reference)?
            .is_some_and(|stored| same_id(&stored.id, &expected));
        if !is_there {
            let made = |tag: &ImageRef| Entry::new(&expected, tag.as_str(), &engine.endpoint);
            self.installed_images().note(&made(&candidate))?;
            on_event(BuildEvent::Loading {
                image: image(),
                bytes: archive.size,
            });
            self.engine.load_image(&mut archive).map_err(engine_error)?;
            let candidate = Candidate {
                engine: self.engine,
                reference: candidate,
            };
            let loaded = self.check_loaded(spec, &candidate.reference, &expected)?;
            self.verify_image(spec, &loaded, on_event)?;
            self.installed_images().note(&made(&reference))?;
            self.engine
                .tag_image(loaded.reference(), &reference)
                .map_err(engine_error)?;
        }
        let pinned = self.check_loaded(spec, &reference, &expected)?;
        Ok(BuiltImage {
            reference,
            id: pinned.reference().as_str().to_owned(),
            pinned,
            inputs,
            reused: is_there,
        })
    }

    /// Puts the image together, with a tag.
    pub(crate) fn archive(
        &self,
        spec: &ImageSpec,
        inputs: Digest,
        tag: &ImageRef,
        stack: &LayerStack,
    ) -> Result<Archive, BuildError> {
        let parts = Parts {
            name: spec.name.as_str(),
            description: &spec.description,
            user: &spec.user,
            porter: self.porter,
            architecture: elf::architecture(self.porter)?,
            inputs: &inputs.to_hex(),
            tag: tag.as_str(),
            for_build: &[],
        };
        assemble(spec, parts, stack).map_err(|source| BuildError::Assemble {
            image: spec.name.to_string(),
            source,
        })
    }

    /// Looks whether what the engine has under `reference` is the image that was made here.
    fn check_loaded(
        &self,
        spec: &ImageSpec,
        reference: &ImageRef,
        expected: &str,
    ) -> Result<Pinned, BuildError> {
        let mangled = |found: String| BuildError::Mangled {
            image: spec.name.to_string(),
            expected: expected.to_owned(),
            found,
        };
        let stored = self
            .look_up(spec, reference)?
            .ok_or_else(|| mangled("nothing under its tag".to_owned()))?;
        if !same_id(&stored.id, expected) {
            return Err(mangled(stored.id));
        }
        inspect(&stored).map_err(|source| BuildError::Refused {
            image: spec.name.to_string(),
            source,
        })
    }

    /// Whether a layer of the image is older than its `max_age`, as far as the cache knows.
    pub(crate) fn is_old(&self, spec: &ImageSpec) -> Result<bool, BuildError> {
        let stack = self.stack(spec, &mut OnCacheMiss::Skip)?;
        Ok(stack.is_some_and(|stack| stack.old.is_some()))
    }

    pub(crate) fn look_up(
        &self,
        spec: &ImageSpec,
        reference: &ImageRef,
    ) -> Result<Option<ImageInfo>, BuildError> {
        self.engine
            .image(reference)
            .map_err(|source| BuildError::Engine {
                image: spec.name.to_string(),
                source,
            })
    }

    /// Hashes everything that goes into the image.
    pub(crate) fn inputs(&self, spec: &ImageSpec) -> Result<Digest, BuildError> {
        if self.porter.is_empty() {
            return Err(BuildError::NoPorter);
        }
        let mut text = format!(
            "lazaret image {BUILDER_VERSION}\nporter {}\n",
            Digest::of(self.porter)
        );
        self.declarations(spec, &mut text);
        Ok(Digest::of(text.as_bytes()))
    }

    /// Adds all that is declared of an image: its own spec, its base's and its components.
    fn declarations(&self, spec: &ImageSpec, text: &mut String) {
        text.push_str(&format!(
            "name {}\nrecipe {}\n",
            spec.name,
            Digest::of(spec.source.as_bytes())
        ));
        for choice in &spec.components {
            if let Some(component) = self.catalog.component(&choice.component) {
                self.declaration(component, text);
            }
        }
        if let Base::Image(name) = &spec.base
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

fn assemble(spec: &ImageSpec, parts: Parts<'_>, stack: &LayerStack) -> std::io::Result<Archive> {
    match spec.base {
        Base::Scratch => assemble::from_scratch(parts),
        _ => assemble::on_system(parts, stack.layers.clone(), stack.path.as_deref()),
    }
}

/// Returns the name of the guard that a build of the image, by its name in the store, holds
/// while it is loaded.
pub(crate) fn candidate_key(image: &str) -> String {
    format!("candidate-{image}")
}

/// Returns the tag of the build of `inputs`.
///
/// `localhost/` is a place that no registry can serve: a name that an engine looks
/// up elsewhere when it is missing could be answered by a stranger.
pub(crate) fn reference(spec: &ImageSpec, inputs: Digest) -> Result<ImageRef, BuildError> {
    let hex = inputs.to_hex();
    let short = hex.get(..12).unwrap_or(&hex);
    Ok(format!("localhost/lazaret/{}:{short}", spec.name.in_store()).parse()?)
}

/// Whether two ids are the same; some engines leave `sha256:` out.
fn same_id(one: &str, other: &str) -> bool {
    let hex = |id: &str| id.strip_prefix("sha256:").unwrap_or(id).to_owned();
    hex(one) == hex(other)
}

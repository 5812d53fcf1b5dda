//! `Builder`: brings an image into an engine's store, or finds that it is there.

use std::io;
use std::path::Path;
use std::time::Duration;

use lazaret_runtime::{Engine, EngineError, ImageInfo, ImageRef, NameError};
use lazaret_transfer::Digest;

use crate::archive::Archive;
use crate::assemble::{self, Parts};
use crate::bootstrap::{Bootstrap, BootstrapError, Cached};
use crate::lock::Lock;
use crate::registry::{RegistryBase, RegistryError};
use crate::{
    BUILDER_VERSION, Base, Catalog, ImageRefusal, NotAPorter, PackageName, Pinned, Recipe,
    RecipeError, Suite, elf, inspect,
};

/// Brings images into an engine's store.
#[derive(Debug, Clone, Copy)]
pub struct Builder<'a> {
    /// Where the images go.
    pub engine: &'a dyn Engine,
    /// The static porter, which becomes the entrypoint.
    pub porter: &'a [u8],
    /// Where bootstrapped systems are kept, shared by every engine:
    /// `$XDG_CACHE_HOME/lazaret/images`. Created when needed.
    pub cache: &'a Path,
}

/// What a build is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildEvent {
    /// Installs Debian packages into a new root; takes about half a minute.
    Bootstrapping {
        /// The image.
        image: String,
        /// The Debian release.
        suite: String,
    },
    /// The engine fetches a base from its registry.
    Pulling {
        /// The image.
        image: String,
        /// The base.
        base: String,
    },
    /// Another process is bootstrapping the same system; its result will be used.
    WaitingForOther {
        /// The image.
        image: String,
    },
    /// A line that the running step wrote, escaped.
    Output {
        /// Without its line end.
        line: String,
    },
    /// Removes logs, device nodes, set-id bits and everything that differs between
    /// two builds.
    Tidying {
        /// The image.
        image: String,
    },
    /// Hands the archive to the engine.
    Loading {
        /// The image.
        image: String,
        /// The archive's size.
        bytes: u64,
    },
    /// The image's packages are older than its `max_age`, but could not be installed
    /// anew: the old ones are used, and no new try is made for an hour.
    KeptOld {
        /// The image.
        image: String,
        /// Why there is no new one.
        reason: String,
    },
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

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No such declaration.
    #[error("no image named {name:?} is declared; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A declaration is wrong.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// This program carries no porter.
    #[error("this lazaret was built without its porter; build it with `cargo xtask`")]
    NoPorter,
    /// What it carries is no program.
    #[error(transparent)]
    NotAPorter(#[from] NotAPorter),
    /// Making the base.
    #[error("build image {image}: {source}")]
    Bootstrap {
        /// The image.
        image: String,
        /// The cause.
        source: BootstrapError,
    },
    /// Fetching the base.
    #[error("build image {image}: {source}")]
    Registry {
        /// The image.
        image: String,
        /// The cause.
        source: RegistryError,
    },
    /// Putting the image together.
    #[error("build image {image}: put it together: {source}")]
    Assemble {
        /// The image.
        image: String,
        /// The cause.
        source: io::Error,
    },
    /// The engine runs other programs than this one's porter.
    #[error("build image {image}: the engine runs {engine} programs, the porter is for {porter}")]
    Architecture {
        /// The image.
        image: String,
        /// The engine's architecture.
        engine: String,
        /// The porter's.
        porter: &'static str,
    },
    /// The engine holds something else than what it was given.
    #[error("build image {image}: the engine stored {found}, expected {expected}")]
    Mangled {
        /// The image.
        image: String,
        /// The id that was computed here.
        expected: String,
        /// The engine's.
        found: String,
    },
    /// The engine.
    #[error("build image {image}: {source}")]
    Engine {
        /// The image.
        image: String,
        /// The cause.
        source: EngineError,
    },
    /// A reference made of a declaration is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The image in the store is not as it was built.
    #[error("image {image}: {source}")]
    Refused {
        /// The image.
        image: String,
        /// The cause.
        source: ImageRefusal,
    },
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
        let catalog = Catalog::embedded()?;
        self.ensure_recipe(find(&catalog, name)?, on_event)
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
        let present = self.look_up(recipe, &reference)?.and_then(|image| {
            // A tag of ours on something else: somebody moved it. Building puts it right.
            let pinned = inspect(&image).ok()?;
            let id = image.id;
            Some(BuiltImage {
                reference: reference.clone(),
                pinned,
                id,
                inputs,
                reused: true,
            })
        });
        match present {
            Some(present) if !self.is_old(recipe)? => Ok(present),
            _ => self.build(recipe, inputs, reference, on_event),
        }
    }

    /// Returns the record of what went into the image `name`, if it was bootstrapped here.
    ///
    /// # Errors
    /// When there is no such declaration.
    pub fn lock(&self, name: &str) -> Result<Option<Lock>, BuildError> {
        let catalog = Catalog::embedded()?;
        let recipe = find(&catalog, name)?;
        Ok(self.cached(recipe)?.map(|cached| cached.lock))
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
        let inputs_hex = inputs.to_hex();
        let parts = Parts {
            recipe,
            porter: self.porter,
            architecture,
            inputs: &inputs_hex,
            tag: reference.as_str(),
        };
        let mut archive = self.assemble(parts, on_event)?;
        let expected = archive.id.clone();
        let is_there = self
            .look_up(recipe, &reference)?
            .is_some_and(|stored| same_id(&stored.id, &expected));
        if !is_there {
            on_event(BuildEvent::Loading {
                image: image(),
                bytes: archive.size,
            });
            self.engine.load_image(&mut archive).map_err(engine_error)?;
        }
        let stored = self
            .look_up(recipe, &reference)?
            .ok_or_else(|| BuildError::Mangled {
                image: image(),
                expected: expected.clone(),
                found: "nothing under its tag".to_owned(),
            })?;
        if !same_id(&stored.id, &expected) {
            return Err(BuildError::Mangled {
                image: image(),
                expected,
                found: stored.id,
            });
        }
        let pinned = inspect(&stored).map_err(|source| BuildError::Refused {
            image: image(),
            source,
        })?;
        Ok(BuiltImage {
            reference,
            pinned,
            id: stored.id,
            inputs,
            reused: is_there,
        })
    }

    fn assemble(
        &self,
        parts: Parts<'_>,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Archive, BuildError> {
        let Parts {
            recipe,
            architecture,
            ..
        } = parts;
        let image = || recipe.name.to_string();
        let archive = match &recipe.base {
            Base::Scratch => assemble::from_scratch(parts),
            Base::Debootstrap { suite, include } => {
                let max_age = recipe.max_age.map(|age| age.0);
                let system = self
                    .bootstrap(recipe, suite, include, architecture)
                    .ensure(max_age, on_event)
                    .map_err(|source| BuildError::Bootstrap {
                        image: image(),
                        source,
                    })?;
                assemble::on_system(parts, vec![system.layer()], None)
            }
            Base::Registry(base) => {
                let base = RegistryBase {
                    image: recipe.name.as_str(),
                    base,
                    architecture,
                    cache: self.cache,
                };
                let (layers, taken) =
                    base.ensure(self.engine, on_event)
                        .map_err(|source| BuildError::Registry {
                            image: image(),
                            source,
                        })?;
                assemble::on_system(parts, layers, taken.path.as_deref())
            }
        };
        archive.map_err(|source| BuildError::Assemble {
            image: image(),
            source,
        })
    }

    fn bootstrap<'r>(
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

    /// Returns the bootstrapped system that is in the cache.
    fn cached(&self, recipe: &Recipe) -> Result<Option<Cached>, BuildError> {
        let architecture = elf::architecture(self.porter)?;
        Ok(match &recipe.base {
            Base::Debootstrap { suite, include } => self
                .bootstrap(recipe, suite, include, architecture)
                .cached(),
            Base::Scratch | Base::Registry(_) => None,
        })
    }

    /// Returns how long ago the packages were installed, where the cache knows it.
    pub(crate) fn age(&self, recipe: &Recipe) -> Result<Option<Duration>, BuildError> {
        Ok(self.cached(recipe)?.map(|cached| cached.age))
    }

    pub(crate) fn is_old(&self, recipe: &Recipe) -> Result<bool, BuildError> {
        let Some(max_age) = recipe.max_age else {
            return Ok(false);
        };
        Ok(self.age(recipe)?.is_some_and(|age| age > max_age.0))
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
        let text = format!(
            "lazaret image {BUILDER_VERSION}\nname {}\nporter {}\nrecipe {}\n",
            recipe.name,
            Digest::of(self.porter),
            Digest::of(recipe.source.as_bytes()),
        );
        Ok(Digest::of(text.as_bytes()))
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

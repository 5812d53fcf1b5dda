//! `BuildError`: why there is no image.

use std::io;

use lazaret_runtime::{EngineError, NameError, Unenforceable};

use crate::cache::entry::CacheError;
use crate::cache::lock::LockError;
use crate::elf::NotAPorter;
use crate::image::inspect::ImageRefusal;
use crate::image::install_step::StepError;
use crate::source::debian::BootstrapError;
use crate::source::registry::RegistryError;
use crate::spec::catalog::CatalogError;
use crate::spec::combine_error::CombineError;
use crate::spec::diagnostics::SpecError;

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
    Spec(#[from] SpecError),
    /// The declarations can't be used.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Images that can't be combined.
    #[error(transparent)]
    Combine(#[from] CombineError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A record.
    #[error("record what was installed: {0}")]
    Lock(#[from] LockError),
    /// No source gave a component.
    #[error("build image {image}: {place}: no source gives `{component}`:{reasons}")]
    Component {
        /// The image.
        image: String,
        /// The file and line that want it.
        place: String,
        /// The component.
        component: String,
        /// What was wrong with each source, one after the other.
        reasons: String,
    },
    /// It does not hold what it promises.
    #[error("verify image {image}: {source}")]
    Verify {
        /// The image.
        image: String,
        /// The cause.
        source: Box<VerifyError>,
    },
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

/// Why an image is not used.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce the hardening.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The cache, where the guard is.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A name made of the cache's is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A declared command failed.
    #[error("{} `{command}` {source}", .component.as_deref().unwrap_or("the image's own"))]
    Command {
        /// The component that declares it.
        component: Option<String>,
        /// The command.
        command: String,
        /// How it failed.
        source: StepError,
    },
}

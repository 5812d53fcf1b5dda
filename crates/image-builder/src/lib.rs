//! Images from their declarations: `images/<name>/image.toml` in, an image in the
//! engine's store out.
//!
//! An image is a `docker save` archive that this crate assembles itself, so the
//! same inputs give the same bytes and therefore the same image id on every
//! engine: no engine's builder, cache or clock has a say in it. Its tag is the
//! hash of everything that went in; when that tag is there, nothing is done.
//!
//! ```text
//! Recipe ─┬─ bootstrap (mmdebstrap) ─▶ tidied layer ─┐   cached, shared by all engines
//!         │  or a registry image's layers            │
//!         └─ porter, user, /workspace ─▶ small layer ─┴─▶ archive ─▶ Engine::load_image
//! ```
//!
//! **Invariant:** the archive's order, times and owners come from this crate alone.
//! **Invariant:** a tag is moved only by a completed load whose image id is the one
//! computed here; a failure leaves the images that were there before.

mod apt_sources;
mod archive;
mod assemble;
mod bootstrap;
mod build;
mod build_error;
mod catalog;
mod component;
mod component_layer;
mod config;
mod devcontainer;
mod elf;
mod event;
mod host_rust;
mod inspect;
mod layer;
mod ledger;
mod lock;
mod mmdebstrap;
mod recipe;
mod registry;
mod remove;
mod rootfs;
mod sbom;
mod slot;
mod spot;
mod stack;
mod status;
mod step;
mod surroundings;
mod verify;
mod words;

pub use bootstrap::BootstrapError;
pub use build::{Builder, BuiltImage};
pub use build_error::BuildError;
pub use catalog::{Catalog, CatalogError};
pub use component::{Component, Source, TakesPackages, Via};
pub use component_layer::{BUILD_LABEL, SourceError};
pub use elf::NotAPorter;
pub use event::BuildEvent;
pub use host_rust::HostRustError;
pub use inspect::{ImageRefusal, Pinned, inspect};
pub use lock::{ImageLock, Lock, LockError, LockedLayer};
pub use recipe::{Base, Choice, Recipe, Trust, User};
pub use registry::RegistryError;
pub use remove::{Removed, Sweep};
pub use rootfs::TidyError;
pub use slot::CacheError;
pub use spot::RecipeError;
pub use stack::OldLayer;
pub use status::{ImageState, ImageStatus, ListedImage, Reason};
pub use step::StepError;
pub use surroundings::Surroundings;
pub use verify::{Verified, VerifyError};
pub use words::{
    ComponentName, ImageName, MaxAge, PackageName, PinnedReference, ShellPath, Suite, UserName,
    Version, WordError,
};

/// Where the porter is in every image: its entrypoint, and so PID 1.
pub const PORTER_PATH: &str = "/lazaret/porter";

/// The label that names the image's recipe.
pub const IMAGE_LABEL: &str = "io.lazaret.image";

/// The label that holds the hash of everything that went into the image.
pub const INPUTS_LABEL: &str = "io.lazaret.inputs";

/// Raised whenever the same recipe and porter would give another image.
const BUILDER_VERSION: u32 = 2;

/// Makes a directory, and those above it, for the user alone: what lies there is believed.
fn private_dir(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)
}

//! Images from their declarations: `images/<name>/image.toml` in, an image in the
//! engine's store out.
//!
//! An image is a `docker save` archive that this crate assembles itself, so the
//! same inputs give the same bytes and therefore the same image id on every
//! engine: no engine's builder, cache or clock has a say in it. Its tag is the
//! hash of everything that went in; when that tag is there, nothing is done.
//!
//! ```text
//! ImageSpec ─┬─ bootstrap (mmdebstrap) ─▶ tidied layer ─┐   cached, shared by all engines
//!         │  or a registry image's layers                │
//!         └─ porter, user, /workspace ─▶ small layer ────┴─▶ archive ─▶ Engine::load_image
//! ```
//!
//! A name such as `claude+rust` is the image that combines those two: it has no declaration,
//! [`Catalog::find`] makes one of those of its parts.
//!
//! **Invariant:** the archive's order, times and owners come from this crate alone.
//! **Invariant:** a tag is moved only by a completed load whose image id is the one
//! computed here; a failure leaves the images that were there before.

mod builder;
mod cache;
mod elf;
mod error;
mod event;
mod image;
mod layer;
mod source;
mod spec;

pub use builder::{BUILD_LABEL, Builder};
pub use cache::lock::{ImageLock, LockedLayer};
pub use error::BuildError;
pub use event::BuildEvent;
pub use image::build::BuiltImage;
pub use image::inspect::{ImageRefusal, Pinned, inspect};
pub use image::prune::{Removed, Sweep};
pub use image::status::{ImageState, ImageStatus, ListedImage, Reason};
pub use image::verify::Verified;
pub use layer::stack::OldLayer;
pub use source::host_environment::HostEnvironment;
pub use spec::catalog::{Catalog, CatalogError};
pub use spec::combine_error::CombineError;
pub use spec::component::{Component, Source, SourceKind, TakesPackages};
pub use spec::diagnostics::SpecError;
pub use spec::image::{Base, ComponentRequest, ImageSpec, Trust, User};
pub use spec::names::{
    ComponentName, ImageName, MaxAge, PackageName, PinnedReference, ShellPath, Suite, UserName,
    Version, WordError,
};
pub use spec::service::{DataPath, Readiness, ServiceSpec, StopSignal};

/// The profiles that come with lazaret: name and text, sorted by name.
pub const PROFILES: &[(&str, &str)] = spec::embedded::PROFILES;

/// The label that names the image's spec.
pub const IMAGE_LABEL: &str = "io.lazaret.image";

/// The label that holds the hash of everything that went into the image.
pub const INPUTS_LABEL: &str = "io.lazaret.inputs";

/// Raised whenever the same spec and porter would give another image.
const BUILDER_VERSION: u32 = 3;

/// Makes a directory, and those above it, for the user alone: what lies there is believed.
fn private_dir(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)
}

//! `Builder`: what building an image needs, and the names of what it makes on the way.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lazaret_runtime::{ContainerName, Engine, ImageInfo, NameError};
use lazaret_tree::Digest;

use crate::image::installed::InstalledImages;
use crate::{BuildError, Catalog, HostEnvironment, IMAGE_LABEL, ImageName, ImageSpec};

/// The label of containers that run install steps and verifications: the cache entry that the
/// container is for.
pub const BUILD_LABEL: &str = "io.lazaret.build";

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
    pub installed: &'a Path,
    /// What is declared.
    pub catalog: &'a Catalog,
    /// What of the host install steps may use.
    pub host: &'a HostEnvironment,
}

impl Builder<'_> {
    /// Returns the declaration of the image `name`, which may be a combined one.
    ///
    /// # Errors
    /// [`BuildError::Unknown`], [`BuildError::Combine`].
    pub(crate) fn spec(&self, name: &str) -> Result<Cow<'_, ImageSpec>, BuildError> {
        self.catalog.find(name)
    }

    /// Returns every image that is declared, and the combined ones in `store`: what has no
    /// declaration of its own is known by what was built of it.
    ///
    /// A combined image whose parts are no longer declared, or no longer fit, is not among them.
    pub(crate) fn specs_with(&self, store: &[ImageInfo]) -> Vec<Cow<'_, ImageSpec>> {
        let declared = self.catalog.images().iter().map(Cow::Borrowed);
        let mut specs: Vec<_> = declared.collect();
        let names = store
            .iter()
            .filter_map(|image| image.labels.get(IMAGE_LABEL));
        let names = names.filter_map(|name| name.parse::<ImageName>().ok());
        let combined: BTreeSet<_> = names
            .filter(ImageName::is_combined)
            .chain(self.catalog.asked_for().iter().cloned())
            .collect();
        specs.extend(
            combined
                .iter()
                .filter_map(|name| self.spec(name.as_str()).ok()),
        );
        specs
    }

    /// Returns the record of what was brought into engines.
    pub(crate) fn installed_images(&self) -> InstalledImages<'_> {
        InstalledImages {
            file: self.installed,
        }
    }

    /// Returns the label of a container that fills the entry `key` of this cache.
    pub(crate) fn build_label(&self, key: &str) -> String {
        let cache = Digest::of(self.cache.as_os_str().as_encoded_bytes()).to_hex();
        format!("{}.{key}", cache.get(..12).unwrap_or(&cache))
    }

    /// Returns the entry that a container with that label fills; `None` for another cache's.
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

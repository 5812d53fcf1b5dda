//! `LayerStack`: the layers of an image from its base to its last component.

use std::path::PathBuf;
use std::time::Duration;

use crate::cache::lock::LockedLayer;
use crate::image::archive::{Layer, LayerSource};
use crate::{ComponentName, Suite};

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
pub(crate) struct LayerStack {
    pub(crate) layers: Vec<Layer>,
    pub(crate) locked: Vec<LockedLayer>,
    /// How many of the layers are the base's own.
    pub(crate) base_layers: usize,
    /// Where the base says that its programs are.
    pub(crate) path: Option<String>,
    /// The Debian release, where it is one that was bootstrapped.
    pub(crate) suite: Option<Suite>,
    /// The first layer that is older than the image that declares it allows.
    pub(crate) old: Option<OldLayer>,
    /// Time since the oldest layer was made.
    pub(crate) age: Option<Duration>,
}

impl LayerStack {
    /// Returns the base alone.
    pub(crate) fn base(&self) -> Self {
        let mut base = self.clone();
        base.layers.truncate(self.base_layers);
        base.locked.truncate(self.base_layers);
        base
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

    /// Notes the age of a layer, and whether it is due.
    pub(crate) fn note_age(&mut self, layer: &str, age: Duration, max_age: Option<Duration>) {
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

    /// Puts a layer on top; `purpose` stands in the image's history.
    pub(crate) fn push(&mut self, purpose: String, path: PathBuf, locked: LockedLayer) {
        self.layers.push(Layer {
            purpose,
            digest: locked.digest(),
            source: LayerSource::File(path),
        });
        self.locked.push(locked);
    }
}

//! Takes images out of an engine's store, and layers that nothing declares out of the cache.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use lazaret_runtime::{EngineError, ImageInfo, ImageRef};

use crate::builder::BUILD_LABEL;
use crate::cache::entry::{CacheEntry, CacheError, CacheLock, at};
use crate::image::build::{candidate_key, reference};
use crate::image::layers::OnCacheMiss;
use crate::{BuildError, Builder, IMAGE_LABEL, ImageSpec};

/// Something that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    /// A tag in the engine's store; the image went with its last one.
    Image {
        /// The tag, or the id of an image without one.
        reference: String,
        /// Bytes of the image, layers that others share included.
        bytes: u64,
    },
    /// A container that a killed build left.
    Container {
        /// Its name.
        name: String,
    },
    /// A layer in the cache.
    Layer {
        /// Where it was.
        path: PathBuf,
        /// Bytes.
        bytes: u64,
    },
}

/// Whether things are removed or only named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// Only named.
    DryRun,
    /// Removed.
    Remove,
}

/// How long a layer that no declaration leads to is kept: those of a build that is under way
/// are younger.
const SPARED: Duration = Duration::from_secs(24 * 3_600);

impl Builder<'_> {
    /// Removes every build of the image `name` from the engine's store. Its layers stay in
    /// the cache, so that building it again costs one load.
    ///
    /// # Errors
    /// When there is no such declaration, or a container still uses one.
    pub fn remove(&self, name: &str) -> Result<Vec<Removed>, BuildError> {
        let spec = self.spec(name)?;
        let images = self.ours(name)?;
        let of_recipe = images.into_iter().filter(|image| {
            image.labels.get(IMAGE_LABEL).map(String::as_str) == Some(spec.name.as_str())
        });
        let mut removed = Vec::new();
        for image in of_recipe {
            removed.extend(self.remove_tags(name, &image, |_| true, Sweep::Remove)?);
        }
        Ok(removed)
    }

    /// Removes builds from other inputs than those declared now, half-built images,
    /// containers of killed builds, and layers in the cache that nothing declared leads to.
    ///
    /// Of images it takes only what its record says that this installation brought into this
    /// engine. What a container uses stays, and so does what another lazaret is building.
    ///
    /// # Errors
    /// When the engine does not answer, or the cache can't be read.
    pub fn prune(&self, sweep: Sweep) -> Result<Vec<Removed>, BuildError> {
        let mut removed = self.prune_containers(sweep)?;
        let mut current = BTreeSet::new();
        let images = self.ours("to prune")?;
        let specs = self.specs_with(&images);
        for spec in &specs {
            current.insert(reference(spec, self.inputs(spec)?)?.to_string());
        }
        let engine = self
            .engine
            .probe()
            .map_err(|source| engine_error("to prune", source))?
            .endpoint;
        let made = self.installed_images().read()?;
        // CacheRecord until the end: what is found unguarded must not begin to be built meanwhile.
        let mut guards = Vec::new();
        for image in &images {
            // An image without a tag was built by the installation that gave it one.
            let is_made = |tag: &str| match tag == image.id {
                true => made.iter().any(|one| one.is(&image.id, None, &engine)),
                false => made.iter().any(|one| one.is(&image.id, Some(tag), &engine)),
            };
            let mut stale = BTreeSet::new();
            for tag in names(image) {
                if is_made(&tag) && !current.contains(&tag) && self.is_idle(&tag, &mut guards)? {
                    stale.insert(tag);
                }
            }
            let is_stale = |tag: &str| stale.contains(tag);
            match self.remove_tags("to prune", image, is_stale, sweep) {
                Err(BuildError::Engine {
                    source: EngineError::InUse { .. },
                    ..
                }) => {}
                result => removed.extend(result?),
            }
        }
        drop(guards);
        if sweep == Sweep::Remove {
            let left = self.ours("to prune")?;
            self.installed_images().forget(&engine, |one| {
                left.iter().any(|image| one.is(&image.id, None, &engine))
            })?;
        }
        removed.extend(self.prune_cache(&specs, sweep)?);
        Ok(removed)
    }

    /// Whether no build is under way that the tag belongs to; takes its guard if so. Tags of
    /// whole images belong to none.
    fn is_idle(&self, tag: &str, guards: &mut Vec<CacheLock>) -> Result<bool, CacheError> {
        let key = if let Some(rest) = tag.strip_prefix("localhost/lazaret/build:") {
            rest.rsplit_once('-').map(|(key, _process)| key.to_owned())
        } else if let Some(rest) = tag.strip_prefix("localhost/lazaret/candidate:") {
            let image = rest.rsplitn(3, '-').nth(2);
            image.map(candidate_key)
        } else {
            return Ok(true);
        };
        let Some(key) = key else {
            return Ok(false);
        };
        let entry = CacheEntry {
            cache: self.cache,
            key: &key,
        };
        let guard = entry.try_lock()?;
        let is_idle = guard.is_some();
        guards.extend(guard);
        Ok(is_idle)
    }

    fn ours(&self, image: &str) -> Result<Vec<ImageInfo>, BuildError> {
        let images = self.engine.images(IMAGE_LABEL);
        images.map_err(|source| engine_error(image, source))
    }

    fn remove_tags(
        &self,
        name: &str,
        image: &ImageInfo,
        is_wanted: impl Fn(&str) -> bool,
        sweep: Sweep,
    ) -> Result<Vec<Removed>, BuildError> {
        let mut removed = Vec::new();
        for tag in names(image).into_iter().filter(|tag| is_wanted(tag)) {
            if sweep == Sweep::Remove {
                let reference: ImageRef = tag.parse()?;
                match self.engine.remove_image(&reference) {
                    Ok(()) | Err(EngineError::NotFound { .. }) => {}
                    Err(source) => return Err(engine_error(name, source)),
                }
            }
            removed.push(Removed::Image {
                reference: tag,
                bytes: image.size,
            });
        }
        Ok(removed)
    }

    /// Removes containers of this cache's builds whose lock is free.
    fn prune_containers(&self, sweep: Sweep) -> Result<Vec<Removed>, BuildError> {
        let containers = self.engine.containers(BUILD_LABEL);
        let containers = containers.map_err(|source| engine_error("to prune", source))?;
        let mut removed = Vec::new();
        for container in containers {
            let key = container.labels.get(BUILD_LABEL).map(String::as_str);
            let Some(key) = key.and_then(|label| self.key_of(label)) else {
                continue;
            };
            let entry = CacheEntry {
                cache: self.cache,
                key: &key,
            };
            let Some(_guard) = entry.try_lock()? else {
                continue;
            };
            if sweep == Sweep::Remove {
                self.engine
                    .remove_container(&container.name)
                    .map_err(|source| engine_error("to prune", source))?;
            }
            removed.push(Removed::Container {
                name: container.name.to_string(),
            });
        }
        Ok(removed)
    }

    fn prune_cache(
        &self,
        specs: &[Cow<'_, ImageSpec>],
        sweep: Sweep,
    ) -> Result<Vec<Removed>, BuildError> {
        let mut used = BTreeSet::new();
        for spec in specs {
            self.collect_keys(spec, &mut used)?;
        }
        Ok(prune_entries(self, &used, sweep)?)
    }

    /// Collects the keys of all layers that a declaration leads to, as far as they are there.
    fn collect_keys(
        &self,
        spec: &ImageSpec,
        used: &mut BTreeSet<PathBuf>,
    ) -> Result<(), BuildError> {
        if let Some(stack) = self.stack(spec, &mut OnCacheMiss::Skip)? {
            used.extend(stack.files());
        }
        Ok(())
    }
}

/// The tags of an image; its id, where it has none.
fn names(image: &ImageInfo) -> Vec<String> {
    match image.tags.is_empty() {
        true => vec![image.id.clone()],
        false => image.tags.clone(),
    }
}

/// Removes the entries that none of the files in `used` lies in.
fn prune_entries(
    builder: &Builder<'_>,
    used: &BTreeSet<PathBuf>,
    sweep: Sweep,
) -> Result<Vec<Removed>, CacheError> {
    let mut removed = Vec::new();
    let entries = match fs::read_dir(builder.cache) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(removed),
        Err(error) => return Err(at(builder.cache)(error)),
    };
    for found in entries {
        let found = found.map_err(at(builder.cache))?;
        let path = found.path();
        let name = found.file_name().to_string_lossy().into_owned();
        let metadata = found.metadata().map_err(at(&path))?;
        let age = metadata
            .modified()
            .ok()
            .and_then(|time| time.elapsed().ok());
        let is_young = age.is_none_or(|age| age < SPARED);
        let is_used = used.iter().any(|file| file.starts_with(&path));
        let key = name.split(".new-").next().unwrap_or(&name);
        if !metadata.is_dir() || is_young || is_used {
            continue;
        }
        let entry = CacheEntry {
            cache: builder.cache,
            key,
        };
        let Some(_guard) = entry.try_lock()? else {
            continue;
        };
        let bytes = size(&path);
        if sweep == Sweep::Remove {
            fs::remove_dir_all(&path).map_err(at(&path))?;
        }
        removed.push(Removed::Layer { path, bytes });
    }
    Ok(removed)
}

/// Returns the bytes of the files in an entry.
fn size(entry: &std::path::Path) -> u64 {
    let files = fs::read_dir(entry).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.metadata().ok())
        .map(|found| found.len())
        .sum()
}

fn engine_error(image: &str, source: EngineError) -> BuildError {
    BuildError::Engine {
        image: image.to_owned(),
        source,
    }
}

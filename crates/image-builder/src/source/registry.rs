//! `RegistryBase`: an image pinned by digest as the lower layers of ours.
//!
//! The engine fetches it and hands it out as an archive; its layers are taken over
//! as they are, into the cache. Nothing else of the image is: not its user, its
//! entrypoint, its volumes, its labels. Set-id bits in it stay, and gain nothing:
//! containers run with no-new-privileges (CON-03).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use flate2::read::GzDecoder;
use lazaret_runtime::{Engine, EngineError, ImageRef, NameError};
use lazaret_tree::escape;
use serde::{Deserialize, Serialize};

use crate::cache::entry::{Aged, CacheEntry, CacheError, CacheLock, CacheRecord, at};
use crate::cache::layer_cache::Cached;
use crate::cache::lock::LockedLayer;
use crate::image::archive::{Layer, LayerSource};
use crate::layer::writer::{Hashing, LayerDigest};
use crate::{BuildEvent, PinnedReference};

/// The name of the record in the cache entry.
const RECORD: &str = "taken.json";

/// The largest description in an archive, in bytes. Layers are not described in it.
const MAX_JSON: u64 = 4 << 20;

/// Why a registry image can't be built on. Nothing that was there before has changed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The engine.
    #[error("fetch {base}: {source}")]
    Engine {
        /// The image.
        base: String,
        /// The cause.
        source: EngineError,
    },
    /// The reference is one that no engine takes.
    #[error(transparent)]
    Name(#[from] NameError),
    /// For another processor.
    #[error("{base} is for {found}, the porter for {expected}")]
    Architecture {
        /// The image.
        base: String,
        /// Its architecture.
        found: String,
        /// The porter's.
        expected: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The engine's archive is not what the format says.
    #[error("{base}: the engine's archive {reason}")]
    Archive {
        /// The image.
        base: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A registry image, pinned by digest.
#[derive(Debug)]
pub(crate) struct RegistryBase<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) image: &'a str,
    pub(crate) base: &'a PinnedReference,
    /// The name of its cache entry: [`RegistryBase::key`].
    pub(crate) key: String,
    pub(crate) architecture: &'a str,
    pub(crate) cache: &'a Path,
}

/// What the cache holds of a registry image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PulledBase {
    /// Its layers, lowest first.
    layers: Vec<PulledLayer>,
    /// Where it looks for programs, if it says so.
    pub(crate) path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PulledLayer {
    sha256: String,
    bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    config: String,
    layers: Vec<String>,
}

#[derive(Deserialize)]
struct ImageConfig {
    #[serde(default)]
    config: ContainerConfig,
    rootfs: RootFs,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct ContainerConfig {
    env: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

impl PulledBase {
    /// Returns the layers for a lock.
    pub(crate) fn locked(&self, base: &PinnedReference) -> Vec<LockedLayer> {
        let (name, digest) = base.as_str().split_once('@').unwrap_or((base.as_str(), ""));
        let layers = self.layers.iter();
        layers
            .map(|layer| LockedLayer {
                name: name.to_owned(),
                source: "registry".to_owned(),
                version: digest.to_owned(),
                layer: format!("sha256:{}", layer.sha256),
                bytes: layer.bytes,
                packages: BTreeMap::new(),
            })
            .collect()
    }
}

/// Where a member of the archive is.
enum Member {
    At {
        offset: u64,
        size: u64,
    },
    /// `docker save` writes a layer that occurs twice as a link to the first.
    Link {
        target: String,
    },
}

impl Cached for RegistryBase<'_> {
    type Value = PulledBase;
    type Error = RegistryError;

    fn image(&self) -> &str {
        self.image
    }

    fn entry(&self) -> CacheEntry<'_> {
        CacheEntry {
            cache: self.cache,
            key: &self.key,
        }
    }

    fn load(&self) -> Option<Aged<PulledBase>> {
        let entry = self.entry();
        let CacheRecord { text, age } = entry.record(RECORD)?;
        let pulled: PulledBase = serde_json::from_str(&text).ok()?;
        let is_whole = |layer: &PulledLayer| {
            fs::metadata(entry.dir().join(layer_name(&layer.sha256)))
                .is_ok_and(|found| found.len() == layer.bytes)
        };
        let is_whole = pulled.layers.iter().all(is_whole);
        is_whole.then_some(Aged { value: pulled, age })
    }

    /// Fetches the image into the engine and copies its layers.
    ///
    /// # Errors
    /// Names the step that failed.
    fn make(
        &self,
        lock: &CacheLock,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<PulledBase, RegistryError> {
        self.fetch(lock, on_event)
    }
}

impl RegistryBase<'_> {
    /// Returns the name of the cache entry of a pinned image.
    pub(crate) fn key(base: &PinnedReference) -> String {
        let (_, hex) = base.as_str().split_once("@sha256:").unwrap_or_default();
        format!("registry-{hex}")
    }

    /// Returns the layers, lowest first.
    pub(crate) fn layers(&self, pulled: &PulledBase) -> Vec<Layer> {
        let layers = pulled.layers.iter();
        layers
            .map(|PulledLayer { sha256, bytes }| Layer {
                purpose: format!("{}", self.base),
                digest: LayerDigest {
                    hex: sha256.clone(),
                    size: *bytes,
                },
                source: LayerSource::File(self.entry().dir().join(layer_name(sha256))),
            })
            .collect()
    }

    fn fetch(
        &self,
        lock: &CacheLock,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<PulledBase, RegistryError> {
        let engine = self.engine;
        let entry = self.entry();
        let base = || self.base.to_string();
        let failed = |source| RegistryError::Engine {
            base: base(),
            source,
        };
        let reference: ImageRef = self.base.as_str().parse()?;
        let found = match engine.image(&reference).map_err(failed)? {
            Some(found) => found,
            None => {
                on_event(BuildEvent::Pulling {
                    image: self.image.to_owned(),
                    base: base(),
                });
                engine.pull_image(&reference).map_err(failed)?;
                let not_found = || EngineError::NotFound {
                    what: "image",
                    name: base(),
                };
                engine
                    .image(&reference)
                    .map_err(failed)?
                    .ok_or_else(|| failed(not_found()))?
            }
        };
        if found.architecture != self.architecture {
            return Err(RegistryError::Architecture {
                base: base(),
                found: escape(found.architecture.as_bytes()),
                expected: self.architecture.to_owned(),
            });
        }
        let scratch = entry.scratch(lock)?;
        let path = scratch.path().join("image.tar");
        let mut out = BufWriter::new(File::create_new(&path).map_err(at(&path))?);
        engine.save_image(&reference, &mut out).map_err(failed)?;
        out.flush().map_err(at(&path))?;
        drop(out);

        on_event(BuildEvent::Tidying {
            image: self.image.to_owned(),
        });
        let mut archive = File::open(&path).map_err(at(&path))?;
        let pulled = self.take(&mut archive, scratch.path())?;
        let text = serde_json::to_string(&pulled).map_err(|error| at(&path)(error.into()))?;
        self.commit(scratch.path(), &pulled, &text)?;
        Ok(pulled)
    }

    /// Moves the layers into the cache. The record comes last and makes them count.
    fn commit(&self, scratch: &Path, pulled: &PulledBase, text: &str) -> Result<(), CacheError> {
        let entry = self.entry();
        let dir = entry.dir();
        crate::private_dir(&dir).map_err(at(&dir))?;
        for layer in &pulled.layers {
            let name = layer_name(&layer.sha256);
            let fresh = scratch.join(&name);
            // One that occurs twice is there already.
            if fresh.exists() {
                fs::rename(&fresh, dir.join(&name)).map_err(at(&fresh))?;
            }
        }
        entry.commit_record(scratch, RECORD, text)
    }

    /// Copies the layers out of the archive into `scratch`, each checked against its digest.
    fn take(&self, archive: &mut File, scratch: &Path) -> Result<PulledBase, RegistryError> {
        let members = index(archive).map_err(|error| self.bad(&format!("is no tar: {error}")))?;
        let manifests: Vec<Manifest> = self.json(archive, &members, "manifest.json")?;
        let [manifest] = manifests.as_slice() else {
            return Err(self.bad("does not hold exactly one image"));
        };
        let config: ImageConfig = self.json(archive, &members, &manifest.config)?;
        if config.rootfs.diff_ids.len() != manifest.layers.len() {
            return Err(self.bad("names more layers than it describes, or fewer"));
        }
        let mut layers = Vec::new();
        for (name, diff_id) in manifest.layers.iter().zip(&config.rootfs.diff_ids) {
            let (offset, size) = self.find(&members, name)?;
            let expected = diff_id.strip_prefix("sha256:").unwrap_or(diff_id);
            let path = scratch.join(format!("layer-{}", layers.len()));
            let digest = copy_layer(archive, offset, size, &path).map_err(at(&path))?;
            if digest.hex != expected {
                return Err(self.bad("has a layer that does not match its digest"));
            }
            let named = scratch.join(layer_name(&digest.hex));
            fs::rename(&path, &named).map_err(at(&path))?;
            layers.push(PulledLayer {
                sha256: digest.hex,
                bytes: digest.size,
            });
        }
        let env = config.config.env.unwrap_or_default();
        let path = env
            .iter()
            .find_map(|variable| variable.strip_prefix("PATH="))
            .map(str::to_owned);
        Ok(PulledBase { layers, path })
    }

    fn json<T: serde::de::DeserializeOwned>(
        &self,
        archive: &mut File,
        members: &BTreeMap<String, Member>,
        name: &str,
    ) -> Result<T, RegistryError> {
        let (offset, size) = self.find(members, name)?;
        if size > MAX_JSON {
            return Err(self.bad("has a description that is too long"));
        }
        let mut text = Vec::new();
        archive
            .seek(SeekFrom::Start(offset))
            .and_then(|_| archive.take(size).read_to_end(&mut text))
            .map_err(|error| self.bad(&format!("can't be read: {error}")))?;
        serde_json::from_slice(&text)
            .map_err(|error| self.bad(&format!("has a bad {}: {error}", escape(name.as_bytes()))))
    }

    fn find(
        &self,
        members: &BTreeMap<String, Member>,
        name: &str,
    ) -> Result<(u64, u64), RegistryError> {
        let missing = || self.bad(&format!("lacks {}", escape(name.as_bytes())));
        let mut member = members.get(name).ok_or_else(missing)?;
        if let Member::Link { target } = member {
            let target = target.strip_prefix("../").unwrap_or(target);
            member = members.get(target).ok_or_else(missing)?;
        }
        match member {
            Member::At { offset, size } => Ok((*offset, *size)),
            Member::Link { .. } => Err(missing()),
        }
    }

    fn bad(&self, reason: &str) -> RegistryError {
        RegistryError::Archive {
            base: self.base.to_string(),
            reason: reason.to_owned(),
        }
    }
}

fn index(archive: &mut File) -> io::Result<BTreeMap<String, Member>> {
    let mut members = BTreeMap::new();
    archive.seek(SeekFrom::Start(0))?;
    for entry in tar::Archive::new(archive).entries_with_seek()? {
        let entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let member = match entry.header().entry_type() {
            tar::EntryType::Regular => Member::At {
                offset: entry.raw_file_position(),
                size: entry.size(),
            },
            tar::EntryType::Symlink | tar::EntryType::Link => {
                let target = entry.link_name_bytes().unwrap_or_default();
                Member::Link {
                    target: String::from_utf8_lossy(&target).into_owned(),
                }
            }
            _ => continue,
        };
        members.insert(name, member);
    }
    Ok(members)
}

/// Copies a layer to `path`, unpacked if it is compressed, and hashes it.
fn copy_layer(archive: &mut File, offset: u64, size: u64, path: &Path) -> io::Result<LayerDigest> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut magic = [0; 2];
    archive.seek(SeekFrom::Start(offset))?;
    let is_gzip = size > 2 && archive.read_exact(&mut magic).is_ok() && magic == GZIP;
    archive.seek(SeekFrom::Start(offset))?;
    let stored = BufReader::with_capacity(1 << 20, archive).take(size);
    let mut contents: Box<dyn Read + '_> = if is_gzip {
        Box::new(GzDecoder::new(stored))
    } else {
        Box::new(stored)
    };
    let mut out = Hashing::new(BufWriter::with_capacity(1 << 20, File::create_new(path)?));
    io::copy(&mut contents, &mut out)?;
    let (out, digest) = out.finish();
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    Ok(digest)
}

fn layer_name(sha256: &str) -> String {
    format!("{sha256}.tar")
}

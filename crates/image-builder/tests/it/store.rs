//! An engine that has nothing but a store of images, and lies when told to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lazaret_image_builder::{Builder, Catalog, HostEnvironment};
use lazaret_runtime::{
    Capabilities, ContainerInfo, ContainerName, Engine, EngineError, EngineInfo, EngineKind,
    ExecSpec, HardenedSpec, ImageInfo, ImageRef, Process, UserNamespace, VolumeInfo, VolumeName,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// All that a builder borrows.
#[derive(Debug)]
pub(crate) struct Yard<'a> {
    engine: Arc<dyn Engine>,
    porter: &'a [u8],
    cache: &'a Path,
    pub(crate) installed: PathBuf,
    pub(crate) catalog: Catalog,
    surroundings: HostEnvironment,
}

impl<'a> Yard<'a> {
    pub(crate) fn new(engine: Arc<dyn Engine>, porter: &'a [u8], cache: &'a Path) -> Self {
        Self {
            engine,
            porter,
            cache,
            installed: cache.join("ledger"),
            catalog: Catalog::embedded().unwrap(),
            surroundings: HostEnvironment::plain(),
        }
    }

    pub(crate) fn builder(&self) -> Builder<'_> {
        Builder {
            engine: &self.engine,
            porter: self.porter,
            cache: self.cache,
            installed: &self.installed,
            catalog: &self.catalog,
            host: &self.surroundings,
        }
    }
}

/// What the engine does with an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loading {
    /// Stores it.
    Faithful,
    /// Stores something else under its tag.
    Mangling,
    /// Breaks off in the middle.
    Breaking,
    /// Stores it, and keeps the first that is to be removed: as if the build had been killed.
    Keeping,
}

/// Clones share the images.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) architecture: &'static str,
    /// The architecture of what it pulls.
    pub(crate) pulled: &'static str,
    pub(crate) loading: Loading,
    /// What the registry holds: a `docker save` archive for each reference.
    pub(crate) registry: BTreeMap<String, Vec<u8>>,
    images: Arc<Mutex<BTreeMap<String, ImageInfo>>>,
    loads: Arc<Mutex<Vec<Vec<u8>>>>,
    kept_one: Arc<Mutex<bool>>,
    cache: Arc<tempfile::TempDir>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            architecture: "amd64",
            pulled: "amd64",
            loading: Loading::Faithful,
            registry: BTreeMap::new(),
            images: Arc::default(),
            loads: Arc::default(),
            kept_one: Arc::default(),
            cache: Arc::new(tempfile::tempdir().unwrap()),
        }
    }

    /// A cache for builds that are brought here.
    pub(crate) fn cache(&self) -> &Path {
        self.cache.path()
    }

    /// Returns the tags of all images, sorted.
    pub(crate) fn tags(&self) -> Vec<String> {
        let images = self.images.lock().unwrap();
        images
            .keys()
            .filter(|name| !name.starts_with("sha256:"))
            .cloned()
            .collect()
    }

    /// Returns every archive that was loaded completely.
    pub(crate) fn loads(&self) -> Vec<Vec<u8>> {
        self.loads.lock().unwrap().clone()
    }

    /// Changes what the engine says of a stored image.
    pub(crate) fn tamper(&self, image: &ImageRef, change: impl FnOnce(&mut ImageInfo)) {
        change(self.images.lock().unwrap().get_mut(image.as_str()).unwrap());
    }
}

fn refused<T>(verb: &'static str) -> Result<T, EngineError> {
    let message = "this engine has images only".to_owned();
    Err(EngineError::Refused {
        verb,
        status: 501,
        message,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Engine for Store {
    fn probe(&self) -> Result<EngineInfo, EngineError> {
        Ok(EngineInfo {
            kind: EngineKind::Fake,
            version: "0".to_owned(),
            api_version: None,
            endpoint: "memory".to_owned(),
            rootless: false,
            user_namespace: UserNamespace::Host,
            architecture: self.architecture.to_owned(),
            cores: None,
            cgroup_version: String::new(),
            runtime: String::new(),
            capabilities: Capabilities::SHARED_KERNEL,
            unenforceable: Vec::new(),
            not_applicable: BTreeMap::new(),
            nofile_hard: None,
            nproc_hard: None,
            warnings: Vec::new(),
        })
    }

    fn load_image(&self, archive: &mut (dyn Read + Send)) -> Result<String, EngineError> {
        let mut bytes = Vec::new();
        if self.loading == Loading::Breaking {
            archive.take(1000).read_to_end(&mut bytes).unwrap();
            let message = "no space left on device".to_owned();
            return Err(EngineError::Refused {
                verb: "load image",
                status: 500,
                message,
            });
        }
        archive.read_to_end(&mut bytes).unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut contents = Vec::new();
            entry.read_to_end(&mut contents).unwrap();
            files.insert(name, contents);
        }
        let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
        let config_name = text(&manifest[0]["Config"]);
        let config: Value = serde_json::from_slice(&files[&config_name]).unwrap();
        for (file, diff_id) in std::iter::zip(
            manifest[0]["Layers"].as_array().unwrap(),
            config["rootfs"]["diff_ids"].as_array().unwrap(),
        ) {
            let digest = Sha256::digest(&files[&text(file)]);
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(format!("sha256:{hex}"), text(diff_id));
        }
        let mut id = format!("sha256:{}", config_name.trim_end_matches(".json"));
        if self.loading == Loading::Mangling {
            id = format!("sha256:{}", "0".repeat(64));
        }
        let labels = config["config"]["Labels"].as_object().unwrap();
        let tag = text(&manifest[0]["RepoTags"][0]);
        let image = ImageInfo {
            id: id.clone(),
            tags: vec![tag.clone()],
            size: bytes.len() as u64,
            labels: labels
                .iter()
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
            volumes: Vec::new(),
            entrypoint: vec![text(&config["config"]["Entrypoint"][0])],
            architecture: text(&config["architecture"]),
        };
        self.images.lock().unwrap().insert(tag, image);
        self.loads.lock().unwrap().push(bytes);
        Ok(id)
    }

    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError> {
        Ok(self.images.lock().unwrap().get(image.as_str()).cloned())
    }

    fn images(&self, label_key: &str) -> Result<Vec<ImageInfo>, EngineError> {
        // One entry for an image, with all its tags, as engines list them.
        let mut listed: Vec<ImageInfo> = Vec::new();
        for (name, image) in &*self.images.lock().unwrap() {
            if !image.labels.contains_key(label_key) {
                continue;
            }
            let tag = (!name.starts_with("sha256:")).then(|| name.clone());
            match listed.iter_mut().find(|one| one.id == image.id) {
                Some(one) => one.tags.extend(tag),
                None => listed.push(ImageInfo {
                    tags: Vec::from_iter(tag),
                    ..image.clone()
                }),
            }
        }
        Ok(listed)
    }

    fn pull_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        if !self.registry.contains_key(image.as_str()) {
            let name = image.to_string();
            return Err(EngineError::NotFound {
                what: "image",
                name,
            });
        }
        let pulled = ImageInfo {
            id: format!("sha256:{}", "b".repeat(64)),
            tags: Vec::new(),
            size: 0,
            labels: BTreeMap::new(),
            volumes: vec!["/surprise".to_owned()],
            entrypoint: vec!["/bin/sh".to_owned()],
            architecture: self.pulled.to_owned(),
        };
        self.images
            .lock()
            .unwrap()
            .insert(image.to_string(), pulled);
        Ok(())
    }

    fn save_image(
        &self,
        image: &ImageRef,
        archive: &mut (dyn Write + Send),
    ) -> Result<(), EngineError> {
        archive.write_all(&self.registry[image.as_str()]).unwrap();
        Ok(())
    }

    fn tag_image(&self, image: &ImageRef, tag: &ImageRef) -> Result<(), EngineError> {
        let mut images = self.images.lock().unwrap();
        let found = images.values().find(|found| found.id == image.as_str());
        let found = found.unwrap().clone();
        images.insert(tag.to_string(), found);
        Ok(())
    }

    fn remove_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        let is_kept = !std::mem::replace(&mut *self.kept_one.lock().unwrap(), true);
        if self.loading == Loading::Keeping && is_kept {
            return Ok(());
        }
        self.images.lock().unwrap().remove(image.as_str());
        Ok(())
    }

    fn create_volume(
        &self,
        _: &VolumeName,
        _: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        refused("create volume")
    }

    fn remove_volume(&self, _: &VolumeName) -> Result<(), EngineError> {
        refused("remove volume")
    }

    fn volumes(&self, _: &str) -> Result<Vec<VolumeInfo>, EngineError> {
        refused("list volumes")
    }

    fn create_container(&self, _: &HardenedSpec) -> Result<(), EngineError> {
        refused("create container")
    }

    fn start_container(&self, _: &ContainerName) -> Result<(), EngineError> {
        refused("start container")
    }

    fn stop_container(&self, _: &ContainerName, _: Duration) -> Result<(), EngineError> {
        refused("stop container")
    }

    fn signal_container(&self, _: &ContainerName, _: i32) -> Result<(), EngineError> {
        refused("signal container")
    }

    fn pause_container(&self, _: &ContainerName) -> Result<(), EngineError> {
        refused("pause container")
    }

    fn unpause_container(&self, _: &ContainerName) -> Result<(), EngineError> {
        refused("unpause container")
    }

    fn container(&self, _: &ContainerName) -> Result<Option<ContainerInfo>, EngineError> {
        refused("look container up")
    }

    fn containers(&self, _: &str) -> Result<Vec<ContainerInfo>, EngineError> {
        Ok(Vec::new())
    }

    fn remove_container(&self, _: &ContainerName) -> Result<(), EngineError> {
        refused("remove container")
    }

    fn exec(&self, _: &ContainerName, _: &ExecSpec) -> Result<Process, EngineError> {
        refused("exec")
    }
}

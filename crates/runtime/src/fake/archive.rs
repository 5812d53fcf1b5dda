//! Reads what the in-memory engine needs of a `docker save` archive: names and the config.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Read;

use serde::Deserialize;

use crate::{EngineError, ImageInfo};

const BLOCK: usize = 512;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    config: String,
    repo_tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Image {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    config: Config,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Config {
    labels: Option<BTreeMap<String, String>>,
    volumes: Option<BTreeMap<String, serde_json::Value>>,
    entrypoint: Option<Vec<String>>,
}

/// Reads an archive to its end.
pub(super) fn read_image(archive: &mut dyn Read) -> Result<ImageInfo, EngineError> {
    const VERB: &str = "load image";
    let mut bytes = Vec::new();
    archive
        .read_to_end(&mut bytes)
        .map_err(|source| EngineError::Stream { verb: VERB, source })?;
    describe(&bytes).ok_or_else(|| EngineError::Refused {
        verb: VERB,
        status: 500,
        message: "not an image archive".to_owned(),
    })
}

fn describe(bytes: &[u8]) -> Option<ImageInfo> {
    let files = files(bytes);
    let manifests: Vec<Manifest> = serde_json::from_slice(files.get("manifest.json")?).ok()?;
    let [manifest] = manifests.as_slice() else {
        return None;
    };
    let config = files.get(manifest.config.as_str())?;
    let image: Image = serde_json::from_slice(config).ok()?;
    let mut hasher = DefaultHasher::new();
    hasher.write(config);
    Some(ImageInfo {
        id: format!("sha256:{:064x}", hasher.finish()),
        tags: manifest.repo_tags.clone().unwrap_or_default(),
        size: bytes.len() as u64,
        labels: image.config.labels.unwrap_or_default(),
        volumes: image
            .config
            .volumes
            .unwrap_or_default()
            .into_keys()
            .collect(),
        entrypoint: image.config.entrypoint.unwrap_or_default(),
        architecture: image.architecture,
    })
}

/// Returns the plain files of a tar with short names.
fn files(mut rest: &[u8]) -> BTreeMap<&str, &[u8]> {
    let mut files = BTreeMap::new();
    while let Some((header, behind)) = rest.split_at_checked(BLOCK) {
        let text = |range: std::ops::Range<usize>| {
            let field = header.get(range)?.split(|&byte| byte == 0).next()?;
            std::str::from_utf8(field).ok()
        };
        let (Some(name), Some(size)) = (text(0..100), text(124..136)) else {
            break;
        };
        let Ok(size) = usize::from_str_radix(size.trim(), 8) else {
            break;
        };
        let Some(body) = behind.get(..size) else {
            break;
        };
        files.insert(name, body);
        rest = behind
            .get(size.next_multiple_of(BLOCK)..)
            .unwrap_or_default();
    }
    files
}

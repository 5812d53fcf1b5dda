//! `inspect`: what must be true of an image before a container is made of it (CON-25).

use lazaret_protocol::PORTER_PATH;
use lazaret_runtime::{ImageInfo, ImageRef, NameError};

use crate::{IMAGE_LABEL, INPUTS_LABEL};

/// An image that was looked at, named by its id: a tag that moves afterwards
/// changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    reference: ImageRef,
}

impl Pinned {
    /// Names an image by the id that its build here has.
    ///
    /// # Errors
    /// When the id is no reference.
    pub(crate) fn built_here(id: &str) -> Result<Self, NameError> {
        let reference = id.parse()?;
        Ok(Self { reference })
    }

    /// Returns the id as a reference, for a container spec.
    pub fn reference(&self) -> &ImageRef {
        &self.reference
    }
}

/// Why an image is not started. Texts of the image itself are quoted and escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageRefusal {
    /// It was not made by lazaret.
    #[error("the image {id:?} has no label {label}: it was not built by lazaret")]
    Foreign {
        /// The engine's id.
        id: String,
        /// The label that is missing.
        label: &'static str,
    },
    /// It declares a volume, which the engine would fill and keep behind our back.
    #[error("the image {id:?} declares the volumes {volumes:?}")]
    SurpriseVolume {
        /// The engine's id.
        id: String,
        /// What it declares.
        volumes: Vec<String>,
    },
    /// PID 1 would not be the porter.
    #[error("the image {id:?} starts {entrypoint:?}, expected the porter")]
    SurpriseEntrypoint {
        /// The engine's id.
        id: String,
        /// What it declares.
        entrypoint: Vec<String>,
    },
    /// The engine's id is no digest.
    #[error("the engine names the image by {id:?}, which is no sha256 digest")]
    NotPinned {
        /// The engine's id.
        id: String,
        /// What is wrong with it, where it is not even a reference.
        source: Option<NameError>,
    },
}

/// Looks at an image before a container is made of it.
///
/// # Errors
/// Refuses an image that is not ours, that declares a volume, or whose entrypoint
/// is not the porter.
pub fn inspect(image: &ImageInfo) -> Result<Pinned, ImageRefusal> {
    let id = || image.id.clone();
    let hex = image.id.strip_prefix("sha256:").unwrap_or(&image.id);
    let is_digest = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest {
        return Err(ImageRefusal::NotPinned {
            id: id(),
            source: None,
        });
    }
    let reference = format!("sha256:{hex}")
        .parse()
        .map_err(|source| ImageRefusal::NotPinned {
            id: id(),
            source: Some(source),
        })?;
    for label in [IMAGE_LABEL, INPUTS_LABEL] {
        if !image.labels.contains_key(label) {
            return Err(ImageRefusal::Foreign { id: id(), label });
        }
    }
    if !image.volumes.is_empty() {
        return Err(ImageRefusal::SurpriseVolume {
            id: id(),
            volumes: image.volumes.clone(),
        });
    }
    if image.entrypoint != [PORTER_PATH] {
        return Err(ImageRefusal::SurpriseEntrypoint {
            id: id(),
            entrypoint: image.entrypoint.clone(),
        });
    }
    Ok(Pinned { reference })
}

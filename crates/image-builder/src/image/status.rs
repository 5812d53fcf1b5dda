//! What is known of an image without building it.

use std::time::Duration;

use lazaret_runtime::ImageRef;

use crate::image::build::reference;
use crate::image::layers::OnCacheMiss;
use crate::{BuildError, Builder, IMAGE_LABEL, ImageSpec, OldLayer};

/// Whether an image is in the engine's store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageState {
    /// No build of it is there.
    Missing,
    /// Only builds from other inputs are there, or one older than `max_age`.
    Stale,
    /// The build of these very inputs is there.
    Current,
}

/// Why an image is stale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A declaration is another one now, or lazaret is.
    Inputs,
    /// A layer is older than allowed.
    Age(OldLayer),
}

/// What is known of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageStatus {
    /// Whether it is there.
    pub state: ImageState,
    /// Why it is stale, where it is.
    pub reason: Option<Reason>,
    /// Bytes of the build that is there.
    pub size: Option<u64>,
    /// Time since its oldest layer was made, where this machine's cache knows it.
    pub age: Option<Duration>,
}

/// A declared image and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedImage {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The tag that the build of these inputs has or would have.
    pub reference: ImageRef,
    /// Whether it is there.
    pub status: ImageStatus,
}

impl Builder<'_> {
    /// Says whether the image `name` is there, without building anything.
    ///
    /// # Errors
    /// When there is no such declaration, or the engine does not answer.
    pub fn status(&self, name: &str) -> Result<ImageStatus, BuildError> {
        self.status_of(self.spec(name)?.as_ref())
    }

    /// Lists every declared image, and the combined ones that the engine has or the catalogue
    /// was told of.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn list(&self) -> Result<Vec<ListedImage>, BuildError> {
        let store = self.engine.images(IMAGE_LABEL);
        let store = store.map_err(|source| BuildError::Engine {
            image: "to list".to_owned(),
            source,
        })?;
        self.specs_with(&store)
            .iter()
            .map(|spec| {
                Ok(ListedImage {
                    name: spec.name.to_string(),
                    description: spec.description.clone(),
                    reference: reference(spec, self.inputs(spec)?)?,
                    status: self.status_of(spec)?,
                })
            })
            .collect()
    }

    fn status_of(&self, spec: &ImageSpec) -> Result<ImageStatus, BuildError> {
        let reference = reference(spec, self.inputs(spec)?)?;
        if let Some(image) = self.look_up(spec, &reference)? {
            let stack = self
                .stack(spec, &mut OnCacheMiss::Skip)?
                .unwrap_or_default();
            return Ok(ImageStatus {
                state: match stack.old {
                    Some(_) => ImageState::Stale,
                    None => ImageState::Current,
                },
                reason: stack.old.map(Reason::Age),
                size: Some(image.size),
                age: stack.age,
            });
        }
        let images = self
            .engine
            .images(IMAGE_LABEL)
            .map_err(|source| BuildError::Engine {
                image: spec.name.to_string(),
                source,
            })?;
        let old = images.iter().find(|image| {
            image
                .labels
                .get(IMAGE_LABEL)
                .is_some_and(|name| name == spec.name.as_str())
        });
        Ok(ImageStatus {
            state: if old.is_some() {
                ImageState::Stale
            } else {
                ImageState::Missing
            },
            reason: old.map(|_| Reason::Inputs),
            size: old.map(|image| image.size),
            age: None,
        })
    }
}

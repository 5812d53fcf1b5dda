//! An image as a file, for engines that lazaret can't load images into.

use std::io::{self, Write};

use lazaret_runtime::ImageRef;
use lazaret_tree::Digest;

use crate::image::build::reference;
use crate::image::layers::OnCacheMiss;
use crate::{BuildError, BuildEvent, Builder, ImageSpec, Pinned};

impl Builder<'_> {
    /// Writes the image `name` as the archive that `docker load` and `ctr images import` take, under
    /// the tag that sessions look for, and returns that. Layers that the cache lacks are built; the
    /// engine need not have the image.
    ///
    /// # Errors
    /// Names the step that failed.
    pub fn export(
        &self,
        name: &str,
        to: &mut dyn Write,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<ImageRef, BuildError> {
        let spec = self.spec(name)?;
        let inputs = self.inputs(&spec)?;
        let tag = reference(&spec, inputs)?;
        let stack = self.stack(&spec, &mut OnCacheMiss::Build(on_event))?;
        let stack = stack.unwrap_or_default();
        self.refuse_overlaps(&spec, &stack)?;
        let mut archive = self.archive(&spec, inputs, &tag, &stack)?;
        let written = io::copy(&mut archive, to);
        written.map_err(|source| BuildError::Assemble {
            image: spec.name.to_string(),
            source,
        })?;
        Ok(tag)
    }

    /// Names the image by the id that its build here has; `None` if its layers are not in the cache.
    pub(crate) fn built_here(
        &self,
        spec: &ImageSpec,
        inputs: Digest,
        tag: &ImageRef,
    ) -> Result<Option<Pinned>, BuildError> {
        let Some(stack) = self.stack(spec, &mut OnCacheMiss::Skip)? else {
            return Ok(None);
        };
        let archive = self.archive(spec, inputs, tag, &stack)?;
        Ok(Some(Pinned::built_here(&archive.id)?))
    }
}

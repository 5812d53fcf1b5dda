//! `BuildImage`: the image so far, in which an install step runs.

use std::path::Path;

use lazaret_runtime::ImageRef;

use super::source_error::SourceError;
use super::{apt_sources, host_rust};
use crate::cache::entry::at;
use crate::image::assemble::{self, Parts};
use crate::image::installed::Entry;
use crate::layer::stack::LayerStack;
use crate::{BuildError, BuildEvent, Builder, ImageSpec, Trust, User, elf};

/// The helpers that install steps find on their search path.
const APT_INSTALL: &str = include_str!("../scripts/apt-install.sh");
const CRATE_INSTALL: &str = include_str!("../scripts/crate-install.sh");

/// What a [`BuildImage`] is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuildImageContents<'a> {
    /// The image that is built.
    pub(super) spec: &'a ImageSpec,
    /// The layers so far.
    pub(super) stack: &'a LayerStack,
    /// The key of the layer that the step is to give.
    pub(super) key: &'a str,
}

/// The image that an install step runs in. It leaves the engine with this value.
pub(super) struct BuildImage<'a> {
    builder: &'a Builder<'a>,
    pub(super) reference: ImageRef,
}

impl<'a> BuildImage<'a> {
    /// Loads the image so far into the engine, with what install steps are given.
    ///
    /// # Errors
    /// The host has no certificates, the image can't be assembled, or the engine fails.
    pub(super) fn load(
        builder: &'a Builder<'a>,
        contents: BuildImageContents<'_>,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Self, SourceError> {
        let Builder {
            engine,
            porter,
            host,
            ..
        } = *builder;
        let BuildImageContents { spec, stack, key } = contents;
        let certificates = match spec.trust {
            Trust::Host => host.certificates().map_err(BuildError::from)?,
            Trust::Image => Vec::new(),
        };
        let sources = match &stack.suite {
            Some(suite) => apt_sources::read(Path::new("/etc/apt"), suite.as_str())
                .map_err(at(Path::new("/etc/apt")))?
                .unwrap_or_default(),
            None => String::new(),
        };
        let mut for_build: Vec<(&str, u32, &[u8])> = vec![
            ("apt-install", 0o755, APT_INSTALL.as_bytes()),
            ("crate-install", 0o755, CRATE_INSTALL.as_bytes()),
            ("rust-run", 0o755, host_rust::RUN.as_bytes()),
        ];
        if !certificates.is_empty() {
            for_build.push(("ca.pem", 0o644, &certificates));
        }
        if !sources.is_empty() {
            for_build.push(("apt.d/machine.sources", 0o644, sources.as_bytes()));
        }
        let process = std::process::id();
        let tag = format!("localhost/lazaret/build:{}-{process}", key);
        let mut archive = assemble::on_system(
            Parts {
                name: "build",
                description: "An image that is being built",
                user: &User::default(),
                porter,
                architecture: elf::architecture(porter).map_err(BuildError::from)?,
                inputs: key,
                tag: &tag,
                for_build: &for_build,
            },
            stack.layers.clone(),
            stack.path.as_deref(),
        )
        .map_err(at(builder.cache))?;
        on_event(BuildEvent::Loading {
            image: spec.name.to_string(),
            bytes: archive.size,
        });
        let reference = tag.parse::<ImageRef>().map_err(BuildError::from)?;
        let place = engine
            .probe()
            .map_err(|error| SourceError::Install(error.into()))?
            .endpoint;
        builder
            .installed_images()
            .note(&Entry::new(&archive.id, &tag, &place))?;
        engine
            .load_image(&mut archive)
            .map_err(|error| SourceError::Install(error.into()))?;
        Ok(Self { builder, reference })
    }
}

impl Drop for BuildImage<'_> {
    fn drop(&mut self) {
        // One that stays costs space until `image prune`, nothing else.
        drop(self.builder.engine.remove_image(&self.reference));
    }
}

//! How an engine is given the seccomp profile of a container that is being created.

use super::client::Inner;
use super::lower::SeccompRef;
use super::seccomp_file::SeccompFile;
use super::seccomp_volume::SeccompVolume;
use crate::{Endpoint, EngineError, EngineKind, HardenedSpec};

/// Where the profile is until the container is created.
pub(super) enum Seccomp<'a> {
    /// In the request.
    Inline,
    /// In a file of this machine.
    File(SeccompFile),
    /// On the engine's machine.
    Volume(SeccompVolume<'a>),
}

impl<'a> Seccomp<'a> {
    /// # Errors
    /// The engine's, or the file's.
    pub(super) async fn give(inner: &'a Inner, spec: &HardenedSpec) -> Result<Self, EngineError> {
        Ok(match (inner.kind().await?, inner.endpoint()) {
            (EngineKind::Podman, Endpoint::Unix(socket)) => {
                let written = SeccompFile::write(&spec.controls().seccomp, socket);
                Self::File(written.map_err(|source| EngineError::Stream {
                    verb: "write the seccomp profile",
                    source,
                })?)
            }
            (EngineKind::Podman, _) => Self::Volume(SeccompVolume::create(inner, spec).await?),
            _ => Self::Inline,
        })
    }

    pub(super) fn reference(&self, spec: &HardenedSpec) -> SeccompRef {
        match self {
            Self::Inline => SeccompRef::Inline(spec.controls().seccomp.to_string()),
            Self::File(file) => SeccompRef::Path(file.path().to_owned()),
            Self::Volume(volume) => SeccompRef::Path(volume.path().to_owned()),
        }
    }

    /// Removes what was only there for the call.
    pub(super) async fn take_back(self) {
        if let Self::Volume(volume) = self {
            volume.remove().await;
        }
    }
}

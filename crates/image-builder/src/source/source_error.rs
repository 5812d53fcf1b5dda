//! `SourceError`: why a source did not give a component.

use super::host_rust::HostRustError;
use crate::cache::entry::CacheError;
use crate::image::install_step::StepError;
use crate::layer::normalize::NormalizeError;
use crate::{BuildError, Version};

/// Why a source did not give a component.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// The vendor's site does not answer.
    #[error("{site} can't be reached: {reason}")]
    Unreachable {
        /// The host and port.
        site: String,
        /// Why.
        reason: String,
    },
    /// The install step.
    #[error("the install step: {0}")]
    Install(#[source] StepError),
    /// What it installed does not work.
    #[error("`{command}` after the install step: {source}")]
    Check {
        /// The command.
        command: String,
        /// The cause.
        source: StepError,
    },
    /// It has another version.
    #[error("it has version {found}, wanted {wanted}")]
    Version {
        /// What is there.
        found: String,
        /// What was asked for.
        wanted: Version,
    },
    /// The host's toolchain.
    #[error(transparent)]
    Host(#[from] HostRustError),
    /// What the step changed is nothing that an image could hold.
    #[error(transparent)]
    Normalize(#[from] NormalizeError),
    /// A tool that it needs, or the image that it runs in.
    #[error(transparent)]
    Build(Box<BuildError>),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl From<BuildError> for SourceError {
    fn from(error: BuildError) -> Self {
        Self::Build(Box::new(error))
    }
}

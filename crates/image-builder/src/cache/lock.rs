//! The records of what went into layers and images.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layer::writer::LayerDigest;

/// The only format of an image's lock. The first one was a bootstrapped layer's alone.
pub(crate) const IMAGE_FORMAT: u32 = 2;

/// One layer of an image: what is in it, where it came from, and its exact bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedLayer {
    /// The component, or `debian` or the reference for a base.
    pub name: String,
    /// Which of its sources gave it.
    pub source: String,
    /// The version that it says it has.
    pub version: String,
    /// Its SHA-256, uncompressed: the `diff_id`.
    pub layer: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The packages that came with it, or that it changed, and their versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub packages: BTreeMap<String, String>,
}

impl LockedLayer {
    pub(crate) fn parse(text: &str) -> Result<Self, LockError> {
        Ok(toml::from_str(text)?)
    }

    pub(crate) fn to_toml(&self) -> Result<String, LockError> {
        Ok(toml::to_string(self)?)
    }

    pub(crate) fn digest(&self) -> LayerDigest {
        LayerDigest {
            hex: hex_of(&self.layer).to_owned(),
            size: self.bytes,
        }
    }
}

/// The record of what went into an image: `images/<name>/lock.toml`. A record, not an
/// input: mirrors keep one version of a package only, and the host's toolchain is the
/// host's. Two machines with the same lock have the same image, but for the porter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageLock {
    /// The version of this format.
    pub format: u32,
    /// The image.
    pub image: String,
    /// The processor architecture, in Docker's words.
    pub architecture: String,
    /// Its layers, lowest first, without the porter's.
    pub layer: Vec<LockedLayer>,
}

impl ImageLock {
    /// Parses a lock file.
    ///
    /// # Errors
    /// Shows the line. A lock of another format is an error, too.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let lock: Self = toml::from_str(text)?;
        match lock.format {
            IMAGE_FORMAT => Ok(lock),
            found => Err(LockError::Format {
                found,
                known: IMAGE_FORMAT,
            }),
        }
    }

    /// Returns the lock file's text; the same lock gives the same text.
    ///
    /// # Errors
    /// None for a lock that was parsed or built here.
    pub fn to_toml(&self) -> Result<String, LockError> {
        let body = toml::to_string(self)?;
        Ok(format!(
            "# What went into the image. Written by `cargo xtask image`.\n{body}"
        ))
    }
}

/// A lock file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Not TOML, or not a lock.
    #[error(transparent)]
    Parse(#[from] toml::de::Error),
    /// Can't be written.
    #[error(transparent)]
    Write(#[from] toml::ser::Error),
    /// Written by a later lazaret.
    #[error("lock format {found} is not known, expected {known}")]
    Format {
        /// The format.
        found: u32,
        /// The one that is known.
        known: u32,
    },
}

/// Returns the hexadecimal part of `sha256:…`.
pub(crate) fn hex_of(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

/// Reads the installed packages from `/var/lib/dpkg/status` (deb-control(5)).
pub(crate) fn installed_packages(status: &str, architecture: &str) -> BTreeMap<String, String> {
    let mut packages = BTreeMap::new();
    for stanza in status.split("\n\n") {
        let field = |name: &str| {
            stanza
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
        };
        let (Some(name), Some(version)) = (field("Package"), field("Version")) else {
            continue;
        };
        if field("Status") != Some("install ok installed") {
            continue;
        }
        let name = match field("Architecture") {
            Some(other) if other != architecture && other != "all" => format!("{name}:{other}"),
            _ => name.to_owned(),
        };
        packages.insert(name, version.to_owned());
    }
    packages
}

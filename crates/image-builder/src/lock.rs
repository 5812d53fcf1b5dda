//! `Lock`: the record of what went into a bootstrapped layer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layer::LayerDigest;
use crate::slot::hex_of;

/// The record of what went into a bootstrapped layer. A record, not an input: a
/// release's mirror keeps one version of a package only, so an older one could
/// not be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of this format.
    pub format: u32,
    /// The Debian release.
    pub suite: String,
    /// The processor architecture, in Docker's words.
    pub architecture: String,
    /// The layer's SHA-256.
    pub layer: String,
    /// The layer's size in bytes.
    pub bytes: u64,
    /// Every package and its version; `name:architecture` for one of another architecture.
    pub packages: BTreeMap<String, String>,
}

/// The only format of a bootstrapped layer's record.
pub(crate) const FORMAT: u32 = 1;

/// The only format of an image's lock. The first one was a bootstrapped layer's alone.
pub(crate) const IMAGE_FORMAT: u32 = 2;

impl Lock {
    /// Parses a lock file.
    ///
    /// # Errors
    /// Shows the line. A lock of a later format is an error, too.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let lock: Self = toml::from_str(text)?;
        if lock.format == FORMAT {
            Ok(lock)
        } else {
            Err(LockError::Format {
                found: lock.format,
                known: FORMAT,
            })
        }
    }

    /// Returns the lock file's text; the same lock gives the same text.
    ///
    /// # Errors
    /// None for a lock that was parsed or built here.
    pub fn to_toml(&self) -> Result<String, LockError> {
        let body = toml::to_string(self)?;
        Ok(format!(
            "# What went into the bootstrapped layer. Written by `lazaret image build`.\n{body}"
        ))
    }
}

impl Lock {
    /// Returns the bootstrapped layer among an image's.
    pub(crate) fn as_layer(&self) -> LockedLayer {
        LockedLayer {
            name: "debian".to_owned(),
            source: "mmdebstrap".to_owned(),
            version: self.suite.clone(),
            layer: self.layer.clone(),
            bytes: self.bytes,
            packages: self.packages.clone(),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "\
Package: git
Status: install ok installed
Architecture: amd64
Version: 1:2.39.5-0+deb12u2
Description: fast
 Version: not this one

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-9
";

    #[test]
    fn a_lock_reads_back_as_it_was_written() {
        let lock = Lock {
            format: FORMAT,
            suite: "bookworm".to_owned(),
            architecture: "amd64".to_owned(),
            layer: "sha256:00".to_owned(),
            bytes: 7,
            packages: installed_packages(STATUS, "amd64"),
        };
        let text = lock.to_toml().unwrap();
        insta::assert_snapshot!(text, @r#"
        # What went into the bootstrapped layer. Written by `lazaret image build`.
        format = 1
        suite = "bookworm"
        architecture = "amd64"
        layer = "sha256:00"
        bytes = 7

        [packages]
        git = "1:2.39.5-0+deb12u2"
        "libc6:i386" = "2.36-9"
        "#);
        assert_eq!(Lock::parse(&text).unwrap(), lock);
    }

    #[test]
    fn a_later_format_is_refused() {
        let text =
            "format = 2\nsuite = ''\narchitecture = ''\nlayer = ''\nbytes = 0\npackages = {}\n";
        insta::assert_snapshot!(Lock::parse(text).unwrap_err(), @"lock format 2 is not known, expected 1");
    }
}

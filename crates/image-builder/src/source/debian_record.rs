//! `DebianRecord`: what went into a bootstrapped layer, as the cache records it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cache::lock::{LockError, LockedLayer};

/// The only format of the record.
pub(crate) const FORMAT: u32 = 1;

/// The cache's record of a bootstrapped layer. A record, not an input: a release's mirror keeps
/// one version of a package only, so an older one could not be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DebianRecord {
    /// The version of this format.
    pub(crate) format: u32,
    /// The Debian release.
    pub(crate) suite: String,
    /// The processor architecture, in Docker's words.
    pub(crate) architecture: String,
    /// The layer's SHA-256.
    pub(crate) layer: String,
    /// The layer's size in bytes.
    pub(crate) bytes: u64,
    /// Every package and its version; `name:architecture` for one of another architecture.
    pub(crate) packages: BTreeMap<String, String>,
}

impl DebianRecord {
    /// Parses a record.
    ///
    /// # Errors
    /// Shows the line. A record of a later format is an error, too.
    pub(crate) fn parse(text: &str) -> Result<Self, LockError> {
        let record: Self = toml::from_str(text)?;
        if record.format == FORMAT {
            Ok(record)
        } else {
            Err(LockError::Format {
                found: record.format,
                known: FORMAT,
            })
        }
    }

    /// Returns the record's text; the same record gives the same text.
    ///
    /// # Errors
    /// None for a record that was parsed or built here.
    pub(crate) fn to_toml(&self) -> Result<String, LockError> {
        let body = toml::to_string(self)?;
        Ok(format!(
            "# What went into the bootstrapped layer. Written by `lazaret image build`.\n{body}"
        ))
    }

    /// Returns the layer among an image's.
    pub(crate) fn layer(&self) -> LockedLayer {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::lock::installed_packages;

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
        let lock = DebianRecord {
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
        assert_eq!(DebianRecord::parse(&text).unwrap(), lock);
    }

    #[test]
    fn a_later_format_is_refused() {
        let text =
            "format = 2\nsuite = ''\narchitecture = ''\nlayer = ''\nbytes = 0\npackages = {}\n";
        insta::assert_snapshot!(DebianRecord::parse(text).unwrap_err(), @"lock format 2 is not known, expected 1");
    }
}

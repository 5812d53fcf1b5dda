//! `DebianBase`: a Debian system as a cached layer, bootstrapped once for all engines.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use lazaret_tree::Digest;

use super::debian_record::{DebianRecord, FORMAT};
use crate::cache::entry::{Aged, CacheEntry, CacheError, CacheLock, at};
use crate::cache::layer_cache::Cached;
use crate::cache::lock::{LockError, LockedLayer, installed_packages};
use crate::layer::normalize::{self, NormalizeError};
use crate::layer::writer::LayerDigest;
use crate::{BUILDER_VERSION, BuildEvent, PackageName, Suite};

/// Why there is no bootstrapped system. Nothing that was there before has changed.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The program is not installed.
    #[error(
        "bootstrap Debian: mmdebstrap is not installed; \
         install it (`apt-get install mmdebstrap`, as root) or run `cargo xtask setup`"
    )]
    NoMmdebstrap,
    /// The program could not be run.
    #[error("bootstrap Debian: run mmdebstrap: {0}")]
    Run(io::Error),
    /// The program failed.
    #[error("bootstrap Debian: `{command}` {how}; its last lines:\n{tail}")]
    Failed {
        /// What was run.
        command: String,
        /// How it ended.
        how: String,
        /// Its last lines, escaped.
        tail: String,
    },
    /// It said that all was well, but left no Debian system behind.
    #[error("bootstrap Debian: the system has no {missing}")]
    Incomplete {
        /// A file that every system has, or a package that was asked for.
        missing: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The machine's package sources.
    #[error("read the package sources under /etc/apt: {0}")]
    Sources(io::Error),
    /// Making the layer.
    #[error(transparent)]
    Tidy(#[from] NormalizeError),
    /// The record.
    #[error("record what was installed: {0}")]
    Lock(#[from] LockError),
}

/// A Debian system as a cached layer.
#[derive(Debug, Clone)]
pub(crate) struct DebianBase<'a> {
    pub(crate) image: &'a str,
    pub(crate) suite: &'a Suite,
    pub(crate) include: &'a [PackageName],
    pub(crate) architecture: &'a str,
    /// The hash of what the layer is made of: [`DebianBase::key`].
    pub(crate) key: String,
    pub(crate) cache: &'a Path,
    /// The mmdebstrap to run, by name or path.
    pub(crate) program: &'a str,
}

impl DebianBase<'_> {
    /// Hashes what the layer is made of. The porter is no part of it: a new porter
    /// on the same system costs no bootstrap.
    pub(crate) fn key(suite: &Suite, include: &[PackageName], architecture: &str) -> String {
        let mut text = format!(
            "lazaret bootstrap {BUILDER_VERSION}\nsuite {suite}\narchitecture {architecture}\n"
        );
        for package in include {
            text.push_str(&format!("include {package}\n"));
        }
        let hex = Digest::of(text.as_bytes()).to_hex();
        hex.get(..24).unwrap_or(&hex).to_owned()
    }
}

impl Cached for DebianBase<'_> {
    type Value = LockedLayer;
    type Error = BootstrapError;

    fn image(&self) -> &str {
        self.image
    }

    fn entry(&self) -> CacheEntry<'_> {
        CacheEntry {
            cache: self.cache,
            key: &self.key,
        }
    }

    fn load(&self) -> Option<Aged<LockedLayer>> {
        self.entry()
            .load_layer(|text| DebianRecord::parse(text).map(|record| record.layer()))
    }

    /// Installs the packages and makes a layer of the system.
    ///
    /// # Errors
    /// Names the step, with the last lines of the program's output.
    fn make(
        &self,
        lock: &CacheLock,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<LockedLayer, BootstrapError> {
        let entry = self.entry();
        let scratch = entry.scratch(lock)?;
        on_event(BuildEvent::Bootstrapping {
            image: self.image.to_owned(),
            suite: self.suite.to_string(),
        });
        let system_path = scratch.path().join("system.tar");
        self.install(scratch.path(), &system_path, on_event)?;

        on_event(BuildEvent::Tidying {
            image: self.image.to_owned(),
        });
        let mut system = File::open(&system_path).map_err(at(&system_path))?;
        let fresh = scratch.path().join("layer.tar");
        let out = File::create_new(&fresh).map_err(at(&fresh))?;
        let (out, digest) =
            normalize::normalize(&mut system, BufWriter::with_capacity(1 << 20, out))?;
        let out = out
            .into_inner()
            .map_err(|error| at(&fresh)(error.into_error()))?;
        out.sync_all().map_err(at(&fresh))?;

        let record = self.record(&fresh, &digest)?;
        entry.commit(scratch.path(), &fresh, &digest, &record.to_toml()?)?;
        Ok(record.layer())
    }
}

impl DebianBase<'_> {
    /// Reads back from the layer what was installed; what lacks one of the files
    /// that every Debian has is not used.
    fn record(&self, layer: &Path, digest: &LayerDigest) -> Result<DebianRecord, BootstrapError> {
        const STATUS: &str = "var/lib/dpkg/status";
        let mut file = File::open(layer).map_err(at(layer))?;
        let found = normalize::read_files(&mut file, &[STATUS, "etc/passwd", "etc/group"])
            .map_err(at(layer))?;
        for missing in ["etc/passwd", "etc/group"] {
            if !found.contains_key(missing) {
                return Err(incomplete(missing));
            }
        }
        let status = found.get(STATUS).ok_or_else(|| incomplete(STATUS))?;
        let packages = installed_packages(&String::from_utf8_lossy(status), self.architecture);
        let is_absent = |package: &&PackageName| !packages.contains_key(package.as_str());
        if let Some(package) = self.include.iter().find(is_absent) {
            return Err(incomplete(&format!("package {package}")));
        }
        Ok(DebianRecord {
            format: FORMAT,
            suite: self.suite.to_string(),
            architecture: self.architecture.to_owned(),
            layer: format!("sha256:{}", digest.hex),
            bytes: digest.size,
            packages,
        })
    }
}

fn incomplete(missing: &str) -> BootstrapError {
    BootstrapError::Incomplete {
        missing: missing.to_owned(),
    }
}

#[cfg(test)]
mod tests;

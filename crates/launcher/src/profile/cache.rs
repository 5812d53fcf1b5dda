//! `Cache`: a program whose cache lazaret knows how to place.

use serde::{Deserialize, Serialize};

/// A program whose cache lazaret knows how to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Rust's package manager: `CARGO_HOME`, with the registry's index and sources.
    Cargo,
    /// Go's: modules, and what was compiled.
    Go,
    /// Node's.
    Npm,
    /// Python's.
    Uv,
}

impl Cache {
    /// Returns the cache of a name.
    pub fn named(name: &str) -> Option<Self> {
        let mut caches = [Self::Cargo, Self::Go, Self::Npm, Self::Uv].into_iter();
        caches.find(|cache| cache.as_str() == name)
    }

    /// Returns the word of profiles.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Npm => "npm",
            Self::Uv => "uv",
        }
    }

    /// Returns where it lies inside: not in the home, which is a tmpfs of limited size.
    pub(super) fn target(self) -> String {
        format!("/caches/{}", self.as_str())
    }

    /// Returns the variables by which its program finds it.
    pub(super) fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Cargo => &[("CARGO_HOME", "/caches/cargo")],
            Self::Go => &[
                ("GOMODCACHE", "/caches/go/mod"),
                ("GOCACHE", "/caches/go/build"),
                // Nothing in `/tmp` can be executed, and `go test` executes what it compiled.
                ("GOTMPDIR", "/caches/go"),
            ],
            Self::Npm => &[("npm_config_cache", "/caches/npm")],
            // Between a volume and the workspace there are no hard links.
            Self::Uv => &[("UV_CACHE_DIR", "/caches/uv"), ("UV_LINK_MODE", "copy")],
        }
    }
}

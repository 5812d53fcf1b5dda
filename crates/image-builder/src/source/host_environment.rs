//! `HostEnvironment`: what of the host install steps may use, while they run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lazaret_runtime::{BuildNetwork, EnvName};

use crate::layer::writer::EPOCH;
use crate::{SpecError, Trust};

/// Where the host's certificates are: Debian and its kin, Fedora and its kin, Alpine.
const BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// Where an install step finds them.
const CA_INSIDE: &str = "/lazaret/build/ca.pem";

/// The variables by which programs are told of certificates: OpenSSL, curl, pip, requests,
/// Node, npm, cargo, git and uv.
const CA_VARIABLES: [&str; 9] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
    "UV_SYSTEM_CERTS_FILE",
];

/// What makes builds alike and quiet, and keeps caches out of the layers.
const FIXED: [(&str, &str); 14] = [
    ("CARGO_HOME", "/tmp/cargo"),
    ("CARGO_NET_RETRY", "3"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("HOME", "/root"),
    ("LC_ALL", "C.UTF-8"),
    ("NPM_CONFIG_AUDIT", "false"),
    ("NPM_CONFIG_CACHE", "/tmp/npm"),
    ("NPM_CONFIG_FETCH_RETRIES", "2"),
    ("NPM_CONFIG_FUND", "false"),
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    (
        "PATH",
        "/lazaret/build:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_CACHE_DIR", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// What of the host install steps may use, while they run. Nothing of it is in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEnvironment {
    /// Which network they are on.
    pub network: BuildNetwork,
    /// The proxies that the host uses: `https_proxy` and its like.
    pub proxies: BTreeMap<EnvName, String>,
    /// A file with the certificates that the host trusts; `None` for the usual place.
    pub ca_bundle: Option<PathBuf>,
}

impl HostEnvironment {
    /// The engine's network, no proxy, and the host's certificates in their usual place.
    pub fn plain() -> Self {
        Self {
            network: BuildNetwork::Engine,
            proxies: BTreeMap::new(),
            ca_bundle: None,
        }
    }

    /// Reads the certificates that the host trusts.
    ///
    /// # Errors
    /// Says where they were looked for.
    pub(crate) fn certificates(&self) -> Result<Vec<u8>, SpecError> {
        let places: Vec<PathBuf> = match &self.ca_bundle {
            Some(path) => vec![path.clone()],
            None => BUNDLES.map(PathBuf::from).to_vec(),
        };
        let found = places.iter().find_map(|path| std::fs::read(path).ok());
        found.ok_or_else(|| SpecError {
            file: "build.ca".to_owned(),
            line: 1,
            message: format!("the host has no bundle of certificates at {places:?}"),
        })
    }

    /// Returns the environment of a step.
    pub(crate) fn environment(&self, trust: Trust) -> BTreeMap<String, String> {
        let mut env: BTreeMap<_, _> = FIXED
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        env.insert("SOURCE_DATE_EPOCH".to_owned(), EPOCH.to_string());
        for (name, value) in &self.proxies {
            env.insert(name.to_string(), value.clone());
        }
        if trust == Trust::Host {
            for name in CA_VARIABLES {
                env.insert(name.to_owned(), CA_INSIDE.to_owned());
            }
        }
        env
    }
}

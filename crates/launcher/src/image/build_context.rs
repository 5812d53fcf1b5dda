//! `ImageBuildContext`: what images are built with.

use std::path::PathBuf;
use std::sync::Arc;

use lazaret_image_builder::{Builder, Catalog, CatalogError, HostEnvironment};
use lazaret_runtime::{BuildNetwork, Engine, EnvName};

use crate::app::App;
use crate::failure::{Failure, FailureKind};
use crate::{porter, profile};

/// What the host's proxies are called.
const PROXIES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// What images are built with, the same for every engine.
#[derive(Debug)]
pub(crate) struct ImageBuildContext {
    pub(crate) catalog: Catalog,
    host: HostEnvironment,
    cache: PathBuf,
    installed: PathBuf,
    porter: &'static [u8],
}

impl ImageBuildContext {
    /// Reads the declarations: lazaret's own and the user's.
    ///
    /// # Errors
    /// Shows the file and line that is wrong, or the variable.
    pub(crate) fn open(app: &App) -> Result<Self, Failure> {
        let env = &app.env;
        let network = match env.text("LAZARET_BUILD_NETWORK") {
            None | Some("engine") => BuildNetwork::Engine,
            Some("host") => BuildNetwork::Host,
            Some(other) => {
                let message = format!("LAZARET_BUILD_NETWORK is {other:?}");
                return Err(Failure::message(FailureKind::Usage, message)
                    .hinted("It may be `engine` (which it is unless set) or `host`."));
            }
        };
        let proxies = PROXIES
            .iter()
            .filter_map(|name| Some((name.parse::<EnvName>().ok()?, env.text(name)?.to_owned())))
            .collect();
        Ok(Self {
            catalog: Catalog::with_own(&env.config_dir()?.join("images"))?,
            host: HostEnvironment {
                network,
                proxies,
                ca_bundle: env.text("SSL_CERT_FILE").map(PathBuf::from),
            },
            cache: env.cache_dir()?.join("images"),
            installed: env.state_dir()?.join("images"),
            porter: porter::bytes()?,
        })
    }

    /// Reads the declarations, and which combined images the profiles name: for what lists all
    /// images there are.
    ///
    /// # Errors
    /// As [`Self::open`]. A profile that is wrong names nothing.
    pub(crate) fn open_all(app: &App) -> Result<Self, Failure> {
        let mut images = Self::open(app)?;
        for listed in profile::list(&app.env)? {
            if let Ok(profile) = profile::load(&listed.name, &app.env) {
                let services = profile.services.iter().map(|service| &service.image);
                for name in services.chain([&profile.image]) {
                    images.catalog.ask_for(name);
                }
            }
        }
        Ok(images)
    }

    /// Returns the builder for one engine.
    pub(crate) fn builder<'a>(&'a self, engine: &'a Arc<dyn Engine>) -> Builder<'a> {
        Builder {
            engine,
            porter: self.porter,
            cache: &self.cache,
            installed: &self.installed,
            catalog: &self.catalog,
            host: &self.host,
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::new(FailureKind::Image, error)
            .hinted("docs/reference/images.md describes the keys of a declaration.")
    }
}

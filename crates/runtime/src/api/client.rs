//! The client below the verbs: runtime, connection, negotiation, and what several verbs need.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::transport::{Wire, WireError, within};
use super::{ANSWER_LIMIT, LOAD_LIMIT, PROBE_LIMIT, REMOVAL_LIMIT, errors, objects, probe};
use crate::{ContainerInfo, Endpoint, EngineError, EngineKind, HardenedSpec, ImageInfo};

/// How often an engine is asked again that refuses for the moment ([`errors::is_momentary`]).
const MOMENTARY_TRIES: u32 = 10;

/// How often a loaded image is looked for before its absence counts.
const LOADED_TRIES: u32 = 5;

/// One engine's client; shared by the engine and by every process started through it.
pub(super) struct Inner {
    pub(super) wire: Arc<Wire>,
    pub(super) docker: Docker,
    negotiated: OnceCell<Negotiated>,
    pub(super) runtime: Runtime,
    /// What must live as long as the engine, such as a service of ours.
    service_guard: Option<Box<dyn ServiceGuard>>,
}

/// What was found out when the version was negotiated.
pub(super) struct Negotiated {
    pub(super) version: probe::Version,
    pub(super) api: String,
}

/// The newest version of the API that is spoken here.
pub(super) fn newest_api() -> (u32, u32) {
    let number = |part| u32::try_from(part).unwrap_or(u32::MAX);
    (
        number(API_DEFAULT_VERSION.major_version),
        number(API_DEFAULT_VERSION.minor_version),
    )
}

/// Something that an engine needs while it is used.
pub(crate) trait ServiceGuard: Send + Sync + fmt::Debug {
    /// Makes sure that it is there. Called before each request.
    ///
    /// # Errors
    /// When it is gone and can't be brought back.
    fn ensure(&self) -> io::Result<()>;
}

/// Keeps the cause of a failed connection on its way through bollard.
fn for_bollard(error: WireError) -> bollard::errors::Error {
    let err = match error {
        WireError::Connect(source) => io::Error::new(source.kind(), errors::NoConnection(source)),
        WireError::Http(message) | WireError::Nonsense(message) => io::Error::other(message),
        WireError::Refused { status, message } => {
            return bollard::errors::Error::DockerResponseServerError {
                status_code: status,
                message,
            };
        }
    };
    bollard::errors::Error::IOError { err }
}

/// What a call is about, for its errors.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'a> {
    pub(super) verb: &'static str,
    pub(super) what: &'static str,
    pub(super) name: &'a str,
}

impl Inner {
    /// # Errors
    /// When the process can't start a thread.
    pub(super) fn new(
        endpoint: Endpoint,
        service_guard: Option<Box<dyn ServiceGuard>>,
    ) -> Result<Self, EngineError> {
        let failed = |message: String| EngineError::Lost {
            verb: "prepare",
            message,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("lazaret-engine")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let wire = Arc::new(Wire::new(endpoint));
        let transport = Arc::clone(&wire);
        let docker = Docker::connect_with_custom_transport(
            move |request: BollardRequest| {
                let wire = Arc::clone(&transport);
                async move { wire.send(request).await.map_err(for_bollard) }
            },
            Some("http://engine"),
            LOAD_LIMIT.as_secs(),
            API_DEFAULT_VERSION,
        )
        .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            wire,
            docker,
            negotiated: OnceCell::new(),
            runtime,
            service_guard,
        })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        self.wire.endpoint()
    }

    /// Runs a call to its end, under a limit, with the version negotiated.
    pub(super) fn call<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        if let Some(service_guard) = &self.service_guard {
            service_guard
                .ensure()
                .map_err(|source| errors::unreachable(self.endpoint(), source))?;
        }
        self.runtime.block_on(within(limit, self.endpoint(), async {
            self.negotiated().await?;
            work.await
        }))
    }

    pub(super) async fn negotiated(&self) -> Result<&Negotiated, EngineError> {
        self.negotiated
            .get_or_try_init(async || {
                let about = |error: WireError, path| {
                    error.about("negotiate", "path", path, self.endpoint())
                };
                // Silence is told from slowness: the limit of a first answer is short.
                let limit = ANSWER_LIMIT + self.wire.connect_limit();
                let told = within(limit, self.endpoint(), async {
                    self.wire
                        .ping()
                        .await
                        .map_err(|error| about(error, "/_ping"))
                })
                .await?;
                // Podman runs three programs to answer `/version`, which takes a second on a
                // machine that is busy, and Docker asks two others; both say what matters
                // now in the head of each answer.
                let version = match probe::Version::of_head(&told) {
                    Some(version) => version,
                    None => {
                        within(PROBE_LIMIT, self.endpoint(), async {
                            let version = self.wire.get("/version").await;
                            version.map_err(|error| about(error, "/version"))
                        })
                        .await?
                    }
                };
                let api = version.negotiate(newest_api(), self.endpoint())?;
                self.wire.speak(&api);
                Ok(Negotiated { version, api })
            })
            .await
    }

    /// A call through bollard.
    pub(super) fn bollard<T>(
        &self,
        limit: Duration,
        call: CallContext<'_>,
        work: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, EngineError> {
        self.call(limit, async {
            work.await.map_err(|error| self.sort(call, error))
        })
    }

    pub(super) fn sort(&self, call: CallContext<'_>, error: bollard::errors::Error) -> EngineError {
        let CallContext { verb, what, name } = call;
        errors::bollard(verb, what, name, self.endpoint(), error)
    }

    pub(super) async fn get<T: serde::de::DeserializeOwned>(
        &self,
        call: CallContext<'_>,
        path: &str,
    ) -> Result<T, EngineError> {
        let CallContext { verb, what, name } = call;
        self.wire
            .get(path)
            .await
            .map_err(|error| error.about(verb, what, name, self.endpoint()))
    }

    /// As [`Inner::get`], of what may change while the engine looks at it.
    pub(super) async fn get_changing<T: serde::de::DeserializeOwned>(
        &self,
        call: CallContext<'_>,
        path: &str,
    ) -> Result<T, EngineError> {
        for _ in 0..MOMENTARY_TRIES {
            match self.get(call, path).await {
                Err(EngineError::Refused { message, .. }) if errors::is_momentary(&message) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                answered => return answered,
            }
        }
        self.get(call, path).await
    }

    pub(super) async fn kind(&self) -> Result<EngineKind, EngineError> {
        Ok(self.negotiated().await?.version.kind())
    }

    pub(super) async fn look_up_container(
        &self,
        name: &str,
    ) -> Result<Option<ContainerInfo>, EngineError> {
        let call = CallContext {
            verb: "inspect container",
            what: "container",
            name,
        };
        let path = format!("/containers/{name}/json");
        match self.get_changing::<objects::Container>(call, &path).await {
            Ok(container) => Ok(Some(container.into_info()?)),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn look_up_image(&self, name: &str) -> Result<Option<ImageInfo>, EngineError> {
        let call = CallContext {
            verb: "inspect image",
            what: "image",
            name,
        };
        let path = format!("/images/{name}/json");
        match self.get_changing::<objects::Image>(call, &path).await {
            Ok(image) => Ok(Some(image.into_info())),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks up an image that was just loaded. Another Podman service on the same storage
    /// may hold the image's record before its files: that passes.
    pub(super) async fn look_up_loaded(
        &self,
        name: &str,
    ) -> Result<Option<ImageInfo>, EngineError> {
        for _ in 0..LOADED_TRIES {
            match self.look_up_image(name).await {
                Err(EngineError::Refused { status: 500, .. }) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                found => return found,
            }
        }
        self.look_up_image(name).await
    }

    /// Refuses an image that declares a volume of its own: the engine would mount
    /// an anonymous one, writable and unknown to the session (CON-25).
    pub(super) async fn check_image(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        let name = spec.spec().image.as_str();
        let Some(image) = self.look_up_image(name).await? else {
            return Err(EngineError::NotFound {
                what: "image",
                name: name.to_owned(),
            });
        };
        let asked: Vec<&str> = spec
            .spec()
            .volumes
            .iter()
            .map(|mount| mount.target.as_str())
            .collect();
        match image
            .volumes
            .iter()
            .find(|target| !asked.contains(&target.as_str()))
        {
            Some(target) => Err(EngineError::SurpriseVolume {
                image: name.to_owned(),
                target: target.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Refuses a mount of a volume that is not there: the engine would create it, without
    /// a label by which it could be found again.
    pub(super) async fn check_volumes(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        for mount in &spec.spec().volumes {
            let call = CallContext {
                verb: "inspect volume",
                what: "volume",
                name: mount.volume.as_str(),
            };
            let path = format!("/volumes/{}", mount.volume);
            let _there: objects::Volume = self.get(call, &path).await?;
        }
        Ok(())
    }

    /// Waits until a removal that is under way is done.
    pub(super) async fn gone(&self, name: &str) -> Result<(), EngineError> {
        let deadline = Instant::now() + REMOVAL_LIMIT;
        while self.look_up_container(name).await?.is_some() {
            if Instant::now() > deadline {
                return Err(EngineError::InUse {
                    what: "container",
                    name: name.to_owned(),
                });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// Returns a text that no other call has: two hashes with the process's random keys.
pub(super) fn nonce() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// Percent-encodes a filter for a query.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// Returns the query that selects by label.
pub(super) fn label_filter(label_key: &str) -> String {
    encoded(&serde_json::json!({ "label": [label_key] }).to_string())
}

//! Docker's and Podman's HTTP API.
//!
//! Requests are made by bollard over our own transport ([`transport`]); answers that decide
//! something are read with lenient types of our own, because Podman's differ in values
//! that a strict model refuses (a container may be `stopped`). A private runtime with one
//! worker carries all of it; every call blocks its own thread only.

mod attach;
mod client;
mod create_lock;
mod errors;
mod exec;
mod frames;
mod images;
mod lower;
mod objects;
mod probe;
mod seccomp;
mod seccomp_file;
mod seccomp_volume;
mod stream;
mod transport;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{
    ImportImageOptionsBuilder, KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
    RemoveImageOptionsBuilder, RemoveVolumeOptions, StartContainerOptions,
    StopContainerOptionsBuilder,
};
use futures_util::StreamExt as _;

pub(crate) use self::client::ServiceGuard;
use self::client::{CallContext, Inner, label_filter, newest_api, nonce};
use self::create_lock::CreateLock;
use self::objects::InitProcess;
use self::seccomp::Seccomp;
use crate::{
    ContainerInfo, ContainerName, Endpoint, Engine, EngineError, EngineInfo, EngineKind, ExecSpec,
    HardenedSpec, ImageInfo, ImageRef, InitChannel, Process, ServerVersion, VolumeInfo, VolumeName,
};

/// The limit of the first answer, for which an engine does no work (docs/design/threats.md FLT-19).
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The limit of what an engine tells about itself, once it has answered at all.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// The limit of an ordinary call. A loaded machine may take long to start a container.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// The limit of a call that moves an image.
const LOAD_LIMIT: Duration = Duration::from_secs(3600);

/// How long a removal that the engine is in the middle of may take.
const REMOVAL_LIMIT: Duration = Duration::from_secs(30);

/// Marks a volume as created by one particular call: Docker and Podman answer a create
/// of an existing volume with that volume, and success.
const NONCE_LABEL: &str = "io.lazaret.nonce";

/// An engine behind Docker's HTTP API.
pub struct ApiEngine {
    inner: Arc<Inner>,
}

impl fmt::Debug for ApiEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiEngine")
            .field("endpoint", self.inner.wire.endpoint())
            .finish_non_exhaustive()
    }
}

impl ApiEngine {
    /// Prepares for an endpoint; nothing is sent before the first call.
    ///
    /// # Errors
    /// When the process can't start a thread.
    pub fn new(endpoint: Endpoint) -> Result<Self, EngineError> {
        Self::with_keeper(endpoint, None)
    }

    /// Also keeps something alive that the engine needs.
    pub(crate) fn with_keeper(
        endpoint: Endpoint,
        service_guard: Option<Box<dyn ServiceGuard>>,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            inner: Arc::new(Inner::new(endpoint, service_guard)?),
        })
    }
}

impl Engine for ApiEngine {
    fn probe(&self) -> Result<EngineInfo, EngineError> {
        let inner = &self.inner;
        inner.call(PROBE_LIMIT, async {
            let negotiated = inner.negotiated().await?;
            let call = CallContext {
                verb: "probe",
                what: "path",
                name: "/info",
            };
            let endpoint = inner.endpoint();
            // Podman asks its helper programs for their versions in each answer, which may
            // take a second on a loaded machine: one of the two answers must do.
            if negotiated.version.kind() == EngineKind::Podman {
                let podman = inner.get(call, "/v4.0.0/libpod/info").await?;
                let (version, info) = (&negotiated.version, probe::Info::default());
                let (api, podman) = (&negotiated.api, Some(&podman));
                return Ok(probe::engine_info(endpoint, api, version, &info, podman));
            }
            let info = inner.get(call, "/info").await?;
            let name = "/version";
            let version: probe::Version = inner.get(CallContext { name, ..call }, name).await?;
            // The head of an answer does not say what the engine speaks no longer.
            let api = version.negotiate(newest_api(), endpoint)?;
            Ok(probe::engine_info(endpoint, &api, &version, &info, None))
        })
    }

    fn server_version(&self) -> Result<Option<ServerVersion>, EngineError> {
        let inner = &self.inner;
        inner.call(PROBE_LIMIT, async {
            let negotiated = inner.negotiated().await?;
            Ok(Some(ServerVersion {
                endpoint: inner.endpoint().to_string(),
                version: negotiated.version.number().to_owned(),
                api_version: negotiated.api.clone(),
            }))
        })
    }

    fn load_image(&self, archive: &mut (dyn Read + Send)) -> Result<String, EngineError> {
        const VERB: &str = "load image";
        let inner = &self.inner;
        // Before the first byte is read: no upload to a missing engine.
        inner.call(PROBE_LIMIT, async { Ok(()) })?;
        let (sender, body) = stream::body();
        let docker = inner.docker.clone();
        let options = ImportImageOptionsBuilder::default().quiet(true).build();
        let upload = inner.runtime.spawn(async move {
            let mut answers = docker.import_image_stream(options, body, None);
            let mut said = Vec::new();
            while let Some(errors) = answers.next().await {
                said.push(errors?);
            }
            Ok(said)
        });
        let read = stream::fill(sender, archive);
        let answered = inner.call(LOAD_LIMIT, async {
            match upload.await {
                Ok(result) => Ok(result),
                Err(error) => Err(EngineError::Lost {
                    verb: VERB,
                    message: error.to_string(),
                }),
            }
        });
        // The cause is the reader's, whatever the engine made of a broken upload.
        read.map_err(|source| EngineError::Stream { verb: VERB, source })?;
        let call = CallContext {
            verb: VERB,
            what: "image",
            name: "in the archive",
        };
        let said = answered?.map_err(|error| inner.sort(call, error))?;
        let name = objects::loaded_image(said.iter().filter_map(|said| said.stream.as_deref()))?;
        inner.call(CALL_LIMIT, async {
            match inner.look_up_loaded(&name).await? {
                Some(image) => Ok(image.id),
                None => Err(EngineError::NotFound {
                    what: "image",
                    name: name.clone(),
                }),
            }
        })
    }

    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError> {
        let inner = &self.inner;
        inner.call(CALL_LIMIT, inner.look_up_image(image.as_str()))
    }

    fn images(&self, label_key: &str) -> Result<Vec<ImageInfo>, EngineError> {
        let inner = &self.inner;
        inner.call(CALL_LIMIT, async {
            let listed = images::list(inner, label_key).await?;
            let mut images = Vec::new();
            for image in listed {
                // One that is gone meanwhile is not there.
                images.extend(inner.look_up_image(&image.id).await?);
            }
            images.retain(|image| image.labels.contains_key(label_key));
            images.sort_by(|a, b| a.id.cmp(&b.id));
            images.dedup_by(|a, b| a.id == b.id);
            Ok(images)
        })
    }

    fn pull_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        images::pull(&self.inner, image)
    }

    fn save_image(
        &self,
        image: &ImageRef,
        archive: &mut (dyn Write + Send),
    ) -> Result<(), EngineError> {
        images::save(&self.inner, image, archive)
    }

    fn tag_image(&self, image: &ImageRef, tag: &ImageRef) -> Result<(), EngineError> {
        images::tag(&self.inner, image, tag)
    }

    fn remove_image(&self, image: &ImageRef) -> Result<(), EngineError> {
        let call = CallContext {
            verb: "remove image",
            what: "image",
            name: image.as_str(),
        };
        let options = RemoveImageOptionsBuilder::default().build();
        let docker = &self.inner.docker;
        self.inner
            .bollard(CALL_LIMIT, call, async {
                docker
                    .remove_image(image.as_str(), Some(options), None)
                    .await
            })
            .map(drop)
    }

    fn create_volume(
        &self,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        let inner = &self.inner;
        let call = CallContext {
            verb: "create volume",
            what: "volume",
            name: name.as_str(),
        };
        let nonce = nonce();
        let mut labels = labels.clone();
        labels.insert(NONCE_LABEL.to_owned(), nonce.clone());
        let taken = || EngineError::AlreadyExists {
            what: "volume",
            name: name.as_str().to_owned(),
        };
        inner.call(CALL_LIMIT, async {
            match inner
                .get::<objects::Volume>(call, &format!("/volumes/{name}"))
                .await
            {
                Ok(_) => return Err(taken()),
                Err(EngineError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
            let body =
                serde_json::json!({ "Name": name.as_str(), "Driver": "local", "Labels": labels });
            let created: objects::Volume = inner
                .wire
                .post("/volumes/create", &body)
                .await
                .map_err(|error| error.about(call.verb, call.what, call.name, inner.endpoint()))?;
            // Someone else's, created between the two requests, has another nonce or none.
            match created.label(NONCE_LABEL) == Some(&nonce) {
                true => Ok(()),
                false => Err(taken()),
            }
        })
    }

    fn remove_volume(&self, name: &VolumeName) -> Result<(), EngineError> {
        let call = CallContext {
            verb: "remove volume",
            what: "volume",
            name: name.as_str(),
        };
        let docker = &self.inner.docker;
        self.inner.bollard(
            CALL_LIMIT,
            call,
            docker.remove_volume(name.as_str(), None::<RemoveVolumeOptions>),
        )
    }

    fn volumes(&self, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError> {
        let inner = &self.inner;
        let call = CallContext {
            verb: "list volumes",
            what: "path",
            name: "/volumes",
        };
        inner.call(CALL_LIMIT, async {
            let path = format!("/volumes?filters={}", label_filter(label_key));
            let listed: objects::Volumes = inner.get(call, &path).await?;
            let mut volumes = listed.into_infos()?;
            volumes.retain(|volume| volume.labels.contains_key(label_key));
            Ok(volumes)
        })
    }

    fn create_container(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        let inner = &self.inner;
        let call = CallContext {
            verb: "create container",
            what: "container",
            name: spec.spec().name.as_str(),
        };
        let takes_turns = spec.engine().kind == EngineKind::Podman && spec.engine().rootless;
        let turn = match inner.endpoint() {
            _ if !takes_turns => None,
            Endpoint::Unix(socket) => CreateLock::take(socket),
            // There is no socket of theirs here: all that are far take turns together.
            _ => CreateLock::take(Path::new("/tmp/engine.sock")),
        };
        let created = inner.call(CALL_LIMIT, async {
            inner.check_image(spec).await?;
            inner.check_volumes(spec).await?;
            let seccomp = Seccomp::give(inner, spec).await?;
            let (options, body) = lower::create(spec, &seccomp.reference(spec));
            let created = inner.docker.create_container(Some(options), body).await;
            seccomp.take_back().await;
            match created.map_err(|error| inner.sort(call, error)) {
                Ok(_) => Ok(()),
                // The image was there a moment ago.
                Err(EngineError::NotFound { .. }) => Err(EngineError::NotFound {
                    what: "image",
                    name: spec.spec().image.as_str().to_owned(),
                }),
                Err(error) => Err(error),
            }
        });
        drop(turn);
        created
    }

    fn start_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = container("start container", name);
        let docker = &self.inner.docker;
        self.inner.bollard(
            CALL_LIMIT,
            call,
            docker.start_container(name.as_str(), None::<StartContainerOptions>),
        )
    }

    fn stop_container(&self, name: &ContainerName, grace: Duration) -> Result<(), EngineError> {
        let call = container("stop container", name);
        let seconds = grace.as_secs() + u64::from(grace.subsec_nanos() > 0);
        let options = StopContainerOptionsBuilder::default()
            .t(i32::try_from(seconds).unwrap_or(i32::MAX))
            .build();
        let docker = &self.inner.docker;
        self.inner.bollard(
            CALL_LIMIT + grace,
            call,
            docker.stop_container(name.as_str(), Some(options)),
        )
    }

    fn signal_container(&self, name: &ContainerName, signal: i32) -> Result<(), EngineError> {
        let call = container("signal container", name);
        let options = KillContainerOptionsBuilder::default()
            .signal(&signal.to_string())
            .build();
        let docker = &self.inner.docker;
        self.inner.bollard(
            CALL_LIMIT,
            call,
            docker.kill_container(name.as_str(), Some(options)),
        )
    }

    fn pause_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = container("pause container", name);
        let docker = &self.inner.docker;
        self.inner
            .bollard(CALL_LIMIT, call, docker.pause_container(name.as_str()))
    }

    fn unpause_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let call = container("unpause container", name);
        let docker = &self.inner.docker;
        self.inner
            .bollard(CALL_LIMIT, call, docker.unpause_container(name.as_str()))
    }

    fn container(&self, name: &ContainerName) -> Result<Option<ContainerInfo>, EngineError> {
        let inner = &self.inner;
        inner.call(CALL_LIMIT, inner.look_up_container(name.as_str()))
    }

    fn containers(&self, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError> {
        let inner = &self.inner;
        let call = CallContext {
            verb: "list containers",
            what: "path",
            name: "/containers/json",
        };
        inner.call(CALL_LIMIT, async {
            let path = format!(
                "/containers/json?all=true&filters={}",
                label_filter(label_key)
            );
            let listed: Vec<objects::Listed> = inner.get_changing(call, &path).await?;
            let mut containers = Vec::new();
            for container in listed {
                containers.extend(inner.look_up_container(&container.id).await?);
            }
            containers.retain(|container| container.labels.contains_key(label_key));
            containers.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(containers)
        })
    }

    fn remove_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        let inner = &self.inner;
        let call = container("remove container", name);
        let name = name.as_str();
        inner.call(CALL_LIMIT, async {
            // Podman's forced removal first waits for SIGTERM to work, as long as the
            // container's own stop timeout; killed first, there is nothing to wait for.
            // A paused container must run to die. All of it may fail: the removal decides.
            let kill = || {
                KillContainerOptionsBuilder::default()
                    .signal("SIGKILL")
                    .build()
            };
            if inner
                .docker
                .kill_container(name, Some(kill()))
                .await
                .is_err()
                && inner.docker.unpause_container(name).await.is_ok()
            {
                drop(inner.docker.kill_container(name, Some(kill())).await);
            }
            let options = RemoveContainerOptionsBuilder::default()
                .force(true)
                .v(true)
                .build();
            let removed = inner.docker.remove_container(name, Some(options)).await;
            match removed.map_err(|error| inner.sort(call, error)) {
                Ok(()) | Err(EngineError::NotFound { .. }) => Ok(()),
                Err(EngineError::Refused { status: 409, .. }) => inner.gone(name).await,
                Err(error) => Err(error),
            }
        })
    }

    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError> {
        exec::start(&self.inner, name, spec)
    }

    fn init_channel(&self, name: &ContainerName) -> Option<InitChannel> {
        let inner = &self.inner;
        if !matches!(inner.endpoint(), Endpoint::Unix(_)) {
            return None;
        }
        let call = container("inspect container", name);
        let path = format!("/containers/{name}/json");
        let found = inner.call(CALL_LIMIT, inner.get::<objects::Container>(call, &path));
        let InitProcess { pid, id } = found.ok()?.first_process();
        InitChannel::of_container(pid, &id).ok()
    }
}

fn container<'a>(verb: &'static str, name: &'a ContainerName) -> CallContext<'a> {
    CallContext {
        verb,
        what: "container",
        name: name.as_str(),
    }
}

//! The seccomp profile on another machine: in a volume of its own, whose directory there the
//! engine tells.
//!
//! Podman's compatible API takes a path on its own host and nothing else, and a path of ours is
//! not there. The volume and the container by which it is filled, which never runs, carry the
//! labels of the container that they are for, so that what a killed process leaves is found
//! with its session. They live for one call: Podman reads the profile while it creates.

use std::path::{Path, PathBuf};

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType};
use bollard::query_parameters::{
    CreateContainerOptions, RemoveContainerOptionsBuilder, RemoveVolumeOptions,
    UploadToContainerOptionsBuilder,
};
use bytes::Bytes;

use super::client::{CallContext, Inner, nonce};
use super::objects;
use crate::{EngineError, HardenedSpec};

/// Where the helper has the volume.
const TARGET: &str = "/seccomp";

/// The profile's name in the volume.
const FILE: &str = "profile.json";

/// A profile in a volume, until [`SeccompVolume::remove`].
pub(super) struct SeccompVolume<'a> {
    inner: &'a Inner,
    name: String,
    path: PathBuf,
}

impl<'a> SeccompVolume<'a> {
    /// # Errors
    /// The engine's. What was made by then is gone again.
    pub(super) async fn create(inner: &'a Inner, spec: &HardenedSpec) -> Result<Self, EngineError> {
        let mut volume = Self {
            inner,
            name: format!("lazaret-seccomp-{}", nonce()),
            path: PathBuf::new(),
        };
        match volume.fill(spec).await {
            Ok(path) => {
                volume.path = path;
                Ok(volume)
            }
            Err(error) => {
                volume.remove().await;
                Err(error)
            }
        }
    }

    /// Returns where the profile is on the engine's machine.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the volume. One that can't be removed is found by its labels later.
    pub(super) async fn remove(self) {
        let docker = &self.inner.docker;
        let removed = docker.remove_volume(&self.name, None::<RemoveVolumeOptions>);
        drop(removed.await);
    }

    async fn fill(&self, spec: &HardenedSpec) -> Result<PathBuf, EngineError> {
        let Self { inner, name, .. } = self;
        let call = CallContext {
            verb: "write the seccomp profile",
            what: "volume",
            name,
        };
        let labels = &spec.spec().labels;
        let body = serde_json::json!({ "Name": name, "Driver": "local", "Labels": labels });
        let created: objects::Volume = inner
            .wire
            .post("/volumes/create", &body)
            .await
            .map_err(|error| error.about(call.verb, call.what, name, inner.endpoint()))?;
        let directory = created.mountpoint().ok_or(EngineError::Unsupported {
            verb: call.verb,
            reason: "the engine does not say where a volume is",
        })?;
        let options = CreateContainerOptions {
            name: Some(name.clone()),
            ..CreateContainerOptions::default()
        };
        let helper = ContainerCreateBody {
            image: Some(spec.spec().image.as_str().to_owned()),
            entrypoint: Some(vec!["/never".to_owned()]),
            labels: Some(labels.clone().into_iter().collect()),
            network_disabled: Some(true),
            host_config: Some(HostConfig {
                network_mode: Some("none".to_owned()),
                mounts: Some(vec![Mount {
                    target: Some(TARGET.to_owned()),
                    source: Some(name.clone()),
                    typ: Some(MountType::VOLUME),
                    ..Mount::default()
                }]),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let docker = &inner.docker;
        let sort = |error| inner.sort(call, error);
        docker
            .create_container(Some(options), helper)
            .await
            .map_err(sort)?;
        let upload = UploadToContainerOptionsBuilder::default()
            .path(TARGET)
            .build();
        let body = bollard::body_full(archive(&spec.controls().seccomp));
        let written = docker.upload_to_container(name, Some(upload), body).await;
        let force = RemoveContainerOptionsBuilder::default().force(true).build();
        let removed = docker.remove_container(name, Some(force)).await;
        written.and(removed).map_err(sort)?;
        Ok(directory.join(FILE))
    }
}

/// Returns a tar archive of the one file. The profile is no secret.
fn archive(profile: &str) -> Bytes {
    let mut header = tar::Header::new_gnu();
    header.set_size(profile.len() as u64);
    header.set_mode(0o444);
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_data(&mut header, FILE, profile.as_bytes())
        .and_then(|()| builder.into_inner())
        .expect("memory takes every archive")
        .into()
}

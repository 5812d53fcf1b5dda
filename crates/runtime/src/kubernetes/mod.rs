//! A namespace of a Kubernetes cluster as an engine.
//!
//! A container is a pod with one container, a volume is a claim (PersistentVolumeClaim). A pod
//! begins to run when it is created; PID 1, the porter, waits for orders anyway. Names are
//! Kubernetes' own; labels are annotations, since a label's value may have 63 characters only, and
//! a label of the same key marks what has one. kube and k8s-openapi stay inside this module, with a
//! private runtime like that of [`api`](crate::api).

mod claims;
mod client;
mod cluster_error;
mod exec;
mod pod;
mod pods;
mod read_back;
mod rights;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use lazaret_protocol::{Control, Verb};

use self::client::Inner;
pub use self::cluster_error::ClusterError;
use crate::{
    Capabilities, ContainerInfo, ContainerName, Engine, EngineError, EngineInfo, EngineKind,
    ExecSpec, HardenedSpec, ImageInfo, ImageRef, KubernetesAddress, Process, Stdin, UserNamespace,
    VolumeInfo, VolumeName,
};

/// SIGTERM and SIGKILL (`man 7 signal`).
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// From SIGTERM to SIGKILL where the caller names no time.
const GRACE: Duration = Duration::from_secs(15);

/// How long the kubelet may take to say that a container has ended.
const SAID_LIMIT: Duration = Duration::from_secs(5);

/// A namespace of a Kubernetes cluster.
pub struct KubernetesEngine {
    inner: Arc<Inner>,
}

impl fmt::Debug for KubernetesEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesEngine")
            .field("address", &self.inner.address)
            .finish_non_exhaustive()
    }
}

impl KubernetesEngine {
    /// Reads the kubeconfig; nothing is sent before the first call.
    ///
    /// # Errors
    /// When there is no such context, or the process can't start a thread.
    pub fn new(address: KubernetesAddress) -> Result<Self, EngineError> {
        Ok(Self {
            inner: Arc::new(Inner::new(address)?),
        })
    }

    /// Runs a verb of the porter in a container, and drops what it says.
    fn porter(&self, name: &ContainerName, verb: &Verb) -> Result<i32, EngineError> {
        let mut process = self.exec(name, &ExecSpec::new(verb.to_command(), Stdin::Closed))?;
        let read = std::io::copy(&mut process.stdout, &mut std::io::sink());
        read.map_err(|source| EngineError::Stream {
            verb: "exec",
            source,
        })?;
        process.control.wait()
    }

    /// Has PID 1 end the container, and waits until the kubelet says that it has.
    fn end(&self, name: &ContainerName, grace: Duration) -> Result<(), EngineError> {
        // The container's end cuts the connection, so the kubelet's word is all that counts.
        let _cut = self.porter(name, &Verb::Stop { grace });
        pods::await_end(&self.inner, name, grace)
    }
}

impl Engine for KubernetesEngine {
    fn probe(&self) -> Result<EngineInfo, EngineError> {
        let found = rights::probe(&self.inner)?;
        let reason = |text: &str| text.to_owned();
        Ok(EngineInfo {
            kind: EngineKind::Kubernetes,
            version: found.version,
            api_version: None,
            endpoint: self.inner.address.to_string(),
            rootless: false,
            user_namespace: UserNamespace::Host,
            architecture: found.architecture,
            cores: None,
            cgroup_version: String::new(),
            runtime: String::new(),
            nofile_hard: None,
            nproc_hard: None,
            capabilities: Capabilities::PODS,
            unenforceable: Vec::new(),
            not_applicable: BTreeMap::from([
                (
                    Control::Tmpfs,
                    reason("a pod's volumes in memory take no mount options such as noexec"),
                ),
                (
                    Control::Shm,
                    reason("Kubernetes gives every pod a /dev/shm of 64 MiB"),
                ),
                (
                    Control::Pids,
                    reason("a pod can't limit its processes; the kubelet's podPidsLimit can"),
                ),
            ]),
            warnings: vec![
                "Kubernetes hides a fixed list of paths: /proc/interrupts, /sys/dev/block and \
                 /sys/devices/virtual/powercap may tell about the node"
                    .to_owned(),
            ],
        })
    }

    fn load_image(&self, _archive: &mut (dyn Read + Send)) -> Result<String, EngineError> {
        Err(EngineError::Unsupported {
            verb: "load image",
            reason: "Kubernetes takes no images; write the image to a file with `lazaret image \
                     export NAME`, and import it on each node with `ctr --namespace k8s.io images \
                     import FILE`",
        })
    }

    fn image(&self, image: &ImageRef) -> Result<Option<ImageInfo>, EngineError> {
        // A node tells names and sizes of its images only, half a minute late, and of 50 at most. So
        // the start of a pod finds out, which names the image by the id that the caller knows.
        Ok(Some(ImageInfo {
            id: String::new(),
            tags: vec![image.as_str().to_owned()],
            size: 0,
            labels: BTreeMap::new(),
            volumes: Vec::new(),
            entrypoint: Vec::new(),
            architecture: String::new(),
        }))
    }

    fn images(&self, _label_key: &str) -> Result<Vec<ImageInfo>, EngineError> {
        // No label of an image is told.
        Ok(Vec::new())
    }

    fn remove_image(&self, _image: &ImageRef) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "remove image",
            reason: "the images of a node are the kubelet's, which removes what no pod uses",
        })
    }

    fn create_volume(
        &self,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), EngineError> {
        claims::create(&self.inner, name, labels)
    }

    fn remove_volume(&self, name: &VolumeName) -> Result<(), EngineError> {
        claims::remove(&self.inner, name)
    }

    fn volumes(&self, label_key: &str) -> Result<Vec<VolumeInfo>, EngineError> {
        claims::list(&self.inner, label_key)
    }

    fn create_container(&self, spec: &HardenedSpec) -> Result<(), EngineError> {
        pods::create(&self.inner, spec)
    }

    fn start_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        pods::await_start(&self.inner, name)
    }

    fn stop_container(&self, name: &ContainerName, grace: Duration) -> Result<(), EngineError> {
        match pods::is_running(&self.inner, name)? {
            true => self.end(name, grace),
            false => Ok(()),
        }
    }

    fn signal_container(&self, name: &ContainerName, signal: i32) -> Result<(), EngineError> {
        let grace = match signal {
            SIGKILL => Duration::ZERO,
            SIGTERM => GRACE,
            _ => {
                return Err(EngineError::Unsupported {
                    verb: "signal container",
                    reason: "Kubernetes ends containers, and sends no other signal",
                });
            }
        };
        match self.porter(name, &Verb::Stop { grace }) {
            // The container's end cuts the connection.
            Err(error) if !pods::ended_within(&self.inner, name, SAID_LIMIT)? => Err(error),
            _ => Ok(()),
        }
    }

    fn pause_container(&self, _name: &ContainerName) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "pause container",
            reason: "Kubernetes can't pause",
        })
    }

    fn unpause_container(&self, _name: &ContainerName) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "unpause container",
            reason: "Kubernetes can't pause",
        })
    }

    fn container(&self, name: &ContainerName) -> Result<Option<ContainerInfo>, EngineError> {
        pods::look_up(&self.inner, name)
    }

    fn containers(&self, label_key: &str) -> Result<Vec<ContainerInfo>, EngineError> {
        pods::list(&self.inner, label_key)
    }

    fn remove_container(&self, name: &ContainerName) -> Result<(), EngineError> {
        // A pod that is deleted by force is gone before its processes are, and another pod may
        // read their volume: they are ended first. A node that does not answer can't hold this up.
        if pods::is_running(&self.inner, name)? {
            let _lost = self.end(name, Duration::ZERO);
        }
        pods::remove(&self.inner, name)
    }

    fn exec(&self, name: &ContainerName, spec: &ExecSpec) -> Result<Process, EngineError> {
        exec::start(&self.inner, name, spec)
    }
}

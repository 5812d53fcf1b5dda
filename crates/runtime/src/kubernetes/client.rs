//! The client below the verbs: runtime, credentials, limits of time, and errors.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::runtime::Runtime;

use super::ClusterError;
use crate::{EngineError, KubernetesAddress};

/// The limit of a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The limit of an ordinary call.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// What a call is about, for its errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallContext<'a> {
    pub(super) verb: &'static str,
    pub(super) what: &'static str,
    pub(super) name: &'a str,
}

/// One namespace's client; shared by the engine and by every process started through it.
pub(super) struct Inner {
    pub(super) address: KubernetesAddress,
    pub(super) client: Client,
    pub(super) runtime: Runtime,
}

impl Inner {
    /// # Errors
    /// When there is no such context, or the process can't start a thread.
    pub(super) fn new(address: KubernetesAddress) -> Result<Self, EngineError> {
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
        let client = runtime.block_on(connect(&address))?;
        Ok(Self {
            address,
            client,
            runtime,
        })
    }

    pub(super) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.address.namespace)
    }

    pub(super) fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.client.clone(), &self.address.namespace)
    }

    /// Runs a call to its end, under a limit.
    pub(super) fn call<T>(
        &self,
        limit: Duration,
        call: CallContext<'_>,
        work: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, EngineError> {
        let done = async { tokio::time::timeout(limit, work).await };
        match self.runtime.block_on(done) {
            Ok(answer) => answer.map_err(|error| self.sort(call, error)),
            Err(_) => Err(EngineError::Timeout {
                endpoint: self.address.to_string(),
                after: limit,
            }),
        }
    }

    /// Says what an error of the client is.
    pub(super) fn sort(&self, call: CallContext<'_>, error: kube::Error) -> EngineError {
        let KubernetesAddress {
            context, namespace, ..
        } = &self.address;
        let CallContext { verb, what, name } = call;
        let status = match error {
            kube::Error::Api(status) => status,
            kube::Error::Auth(error) => {
                return EngineError::cluster(ClusterError::Unauthorized {
                    context: context.clone(),
                    message: error.to_string(),
                });
            }
            other => {
                return EngineError::Unreachable {
                    endpoint: self.address.to_string(),
                    source: io::Error::other(chain(&other)),
                };
            }
        };
        let message = status.message.clone();
        let is_namespace = message.starts_with("namespaces ");
        EngineError::cluster(match (status.code, &*status.reason) {
            (401, _) => ClusterError::Unauthorized {
                context: context.clone(),
                message,
            },
            (403, _) if message.contains("exceeded quota") => ClusterError::Quota { verb, message },
            (403, _) => ClusterError::Forbidden { verb, message },
            (404, _) if is_namespace => ClusterError::NoNamespace {
                namespace: namespace.clone(),
            },
            (404, _) => {
                return EngineError::NotFound {
                    what,
                    name: name.to_owned(),
                };
            }
            (409, "AlreadyExists") => {
                return EngineError::AlreadyExists {
                    what,
                    name: name.to_owned(),
                };
            }
            (status, _) => {
                return EngineError::Refused {
                    verb,
                    status,
                    message,
                };
            }
        })
    }
}

/// Makes the client of a context.
async fn connect(address: &KubernetesAddress) -> Result<Client, EngineError> {
    let unreadable = |message: String| EngineError::cluster(ClusterError::Kubeconfig { message });
    let mut all: Option<Kubeconfig> = None;
    let mut missing = Vec::new();
    for file in &address.kubeconfig {
        if !file.exists() {
            missing.push(format!("{} does not exist", file.display()));
            continue;
        }
        let read = Kubeconfig::read_from(file);
        let read = read.map_err(|error| unreadable(format!("{}: {error}", file.display())))?;
        all = Some(match all {
            None => read,
            Some(first) => first
                .merge(read)
                .map_err(|error| unreadable(error.to_string()))?,
        });
    }
    let all = all.ok_or_else(|| {
        unreadable(match missing.is_empty() {
            true => "neither KUBECONFIG nor HOME is set".to_owned(),
            false => missing.join(", "),
        })
    })?;
    if all
        .contexts
        .iter()
        .all(|known| known.name != address.context)
    {
        let known: Vec<&str> = all.contexts.iter().map(|known| &*known.name).collect();
        let files: Vec<String> = (address.kubeconfig.iter())
            .map(|file| file.display().to_string())
            .collect();
        return Err(EngineError::cluster(ClusterError::NoContext {
            context: address.context.clone(),
            files: files.join(", "),
            known: known.join(", "),
        }));
    }
    let options = KubeConfigOptions {
        context: Some(address.context.clone()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(all, &options).await;
    let mut config = config.map_err(|error| unreadable(error.to_string()))?;
    config.connect_timeout = Some(CONNECT_LIMIT);
    Client::try_from(config).map_err(|error| unreadable(error.to_string()))
}

/// Returns an error with its causes.
fn chain(error: &kube::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = next.source();
    }
    words
}

/// Returns the metadata of something with our labels.
///
/// # Errors
/// When Kubernetes can't use the name (RFC 1123).
pub(super) fn metadata(
    name: &str,
    labels: &BTreeMap<String, String>,
) -> Result<ObjectMeta, EngineError> {
    Ok(ObjectMeta {
        name: Some(checked(name)?.to_owned()),
        labels: Some(
            labels
                .keys()
                .map(|key| (key.clone(), String::new()))
                .collect(),
        ),
        annotations: Some(labels.clone()),
        ..ObjectMeta::default()
    })
}

/// Returns a name, if Kubernetes can use it.
fn checked(name: &str) -> Result<&str, EngineError> {
    let is_label = name.len() <= 63
        && !name.starts_with('-')
        && !name.ends_with('-')
        && (name.bytes())
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    match is_label {
        true => Ok(name),
        false => Err(EngineError::cluster(ClusterError::Name {
            name: name.to_owned(),
        })),
    }
}

/// Returns the labels of something that [`metadata`] describes.
pub(super) fn labels(metadata: &ObjectMeta) -> BTreeMap<String, String> {
    let marks = metadata.labels.iter().flatten();
    let annotations = metadata.annotations.iter().flatten();
    let annotations: BTreeMap<_, _> = annotations.collect();
    let marked = marks.filter_map(|(key, _)| Some((key.clone(), (*annotations.get(key)?).clone())));
    marked.collect()
}

/// Asks for everything that has a label.
pub(super) fn with_label(key: &str) -> ListParams {
    ListParams::default().labels(key)
}

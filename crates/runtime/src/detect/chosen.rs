//! The engine that the user's surroundings name, in the order of Docker's own command:
//! `DOCKER_HOST`, `DOCKER_CONTEXT`, `currentContext`; Podman's `CONTAINER_HOST`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{ChoiceError, DecidedBy, Endpoint, Environment, SshAddress, TlsAddress};

/// What Docker's command connects to if TLS is asked for and no host is named.
const TLS_HOST: &str = "localhost:2376";

/// An engine that something names.
#[derive(Debug)]
pub(super) struct Chosen {
    /// What names it.
    pub(super) by: DecidedBy,
    /// Where it is, or why that can't be used.
    pub(super) endpoint: Result<Endpoint, ChoiceError>,
}

/// Returns the engine that is named for any use.
///
/// A variable is stronger than a file. Two variables that name two engines are an error, since
/// either guess would be an engine that the user did not mean.
pub(super) fn any(environment: &Environment) -> Option<Chosen> {
    match (docker(environment), podman(environment)) {
        (Some(docker), None) => Some(docker),
        (None, podman) => podman,
        (Some(docker), Some(podman)) => Some(match (&docker.by, &podman.by) {
            (&DecidedBy::Variable(one), &DecidedBy::Variable(other))
                if docker.endpoint.is_err() || docker.endpoint != podman.endpoint =>
            {
                Chosen {
                    by: DecidedBy::Variables(one, other),
                    endpoint: Err(ChoiceError::TwoEngines { one, other }),
                }
            }
            (DecidedBy::Variable(_), _) => docker,
            _ => podman,
        }),
    }
}

/// Returns the engine that `CONTAINER_HOST` names.
pub(super) fn podman(environment: &Environment) -> Option<Chosen> {
    let host = filled(&environment.container_host)?;
    Some(Chosen {
        by: DecidedBy::Variable("CONTAINER_HOST"),
        endpoint: host.parse(),
    })
}

/// Returns the engine that Docker's own command would use; `None` if nothing names one.
pub(super) fn docker(environment: &Environment) -> Option<Chosen> {
    if let Some(host) = filled(&environment.docker_host) {
        let has_certificates = filled(&environment.docker_cert_path).is_some();
        let is_tls = has_certificates || tls_variable(environment).is_some();
        return Some(Chosen {
            by: DecidedBy::Variable("DOCKER_HOST"),
            endpoint: match host.parse() {
                Ok(Endpoint::Tcp(address)) if is_tls => Ok(over_tls(address)),
                parsed => parsed,
            },
        });
    }
    let context = filled(&environment.docker_context);
    if let Some(name) = context.filter(|name| *name != DEFAULT) {
        return Some(Chosen {
            by: DecidedBy::Variable("DOCKER_CONTEXT"),
            endpoint: endpoint_of(name, environment),
        });
    }
    if context.is_none()
        && let Some(directory) = directory(environment)
    {
        let file = directory.join("config.json");
        let endpoint = match current_context(&file) {
            Ok(None) => None,
            Ok(Some(name)) => Some(endpoint_of(&name, environment)),
            Err(error) => Some(Err(ChoiceError::Config {
                reason: error.to_string(),
            })),
        };
        if let Some(endpoint) = endpoint {
            let by = DecidedBy::CurrentContext(file);
            return Some(Chosen { by, endpoint });
        }
    }
    if let Some(variable) = tls_variable(environment) {
        return Some(Chosen {
            by: DecidedBy::Variable(variable),
            endpoint: Ok(over_tls(TLS_HOST.to_owned())),
        });
    }
    context.map(|_default| Chosen {
        by: DecidedBy::Variable("DOCKER_CONTEXT"),
        endpoint: Ok(Endpoint::Unix(environment.docker_socket())),
    })
}

/// The name of the context that is none: the socket that Docker listens on by default.
const DEFAULT: &str = "default";

/// Returns the variable that asks for TLS. Docker's command takes `DOCKER_TLS` for TLS with any
/// server; here a server is always verified.
fn tls_variable(environment: &Environment) -> Option<&'static str> {
    let variables = [
        ("DOCKER_TLS_VERIFY", &environment.docker_tls_verify),
        ("DOCKER_TLS", &environment.docker_tls),
    ];
    let mut set = variables
        .into_iter()
        .filter(|(_, value)| filled(value).is_some());
    set.next().map(|(name, _)| name)
}

fn over_tls(address: String) -> Endpoint {
    Endpoint::Tls(TlsAddress {
        address,
        certificates: None,
    })
}

/// Fills in what an address leaves to the user's surroundings.
pub(super) fn filled_in(endpoint: Endpoint, environment: &Environment) -> Endpoint {
    match endpoint {
        Endpoint::Tls(TlsAddress {
            address,
            certificates: None,
        }) => Endpoint::Tls(TlsAddress {
            address,
            certificates: match filled(&environment.docker_cert_path) {
                Some(directory) => Some(PathBuf::from(directory)),
                None => directory(environment),
            },
        }),
        Endpoint::Ssh(address) => Endpoint::Ssh(SshAddress {
            program: environment.program("ssh"),
            ..address
        }),
        endpoint => endpoint,
    }
}

/// An empty variable counts as unset.
fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Returns the directory of Docker's configuration.
fn directory(environment: &Environment) -> Option<PathBuf> {
    match &environment.docker_config {
        Some(directory) => Some(directory.clone()),
        None => Some(environment.home.as_ref()?.join(".docker")),
    }
}

/// `~/.docker/config.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerConfig {
    current_context: Option<String>,
}

/// `~/.docker/contexts/meta/*/meta.json`; each directory is named by a digest of the name.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContextMeta {
    name: String,
    #[serde(default)]
    endpoints: ContextEndpoints,
}

#[derive(Default, Deserialize)]
struct ContextEndpoints {
    docker: Option<ContextEndpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContextEndpoint {
    #[serde(default)]
    host: String,
}

/// Returns the context that Docker's configuration names. `docker context use default` writes
/// none.
fn current_context(file: &Path) -> io::Result<Option<String>> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let config: DockerConfig = serde_json::from_slice(&text)?;
    let name = config.current_context;
    Ok(name.filter(|name| !name.is_empty() && name != DEFAULT))
}

/// Returns the address that a context holds.
fn endpoint_of(name: &str, environment: &Environment) -> Result<Endpoint, ChoiceError> {
    let owned = || name.to_owned();
    let directory = directory(environment).unwrap_or_default().join("contexts");
    let folders = fs::read_dir(directory.join("meta")).into_iter().flatten();
    let found = folders.filter_map(Result::ok).find_map(|folder| {
        let meta = fs::read(folder.path().join("meta.json")).ok()?;
        let meta: ContextMeta = serde_json::from_slice(&meta).ok()?;
        (meta.name == name).then(|| (folder.file_name(), meta.endpoints.docker))
    });
    let Some((folder, endpoint)) = found else {
        return Err(ChoiceError::NoContext {
            name: owned(),
            directory,
        });
    };
    let Some(host) = endpoint.map(|endpoint| endpoint.host) else {
        return Err(ChoiceError::NoEndpoint { name: owned() });
    };
    let certificates = directory.join("tls").join(folder).join("docker");
    let endpoint = match host.parse() {
        Ok(Endpoint::Tcp(address) | Endpoint::Tls(TlsAddress { address, .. }))
            if certificates.is_dir() =>
        {
            Ok(Endpoint::Tls(TlsAddress {
                address,
                certificates: Some(certificates),
            }))
        }
        parsed => parsed,
    };
    endpoint.map_err(|source| ChoiceError::Context {
        name: owned(),
        source: Box::new(source),
    })
}

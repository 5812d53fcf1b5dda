//! Where an engine may be, in the order in which the locations are tried; reads files only.

use std::fs;
use std::path::PathBuf;

use super::chosen::{self, Chosen};
use super::{
    ChoiceError, DecidedBy, Endpoint, EngineChoice, EngineRequest, Environment, KubernetesAddress,
    NamedEngine,
};
use crate::EngineKind;

/// A location to try.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EngineLocation {
    pub(super) connector: Connector,
    pub(super) requirement: Requirement,
    pub(super) origin: String,
}

/// How an engine is reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Connector {
    /// An address, or why a text that should hold one does not.
    Api(Result<Endpoint, ChoiceError>),
    /// `podman system service`, started by us; the program.
    Service(PathBuf),
    /// Apple `container`; the program.
    Command(PathBuf),
    /// A namespace of a Kubernetes cluster.
    Cluster(KubernetesAddress),
}

/// What must answer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirement {
    Any,
    Kind(EngineKind),
    /// Podman without root.
    Rootless,
}

/// What decided, and where to look for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) by: DecidedBy,
    pub(super) locations: Vec<EngineLocation>,
}

/// Returns the locations for a request. Where the user has named one, there is no other: an
/// engine that the user did not choose is never used in place of one that was.
pub(super) fn search(request: &EngineRequest, environment: &Environment) -> Search {
    use NamedEngine::{Apple, Docker, Podman, PodmanRootless};
    let podman = Requirement::Kind(EngineKind::Podman);
    let mut locations = Vec::new();
    let (chosen, requirement) = match &request.choice {
        EngineChoice::Cluster(address) => {
            let address = KubernetesAddress {
                kubeconfig: environment.kubeconfig(),
                ..address.clone()
            };
            return Search {
                by: request.by.clone(),
                locations: vec![EngineLocation {
                    connector: Connector::Cluster(address),
                    requirement: Requirement::Any,
                    origin: request.by.to_string(),
                }],
            };
        }
        EngineChoice::Endpoint(endpoint) => {
            let chosen = Chosen {
                by: request.by.clone(),
                endpoint: Ok(endpoint.clone()),
            };
            (Some(chosen), Requirement::Any)
        }
        EngineChoice::Auto => (chosen::any(environment), Requirement::Any),
        EngineChoice::Named(Docker) => (
            chosen::docker(environment),
            Requirement::Kind(EngineKind::Docker),
        ),
        EngineChoice::Named(Podman) => (chosen::podman(environment), podman),
        EngineChoice::Named(PodmanRootless) => (chosen::podman(environment), Requirement::Rootless),
        EngineChoice::Named(Apple) => (None, Requirement::Kind(EngineKind::Apple)),
    };
    if let Some(Chosen { by, endpoint }) = chosen {
        let endpoint = endpoint.map(|endpoint| chosen::filled_in(endpoint, environment));
        locations.push(EngineLocation {
            connector: Connector::Api(endpoint),
            requirement,
            origin: by.to_string(),
        });
        return Search { by, locations };
    }
    match &request.choice {
        EngineChoice::Named(Docker) => docker_sockets(environment, requirement, &mut locations),
        EngineChoice::Named(Podman) => {
            podman_sockets(environment, requirement, &mut locations);
            podman_service(environment, requirement, &mut locations);
        }
        EngineChoice::Named(PodmanRootless) => rootless(environment, &mut locations),
        EngineChoice::Named(Apple) => apple(environment, &mut locations),
        EngineChoice::Auto | EngineChoice::Endpoint(_) | EngineChoice::Cluster(_) => {
            docker_sockets(environment, requirement, &mut locations);
            podman_sockets(environment, requirement, &mut locations);
            podman_service(environment, requirement, &mut locations);
            apple(environment, &mut locations);
        }
    }
    Search {
        by: request.by.clone(),
        locations,
    }
}

fn docker_sockets(
    environment: &Environment,
    requirement: Requirement,
    locations: &mut Vec<EngineLocation>,
) {
    let home = environment.home.iter().flat_map(|home| {
        [".docker/run/docker.sock", ".docker/desktop/docker.sock"].map(|path| home.join(path))
    });
    let sockets = [environment.docker_socket()]
        .into_iter()
        .chain(
            environment
                .xdg_runtime_dir
                .iter()
                .map(|dir| dir.join("docker.sock")),
        )
        .chain(home);
    for (number, socket) in sockets.enumerate() {
        // The first is always named, so that its absence is explained.
        if number == 0 || socket.exists() {
            locations.push(socket_location(
                socket,
                requirement,
                "a default Docker socket",
            ));
        }
    }
}

fn podman_sockets(
    environment: &Environment,
    requirement: Requirement,
    locations: &mut Vec<EngineLocation>,
) {
    let rootful = environment.root.join("run/podman/podman.sock");
    locations.push(socket_location(
        rootful,
        requirement,
        "the rootful Podman socket",
    ));
    for socket in user_sockets(environment) {
        locations.push(socket_location(
            socket,
            requirement,
            "the user's Podman socket",
        ));
    }
}

fn rootless(environment: &Environment, locations: &mut Vec<EngineLocation>) {
    if environment.uid != 0 {
        for socket in user_sockets(environment) {
            locations.push(socket_location(
                socket,
                Requirement::Rootless,
                "the user's Podman socket",
            ));
        }
        podman_service(environment, Requirement::Rootless, locations);
        return;
    }
    // Root has no rootless Podman of its own: any user's.
    let mut users: Vec<PathBuf> = fs::read_dir(environment.root.join("run/user"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("podman/podman.sock")))
        .filter(|socket| socket.exists())
        .collect();
    users.sort();
    if users.is_empty() {
        users.push(environment.root.join("run/user/UID/podman/podman.sock"));
    }
    for socket in users {
        locations.push(socket_location(
            socket,
            Requirement::Rootless,
            "a user's Podman socket",
        ));
    }
}

/// The caller's own sockets; root's are the rootful ones.
fn user_sockets(environment: &Environment) -> Vec<PathBuf> {
    if environment.uid == 0 {
        return Vec::new();
    }
    let default = environment
        .root
        .join(format!("run/user/{}", environment.uid));
    let mut directories: Vec<PathBuf> = environment.xdg_runtime_dir.iter().cloned().collect();
    if !directories.contains(&default) {
        directories.push(default);
    }
    let mut sockets: Vec<PathBuf> = directories
        .into_iter()
        .map(|dir| dir.join("podman/podman.sock"))
        .collect();
    // The first is always named, so that its absence is explained.
    let rest = sockets.split_off(1);
    sockets.extend(rest.into_iter().filter(|socket| socket.exists()));
    sockets
}

fn podman_service(
    environment: &Environment,
    requirement: Requirement,
    locations: &mut Vec<EngineLocation>,
) {
    if let Some(program) = environment.program("podman") {
        locations.push(EngineLocation {
            connector: Connector::Service(program),
            requirement,
            origin: "a private Podman service".to_owned(),
        });
    }
}

fn apple(environment: &Environment, locations: &mut Vec<EngineLocation>) {
    if let Some(program) = environment.program("container") {
        locations.push(EngineLocation {
            connector: Connector::Command(program),
            requirement: Requirement::Kind(EngineKind::Apple),
            origin: "Apple container on PATH".to_owned(),
        });
    }
}

fn socket_location(socket: PathBuf, requirement: Requirement, origin: &str) -> EngineLocation {
    EngineLocation {
        connector: Connector::Api(Ok(Endpoint::Unix(socket))),
        requirement,
        origin: origin.to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! Where an engine may be, in the order in which the places are tried; reads files only.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{ChoiceError, DetectError, Endpoint, EngineChoice, Environment, NamedEngine};
use crate::EngineKind;

/// A place to try.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) door: Door,
    pub(super) wanted: Wanted,
    pub(super) origin: String,
}

/// How an engine is reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// An address, or why a text that should hold one does not.
    Api(Result<Endpoint, ChoiceError>),
    /// `podman system service`, started by us; the program.
    Service(PathBuf),
    /// Apple `container`; the program.
    Command(PathBuf),
}

/// What must answer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Any,
    Kind(EngineKind),
    /// Podman without root.
    Rootless,
}

/// Returns the places for a choice.
///
/// # Errors
/// When `LAZARET_ENGINE` holds no choice.
pub(super) fn places(
    choice: &EngineChoice,
    environment: &Environment,
) -> Result<Vec<Place>, DetectError> {
    let mut places = Vec::new();
    match (choice, &environment.lazaret_engine) {
        (EngineChoice::Auto, Some(text)) if !text.is_empty() => {
            let choice: EngineChoice = text.parse()?;
            match choice {
                EngineChoice::Auto => automatic(environment, &mut places),
                choice => chosen(&choice, "LAZARET_ENGINE", environment, &mut places),
            }
        }
        (EngineChoice::Auto, _) => automatic(environment, &mut places),
        (choice, _) => chosen(choice, "--engine", environment, &mut places),
    }
    // `DOCKER_HOST` often is the default socket.
    let mut seen: Vec<Place> = Vec::new();
    for place in places {
        if !seen
            .iter()
            .any(|other| other.door == place.door && other.wanted == place.wanted)
        {
            seen.push(place);
        }
    }
    Ok(seen)
}

fn automatic(environment: &Environment, places: &mut Vec<Place>) {
    docker(environment, Wanted::Any, places);
    podman_sockets(environment, Wanted::Any, places);
    podman_service(environment, Wanted::Any, places);
    apple(environment, places);
}

fn chosen(choice: &EngineChoice, origin: &str, environment: &Environment, places: &mut Vec<Place>) {
    match choice {
        EngineChoice::Auto => automatic(environment, places),
        EngineChoice::Endpoint(endpoint) => places.push(Place {
            door: Door::Api(Ok(endpoint.clone())),
            wanted: Wanted::Any,
            origin: origin.to_owned(),
        }),
        EngineChoice::Named(NamedEngine::Docker) => {
            docker(environment, Wanted::Kind(EngineKind::Docker), places);
        }
        EngineChoice::Named(NamedEngine::Podman) => {
            let wanted = Wanted::Kind(EngineKind::Podman);
            podman_sockets(environment, wanted, places);
            podman_service(environment, wanted, places);
        }
        EngineChoice::Named(NamedEngine::PodmanRootless) => rootless(environment, places),
        EngineChoice::Named(NamedEngine::Apple) => apple(environment, places),
    }
}

fn docker(environment: &Environment, wanted: Wanted, places: &mut Vec<Place>) {
    if let Some(host) = filled(environment.docker_host.as_ref()) {
        places.push(Place {
            door: Door::Api(host.parse()),
            wanted,
            origin: "DOCKER_HOST".to_owned(),
        });
    } else if let Some((name, host)) = docker_context(environment) {
        places.push(Place {
            door: Door::Api(host.parse()),
            wanted,
            origin: format!("the Docker context {name:?}"),
        });
    }
    let home = environment.home.iter().flat_map(|home| {
        [".docker/run/docker.sock", ".docker/desktop/docker.sock"].map(|path| home.join(path))
    });
    let sockets = [environment.root.join("var/run/docker.sock")]
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
            places.push(socket_place(socket, wanted, "a default Docker socket"));
        }
    }
}

fn podman_sockets(environment: &Environment, wanted: Wanted, places: &mut Vec<Place>) {
    container_host(environment, wanted, places);
    let rootful = environment.root.join("run/podman/podman.sock");
    places.push(socket_place(rootful, wanted, "the rootful Podman socket"));
    for socket in user_sockets(environment) {
        places.push(socket_place(socket, wanted, "the user's Podman socket"));
    }
}

fn rootless(environment: &Environment, places: &mut Vec<Place>) {
    container_host(environment, Wanted::Rootless, places);
    if environment.uid != 0 {
        for socket in user_sockets(environment) {
            places.push(socket_place(
                socket,
                Wanted::Rootless,
                "the user's Podman socket",
            ));
        }
        podman_service(environment, Wanted::Rootless, places);
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
        places.push(socket_place(
            socket,
            Wanted::Rootless,
            "a user's Podman socket",
        ));
    }
}

fn container_host(environment: &Environment, wanted: Wanted, places: &mut Vec<Place>) {
    if let Some(host) = filled(environment.container_host.as_ref()) {
        places.push(Place {
            door: Door::Api(host.parse()),
            wanted,
            origin: "CONTAINER_HOST".to_owned(),
        });
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

fn podman_service(environment: &Environment, wanted: Wanted, places: &mut Vec<Place>) {
    if let Some(program) = find_program(environment, "podman") {
        places.push(Place {
            door: Door::Service(program),
            wanted,
            origin: "a private Podman service".to_owned(),
        });
    }
}

fn apple(environment: &Environment, places: &mut Vec<Place>) {
    if let Some(program) = find_program(environment, "container") {
        places.push(Place {
            door: Door::Command(program),
            wanted: Wanted::Kind(EngineKind::Apple),
            origin: "Apple container on PATH".to_owned(),
        });
    }
}

fn socket_place(socket: PathBuf, wanted: Wanted, origin: &str) -> Place {
    Place {
        door: Door::Api(Ok(Endpoint::Unix(socket))),
        wanted,
        origin: origin.to_owned(),
    }
}

fn filled(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

fn find_program(environment: &Environment, name: &str) -> Option<PathBuf> {
    std::env::split_paths(environment.path.as_ref()?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
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
    host: String,
}

/// Returns the Docker context in force and its address. `default` is no context.
fn docker_context(environment: &Environment) -> Option<(String, String)> {
    let directory = match &environment.docker_config {
        Some(directory) => directory.clone(),
        None => environment.home.as_ref()?.join(".docker"),
    };
    let name = match filled(environment.docker_context.as_ref()) {
        Some(name) => name.clone(),
        None => read_json::<DockerConfig>(&directory.join("config.json"))?.current_context?,
    };
    if name.is_empty() || name == "default" {
        return None;
    }
    let found = fs::read_dir(directory.join("contexts/meta"))
        .into_iter()
        .flatten()
        .filter_map(|entry| read_json::<ContextMeta>(&entry.ok()?.path().join("meta.json")))
        .find(|meta| meta.name == name)
        .and_then(|meta| Some(meta.endpoints.docker?.host));
    // A context that is named but not there is a place that does not answer.
    let host = found.unwrap_or_else(|| format!("(no such context: {name})"));
    Some((name, host))
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(root: &Path) -> Environment {
        Environment {
            lazaret_engine: None,
            docker_host: None,
            docker_context: None,
            docker_config: None,
            container_host: None,
            xdg_runtime_dir: None,
            home: None,
            path: None,
            uid: 1000,
            root: root.to_owned(),
        }
    }

    fn show(choice: &str, environment: &Environment) -> String {
        match places(&choice.parse().unwrap(), environment) {
            Ok(places) => places
                .iter()
                .map(|place| {
                    let door = match &place.door {
                        Door::Api(Ok(endpoint)) => endpoint.to_string(),
                        Door::Api(Err(error)) => error.to_string(),
                        Door::Service(program) => format!("service {}", program.display()),
                        Door::Command(program) => format!("command {}", program.display()),
                    };
                    let root = environment.root.display().to_string();
                    format!("{:?} {} ({})\n", place.wanted, door, place.origin)
                        .replace(&root, "ROOT")
                })
                .collect(),
            Err(error) => error.to_string(),
        }
    }

    fn touch(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn an_empty_machine_names_the_default_places() {
        let root = tempfile::tempdir().unwrap();
        insta::assert_snapshot!(show("auto", &environment(root.path())), @r"
        Any unix://ROOT/var/run/docker.sock (a default Docker socket)
        Any unix://ROOT/run/podman/podman.sock (the rootful Podman socket)
        Any unix://ROOT/run/user/1000/podman/podman.sock (the user's Podman socket)
        ");
    }

    #[test]
    fn the_order_is_docker_then_podman_then_apple() {
        let root = tempfile::tempdir().unwrap();
        let mut environment = environment(root.path());
        let home = root.path().join("home");
        environment.home = Some(home.clone());
        environment.docker_host = Some("tcp://127.0.0.1:2375".to_owned());
        environment.container_host = Some("ssh://core@vm/run/podman.sock".to_owned());
        environment.xdg_runtime_dir = Some(root.path().join("run/user/1000"));
        environment.path = Some(root.path().join("bin").into_os_string());
        touch(&root.path().join("bin/podman"), 0o755);
        touch(&root.path().join("bin/container"), 0o755);
        touch(&home.join(".docker/run/docker.sock"), 0o600);
        insta::assert_snapshot!(show("auto", &environment), @r#"
        Any tcp://127.0.0.1:2375 (DOCKER_HOST)
        Any unix://ROOT/var/run/docker.sock (a default Docker socket)
        Any unix://ROOT/home/.docker/run/docker.sock (a default Docker socket)
        Any "ssh://core@vm/run/podman.sock": engines over ssh are not supported yet; forward the socket and use unix:///PATH (CONTAINER_HOST)
        Any unix://ROOT/run/podman/podman.sock (the rootful Podman socket)
        Any unix://ROOT/run/user/1000/podman/podman.sock (the user's Podman socket)
        Any service ROOT/bin/podman (a private Podman service)
        Kind(Apple) command ROOT/bin/container (Apple container on PATH)
        "#);
        environment.lazaret_engine = Some("podman-rootless".to_owned());
        environment.container_host = None;
        insta::assert_snapshot!(show("auto", &environment), @"
        Rootless unix://ROOT/run/user/1000/podman/podman.sock (the user's Podman socket)
        Rootless service ROOT/bin/podman (a private Podman service)
        ");
        // What is typed wins.
        insta::assert_snapshot!(show("unix:///x.sock", &environment), @"Any unix:///x.sock (--engine)");
        environment.lazaret_engine = Some("dcoker".to_owned());
        insta::assert_snapshot!(show("auto", &environment), @r#""dcoker" names no engine: expected docker, podman, podman-rootless, apple, unix:///PATH or tcp://HOST:PORT"#);
    }

    #[test]
    fn root_means_a_users_socket_by_rootless() {
        let root = tempfile::tempdir().unwrap();
        let mut environment = environment(root.path());
        environment.uid = 0;
        touch(&root.path().join("run/user/1001/podman/podman.sock"), 0o600);
        fs::create_dir_all(root.path().join("run/user/1002")).unwrap();
        insta::assert_snapshot!(show("podman-rootless", &environment), @"Rootless unix://ROOT/run/user/1001/podman/podman.sock (a user's Podman socket)");
        insta::assert_snapshot!(show("podman", &environment), @"Kind(Podman) unix://ROOT/run/podman/podman.sock (the rootful Podman socket)");
    }

    #[test]
    fn a_docker_context_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let mut environment = environment(root.path());
        let docker = root.path().join("docker");
        environment.docker_config = Some(docker.clone());
        let meta = docker.join("contexts/meta/0a1b/meta.json");
        touch(&meta, 0o600);
        fs::write(&meta, r#"{"Name":"colima","Metadata":{},"Endpoints":{"docker":{"Host":"unix:///colima.sock","SkipTLSVerify":false}}}"#).unwrap();
        fs::write(
            docker.join("config.json"),
            r#"{"auths":{},"currentContext":"colima"}"#,
        )
        .unwrap();
        let first = |environment: &Environment| {
            show("docker", environment)
                .lines()
                .next()
                .map(str::to_owned)
        };
        assert_eq!(
            first(&environment).as_deref(),
            Some(r#"Kind(Docker) unix:///colima.sock (the Docker context "colima")"#)
        );
        environment.docker_context = Some("default".to_owned());
        assert_eq!(
            first(&environment).as_deref(),
            Some("Kind(Docker) unix://ROOT/var/run/docker.sock (a default Docker socket)")
        );
        environment.docker_context = Some("lost".to_owned());
        assert!(
            first(&environment)
                .unwrap()
                .contains("no such context: lost")
        );
    }
}

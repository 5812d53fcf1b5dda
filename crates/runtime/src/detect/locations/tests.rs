//! Which locations are tried, for what was typed and what the variables say.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Connector, Search, search};
use crate::detect::{EngineRequest, Environment};

fn environment(root: &Path) -> Environment {
    Environment {
        uid: 1000,
        root: root.to_owned(),
        ..Environment::default()
    }
}

fn show(choice: &str, environment: &Environment) -> String {
    let request = EngineRequest::flag(choice.parse().unwrap());
    let Search { by, locations } = search(&request, environment);
    let lines = locations.iter().map(|location| {
        let connector = match &location.connector {
            Connector::Api(Ok(endpoint)) => endpoint.to_string(),
            Connector::Api(Err(error)) => error.to_string(),
            Connector::Service(program) => format!("service {}", program.display()),
            Connector::Command(program) => format!("command {}", program.display()),
            Connector::Cluster(address) => {
                let files = address.kubeconfig.iter();
                let files: Vec<_> = files.map(|file| file.display().to_string()).collect();
                format!("cluster {address} of {}", files.join(" "))
            }
        };
        format!(
            "{:?} {} ({})\n",
            location.requirement, connector, location.origin
        )
    });
    let root = environment.root.display().to_string();
    let lines: String = lines.collect();
    format!("{by}\n{lines}").replace(&root, "ROOT")
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
    detected
    Any unix://ROOT/var/run/docker.sock (a default Docker socket)
    Any unix://ROOT/run/podman/podman.sock (the rootful Podman socket)
    Any unix://ROOT/run/user/1000/podman/podman.sock (the user's Podman socket)
    ");
}

#[test]
fn a_cluster_is_used_if_it_is_named_and_its_contexts_are_where_kubectl_looks() {
    let root = tempfile::tempdir().unwrap();
    let mut environment = environment(root.path());
    environment.home = Some(root.path().join("home"));
    insta::assert_snapshot!(show("k8s://c/n", &environment), @r"
    --engine
    Any cluster k8s://c/n of ROOT/home/.kube/config (--engine)
    ");
    environment.kubeconfig = Some("/a:/b".into());
    insta::assert_snapshot!(show("k8s://c/n", &environment), @r"
    --engine
    Any cluster k8s://c/n of /a /b (--engine)
    ");
    assert!(!show("auto", &environment).contains("cluster"));
}

#[test]
fn the_order_is_docker_then_podman_then_apple() {
    let root = tempfile::tempdir().unwrap();
    let mut environment = environment(root.path());
    let home = root.path().join("home");
    environment.home = Some(home.clone());
    environment.xdg_runtime_dir = Some(root.path().join("run/user/1000"));
    environment.path = Some(root.path().join("bin").into_os_string());
    touch(&root.path().join("bin/podman"), 0o755);
    touch(&root.path().join("bin/container"), 0o755);
    touch(&home.join(".docker/run/docker.sock"), 0o600);
    insta::assert_snapshot!(show("auto", &environment), @r"
    detected
    Any unix://ROOT/var/run/docker.sock (a default Docker socket)
    Any unix://ROOT/home/.docker/run/docker.sock (a default Docker socket)
    Any unix://ROOT/run/podman/podman.sock (the rootful Podman socket)
    Any unix://ROOT/run/user/1000/podman/podman.sock (the user's Podman socket)
    Any service ROOT/bin/podman (a private Podman service)
    Kind(Apple) command ROOT/bin/container (Apple container on PATH)
    ");
    insta::assert_snapshot!(show("podman-rootless", &environment), @"
    --engine
    Rootless unix://ROOT/run/user/1000/podman/podman.sock (the user's Podman socket)
    Rootless service ROOT/bin/podman (a private Podman service)
    ");
    // What is typed wins.
    environment.docker_host = Some("tcp://127.0.0.1:2375".to_owned());
    insta::assert_snapshot!(show("unix:///x.sock", &environment), @"
    --engine
    Any unix:///x.sock (--engine)
    ");
}

#[test]
fn root_means_a_users_socket_by_rootless() {
    let root = tempfile::tempdir().unwrap();
    let mut environment = environment(root.path());
    environment.uid = 0;
    touch(&root.path().join("run/user/1001/podman/podman.sock"), 0o600);
    fs::create_dir_all(root.path().join("run/user/1002")).unwrap();
    insta::assert_snapshot!(show("podman-rootless", &environment), @"
    --engine
    Rootless unix://ROOT/run/user/1001/podman/podman.sock (a user's Podman socket)
    ");
    insta::assert_snapshot!(show("podman", &environment), @"
    --engine
    Kind(Podman) unix://ROOT/run/podman/podman.sock (the rootful Podman socket)
    ");
}

/// One row: what is typed, what the variables say, and all locations that are tried.
type Row = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const ROWS: &[Row] = &[
    // One variable each.
    (
        "auto",
        &[("DOCKER_HOST", "unix:///d.sock")],
        "DOCKER_HOST: Any unix:///d.sock",
    ),
    (
        "docker",
        &[("DOCKER_HOST", "unix:///d.sock")],
        "DOCKER_HOST: Kind(Docker) unix:///d.sock",
    ),
    (
        "auto",
        &[("CONTAINER_HOST", "unix:///p.sock")],
        "CONTAINER_HOST: Any unix:///p.sock",
    ),
    (
        "podman",
        &[("CONTAINER_HOST", "unix:///p.sock")],
        "CONTAINER_HOST: Kind(Podman) unix:///p.sock",
    ),
    (
        "podman-rootless",
        &[("CONTAINER_HOST", "ssh://u@h/p.sock")],
        "CONTAINER_HOST: Rootless ssh://u@h/p.sock",
    ),
    (
        "auto",
        &[("DOCKER_HOST", "ssh://me@host")],
        "DOCKER_HOST: Any ssh://me@host",
    ),
    (
        "auto",
        &[("DOCKER_HOST", "npipe:////./pipe/docker_engine")],
        "DOCKER_HOST: Any \"npipe:////./pipe/docker_engine\": engines over a named pipe are not supported",
    ),
    (
        "docker",
        &[("DOCKER_HOST", "garbage")],
        "DOCKER_HOST: Kind(Docker) \"garbage\" names no engine: expected unix:///PATH, ssh://[USER@]HOST, tcp://HOST:PORT or https://HOST:PORT",
    ),
    (
        "auto",
        &[("DOCKER_HOST", "docker")],
        "DOCKER_HOST: Any \"docker\" names no engine: expected unix:///PATH, ssh://[USER@]HOST, tcp://HOST:PORT or https://HOST:PORT",
    ),
    (
        "auto",
        &[("DOCKER_HOST", " ")],
        "DOCKER_HOST: Any \" \" names no engine",
    ),
    // TLS.
    (
        "auto",
        &[("DOCKER_HOST", "tcp://h:2376")],
        "DOCKER_HOST: Any https://h:2376?certs=ROOT/docker",
    ),
    (
        "auto",
        &[("DOCKER_HOST", "tcp://h:1"), ("DOCKER_TLS_VERIFY", "1")],
        "DOCKER_HOST: Any https://h:1?certs=ROOT/docker",
    ),
    (
        "docker",
        &[("DOCKER_HOST", "tcp://h:1"), ("DOCKER_CERT_PATH", "/c")],
        "DOCKER_HOST: Kind(Docker) https://h:1?certs=/c",
    ),
    (
        "auto",
        &[
            ("DOCKER_HOST", "unix:///d.sock"),
            ("DOCKER_TLS_VERIFY", "1"),
        ],
        "DOCKER_HOST: Any unix:///d.sock",
    ),
    (
        "auto",
        &[("DOCKER_TLS_VERIFY", "1")],
        "DOCKER_TLS_VERIFY: Any https://localhost:2376?certs=ROOT/docker",
    ),
    (
        "docker",
        &[("DOCKER_TLS", "1")],
        "DOCKER_TLS: Kind(Docker) https://localhost:2376?certs=ROOT/docker",
    ),
    (
        "podman",
        &[("DOCKER_TLS_VERIFY", "1")],
        "--engine: Kind(Podman) unix://ROOT/run/podman/podman.sock",
    ),
    // Docker's own order: DOCKER_HOST, DOCKER_CONTEXT, currentContext.
    (
        "auto",
        &[
            ("DOCKER_HOST", "unix:///d.sock"),
            ("DOCKER_CONTEXT", "lost"),
            ("current", "colima"),
        ],
        "DOCKER_HOST: Any unix:///d.sock",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "colima"), ("current", "lost")],
        "DOCKER_CONTEXT: Any unix:///colima.sock",
    ),
    (
        "docker",
        &[("DOCKER_CONTEXT", "colima")],
        "DOCKER_CONTEXT: Kind(Docker) unix:///colima.sock",
    ),
    (
        "auto",
        &[("current", "colima")],
        "currentContext of ROOT/docker/config.json: Any unix:///colima.sock",
    ),
    (
        "docker",
        &[("current", "colima")],
        "currentContext of ROOT/docker/config.json: Kind(Docker) unix:///colima.sock",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "lost")],
        "DOCKER_CONTEXT: Any there is no Docker context \"lost\" in ROOT/docker/contexts",
    ),
    (
        "docker",
        &[("current", "lost")],
        "currentContext of ROOT/docker/config.json: Kind(Docker) there is no Docker context \"lost\" in ROOT/docker/contexts",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "far")],
        "DOCKER_CONTEXT: Any ssh://me@far",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "tls")],
        "DOCKER_CONTEXT: Any https://h:7?certs=ROOT/docker/contexts/tls/03/docker",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "cluster")],
        "DOCKER_CONTEXT: Any the Docker context \"cluster\" names no Docker endpoint",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "default"), ("current", "colima")],
        "DOCKER_CONTEXT: Any unix://ROOT/var/run/docker.sock",
    ),
    (
        "auto",
        &[("config", "{broken")],
        "currentContext of ROOT/docker/config.json: Any the Docker context in force is unknown: key must be a string at line 1 column 2",
    ),
    // Empty is unset.
    (
        "auto",
        &[
            ("DOCKER_HOST", ""),
            ("DOCKER_CONTEXT", ""),
            ("CONTAINER_HOST", ""),
            ("DOCKER_TLS_VERIFY", ""),
        ],
        "detected: Any unix://ROOT/var/run/docker.sock",
    ),
    (
        "docker",
        &[("current", "")],
        "--engine: Kind(Docker) unix://ROOT/var/run/docker.sock",
    ),
    // Docker's and Podman's at once.
    (
        "auto",
        &[
            ("DOCKER_HOST", "unix:///d.sock"),
            ("CONTAINER_HOST", "unix:///p.sock"),
        ],
        "DOCKER_HOST and CONTAINER_HOST: Any DOCKER_HOST and CONTAINER_HOST name two engines",
    ),
    (
        "auto",
        &[("DOCKER_CONTEXT", "colima"), ("CONTAINER_HOST", "ssh://x")],
        "DOCKER_CONTEXT and CONTAINER_HOST: Any DOCKER_CONTEXT and CONTAINER_HOST name two engines",
    ),
    (
        "auto",
        &[
            ("DOCKER_HOST", "unix:///s.sock"),
            ("CONTAINER_HOST", "unix:///s.sock"),
        ],
        "DOCKER_HOST: Any unix:///s.sock",
    ),
    (
        "docker",
        &[
            ("DOCKER_HOST", "unix:///d.sock"),
            ("CONTAINER_HOST", "unix:///p.sock"),
        ],
        "DOCKER_HOST: Kind(Docker) unix:///d.sock",
    ),
    (
        "podman",
        &[
            ("DOCKER_HOST", "unix:///d.sock"),
            ("CONTAINER_HOST", "unix:///p.sock"),
        ],
        "CONTAINER_HOST: Kind(Podman) unix:///p.sock",
    ),
    (
        "auto",
        &[("current", "colima"), ("CONTAINER_HOST", "unix:///p.sock")],
        "CONTAINER_HOST: Any unix:///p.sock",
    ),
    // Those of the other kind have no say where the kind is named.
    (
        "docker",
        &[("CONTAINER_HOST", "ssh://x")],
        "--engine: Kind(Docker) unix://ROOT/var/run/docker.sock",
    ),
    (
        "podman",
        &[("DOCKER_HOST", "ssh://x")],
        "--engine: Kind(Podman) unix://ROOT/run/podman/podman.sock",
    ),
];

#[test]
fn net_25_what_is_chosen_is_the_one_place() {
    for (number, &(choice, variables, expected)) in ROWS.iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        let docker = root.path().join("docker");
        for (id, meta) in [
            (
                "01",
                r#"{"Name":"colima","Metadata":{},"Endpoints":{"docker":{"Host":"unix:///colima.sock","SkipTLSVerify":false}}}"#,
            ),
            (
                "02",
                r#"{"Name":"far","Endpoints":{"docker":{"Host":"ssh://me@far"}}}"#,
            ),
            (
                "03",
                r#"{"Name":"tls","Endpoints":{"docker":{"Host":"tcp://h:7"}}}"#,
            ),
            (
                "04",
                r#"{"Name":"cluster","Endpoints":{"kubernetes":{"Host":"x"}}}"#,
            ),
        ] {
            let path = docker.join("contexts/meta").join(id).join("meta.json");
            touch(&path, 0o600);
            fs::write(path, meta).unwrap();
        }
        touch(&docker.join("contexts/tls/03/docker/ca.pem"), 0o600);
        let mut environment = environment(root.path());
        environment.docker_config = Some(docker.clone());
        for &(name, value) in variables {
            let text = Some(value.to_owned());
            match name {
                "DOCKER_HOST" => environment.docker_host = text,
                "DOCKER_CONTEXT" => environment.docker_context = text,
                "CONTAINER_HOST" => environment.container_host = text,
                "DOCKER_TLS_VERIFY" => environment.docker_tls_verify = text,
                "DOCKER_TLS" => environment.docker_tls = text,
                "DOCKER_CERT_PATH" => environment.docker_cert_path = text,
                "config" => fs::write(docker.join("config.json"), value).unwrap(),
                _ => {
                    let json = format!(r#"{{"auths":{{}},"currentContext":"{value}"}}"#);
                    fs::write(docker.join("config.json"), json).unwrap();
                }
            }
        }
        let shown = show(choice, &environment);
        let (by, locations) = shown.split_once('\n').unwrap();
        let first = format!("{by}: {locations}");
        assert!(first.starts_with(expected), "row {number}: {first}");
        let is_chosen = !by.starts_with("--engine") && by != "detected";
        assert!(
            !is_chosen || locations.lines().count() == 1,
            "row {number}: {shown}"
        );
    }
}

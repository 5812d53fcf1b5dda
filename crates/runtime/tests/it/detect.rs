//! Detection over real sockets.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use lazaret_runtime::{
    DetectError, EngineError, EngineKind, EngineRequest, Environment, Stdin, candidates, detect,
};

use crate::engine_fixture::EngineFixture;
use crate::engines;

fn environment(root: &Path) -> Environment {
    Environment {
        root: root.to_owned(),
        xdg_runtime_dir: None,
        home: None,
        path: None,
        ..engines::environment()
    }
}

fn flag(engine: &str) -> EngineRequest {
    EngineRequest::flag(engine.parse().unwrap())
}

#[test]
fn flt_19_every_place_that_was_tried_is_named() {
    let root = tempfile::tempdir().unwrap();
    let environment = environment(root.path());
    let socket = root.path().join("var/run/docker.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _silent = UnixListener::bind(&socket).unwrap();
    let Err(DetectError::None { tried }) = detect(&flag("auto"), &environment) else {
        panic!("something answered");
    };
    let tried: Vec<String> = tried
        .iter()
        .map(|candidate| {
            let error = candidate.result.as_ref().unwrap_err().to_string();
            format!("{}: {error}", candidate.origin)
        })
        .collect();
    let tried = tried
        .join("\n")
        .replace(&root.path().display().to_string(), "ROOT");
    let expected = [
        "a default Docker socket: unix://ROOT/var/run/docker.sock did not answer within 5s",
        "the rootful Podman socket: no engine answers at unix://ROOT/run/podman/podman.sock: No such file or directory (os error 2)",
    ];
    assert!(tried.starts_with(&expected.join("\n")), "{tried}");
}

#[test]
fn an_engine_of_another_kind_is_not_taken() {
    for (name, detected) in engines::real() {
        let root = tempfile::tempdir().unwrap();
        let mut environment = environment(root.path());
        let other = match detected.info.kind {
            EngineKind::Docker => {
                environment.container_host = Some(detected.info.endpoint.clone());
                "podman"
            }
            _ => {
                environment.docker_host = Some(detected.info.endpoint.clone());
                "docker"
            }
        };
        let tried = candidates(&flag(other), &environment).tried;
        let result = &tried.first().unwrap().result;
        assert!(
            matches!(result, Err(EngineError::WrongKind { .. })),
            "{name}: {result:?}"
        );
    }
}

/// On a machine whose Podman listens nowhere, one is started and ends with its handle.
#[test]
fn a_private_podman_service_is_started_and_ended() {
    if !engines::real().iter().any(|(name, _)| name == "podman") {
        return;
    }
    let _turn = engines::turn();
    let root = tempfile::tempdir().unwrap();
    let mut environment = environment(root.path());
    environment.path = engines::environment().path;
    let detected = detect(&flag("podman"), &environment).unwrap();
    let socket = detected
        .info
        .endpoint
        .strip_prefix("unix://")
        .unwrap()
        .to_owned();
    assert!(Path::new(&socket).exists());
    assert_eq!(detected.info.kind, EngineKind::Podman);
    let fixture = EngineFixture::new(detected);
    drop(fixture.create("private"));
    drop(fixture);
    assert!(!Path::new(&socket).exists());
}

/// Passes connections on, half-closes included.
fn forward(socket: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let near = near.unwrap();
            let far = UnixStream::connect(&socket).unwrap();
            let (mut from_near, mut to_far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let (mut from_far, mut to_near) = (far, near);
            std::thread::spawn(move || {
                drop(std::io::copy(&mut from_near, &mut to_far));
                drop(to_far.shutdown(Shutdown::Write));
            });
            std::thread::spawn(move || {
                drop(std::io::copy(&mut from_far, &mut to_near));
                drop(to_near.shutdown(Shutdown::Write));
            });
        }
    });
    format!("tcp://{address}")
}

#[test]
fn an_engine_over_tcp() {
    let real = engines::real();
    let Some((_, docker)) = real
        .iter()
        .find(|(_, found)| found.info.kind == EngineKind::Docker)
    else {
        return;
    };
    let url = forward(
        docker
            .info
            .endpoint
            .strip_prefix("unix://")
            .unwrap()
            .to_owned(),
    );
    let root = tempfile::tempdir().unwrap();
    let detected = detect(&flag(&url), &environment(root.path())).unwrap();
    assert_eq!(detected.info.endpoint, url);
    let fixture = EngineFixture::new(detected);
    let lease = fixture.create("tcp");
    fixture.engine().start_container(lease.name()).unwrap();
    let mut process = fixture.exec(lease.name(), Stdin::Piped, &["count"]);
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(&[1; 100_000]).unwrap();
    drop(stdin);
    let mut counted = String::new();
    process.stdout.read_to_string(&mut counted).unwrap();
    assert_eq!(counted, "counted 100000");
    assert_eq!(process.control.wait().unwrap(), 0);
}

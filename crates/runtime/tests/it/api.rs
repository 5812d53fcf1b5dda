//! FLT-19: sockets that are missing, closed to us, silent, or not an engine's.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use lazaret_runtime::{ApiEngine, Endpoint, Engine as _, EngineError};

/// An engine's answer to `/version`.
const VERSION: &str = "HTTP/1.1 200 OK\r\nContent-Length: 43\r\nConnection: close\r\n\r\n\
    {\"ApiVersion\":\"1.41\",\"Version\":\"20.10.24 \"}";
/// An engine's answer about what it does not have.
const UNKNOWN: &str = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\
    Content-Length: 2\r\nConnection: close\r\n\r\n{}";

#[track_caller]
fn probe(socket: &Path) -> EngineError {
    let engine = ApiEngine::new(Endpoint::Unix(socket.to_owned())).unwrap();
    engine.probe().unwrap_err()
}

/// Listens and gives every connection the same answer after its request.
fn serve(directory: &Path, answer: &'static str) -> PathBuf {
    serve_by(directory, move |_| answer)
}

/// Listens and gives every connection an answer to its request.
fn serve_by(
    directory: &Path,
    mut answer: impl FnMut(&str) -> &'static str + Send + 'static,
) -> PathBuf {
    let socket = directory.join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                let length = connection.read(&mut buffer).unwrap();
                request.extend(&buffer[..length]);
            }
            let answer = answer(&String::from_utf8_lossy(&request));
            connection.write_all(answer.as_bytes()).unwrap();
        }
    });
    socket
}

/// Another process removes an image while Podman tells of one or of all.
#[test]
fn what_an_image_left_meanwhile_is_asked_for_again() {
    const GONE: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n\
        Content-Length: 75\r\nConnection: close\r\n\r\n\
        {\"message\":\"locating image with ID \\\"b4\\\": image not known\",\"response\":500}";
    const NONE: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
        Content-Length: 2\r\nConnection: close\r\n\r\n[]";
    let directory = tempfile::tempdir().unwrap();
    let mut lists = [GONE, GONE, NONE].into_iter();
    let mut images = [GONE, UNKNOWN].into_iter();
    let socket = serve_by(directory.path(), move |request| match request {
        request if request.contains("/images/json") => lists.next().unwrap(),
        request if request.contains("/images/one/json") => images.next().unwrap(),
        _ => VERSION,
    });
    let engine = ApiEngine::new(Endpoint::Unix(socket)).unwrap();
    assert_eq!(engine.images("io.lazaret.image").unwrap(), []);
    assert_eq!(engine.image(&"one".parse().unwrap()).unwrap(), None);
}

/// The first process of a container ends while Podman tells of the container.
#[test]
fn a_container_that_ends_meanwhile_is_inspected_again() {
    const ENDED: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n\
        Content-Length: 68\r\nConnection: close\r\n\r\n\
        {\"message\":\"read /proc/7264/cgroup: no such process\",\"response\":500}";
    let directory = tempfile::tempdir().unwrap();
    let mut containers = [ENDED, ENDED, UNKNOWN].into_iter();
    let socket = serve_by(directory.path(), move |request| match request {
        request if request.contains("/containers/one/json") => containers.next().unwrap(),
        _ => VERSION,
    });
    let engine = ApiEngine::new(Endpoint::Unix(socket)).unwrap();
    assert_eq!(engine.container(&"one".parse().unwrap()).unwrap(), None);
}

#[test]
fn flt_19_a_missing_socket() {
    let directory = tempfile::tempdir().unwrap();
    let error = probe(&directory.path().join("none.sock"));
    assert!(
        matches!(error, EngineError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .contains("none.sock: No such file or directory"),
        "{error}"
    );

    // And one without a listener.
    let socket = directory.path().join("dead.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let error = probe(&socket);
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[test]
fn flt_19_a_socket_that_is_not_for_us() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("engine.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Nothing is closed to root, so root connects as another user.
    let probing = std::thread::spawn(move || {
        #[cfg(target_os = "linux")]
        if rustix::process::geteuid().is_root() {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
        }
        probe(&socket)
    });
    let error = probing.join().unwrap();
    assert!(matches!(error, EngineError::Denied { .. }), "{error:?}");
}

#[test]
fn flt_19_a_socket_that_hangs() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("engine.sock");
    // Accepts (in its backlog) and never answers.
    let _listener = UnixListener::bind(&socket).unwrap();
    let error = probe(&socket);
    assert!(matches!(error, EngineError::Timeout { .. }), "{error:?}");
}

#[test]
fn flt_19_an_answer_that_never_ends() {
    let directory = tempfile::tempdir().unwrap();
    let socket = serve(
        directory.path(),
        "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{",
    );
    let error = probe(&socket);
    // The connection closes behind the answer.
    assert!(matches!(error, EngineError::Lost { .. }), "{error:?}");
}

#[test]
fn flt_19_an_old_api() {
    let directory = tempfile::tempdir().unwrap();
    let socket = serve(
        directory.path(),
        "HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n{\"ApiVersion\":\"1.24\",\"Version\":\"1.12.6   \"}",
    );
    let error = probe(&socket);
    assert!(matches!(error, EngineError::TooOld { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .contains("API 1.24, lazaret needs API 1.41"),
        "{error}"
    );
}

#[test]
fn flt_26_something_that_is_no_engine() {
    for answer in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let error = probe(&serve(directory.path(), answer));
        assert!(
            matches!(error, EngineError::Lost { .. }),
            "{answer:?}: {error:?}"
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let answer =
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 25\r\n\r\n{\"message\":\"by policy\x1b[m\"}";
    let error = probe(&serve(directory.path(), answer));
    assert!(
        matches!(error, EngineError::Refused { status: 403, .. }),
        "{error:?}"
    );
}

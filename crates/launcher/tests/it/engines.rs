//! An engine that is not there, not ours, silent, or too old: said, with what to do.

use std::fs::{Permissions, set_permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use crate::support::{Outcome, TestEnvironment};

#[track_caller]
fn check(outcome: &Outcome, said: &[&str]) {
    assert_eq!(outcome.code, 125, "{outcome}");
    for text in said {
        assert!(
            outcome.stderr.contains(text),
            "{text:?} is missing\n{outcome}"
        );
    }
    assert!(outcome.stderr.contains("hint: "), "{outcome}");
}

#[test]
fn flt_19_a_socket_that_is_missing() {
    let env = TestEnvironment::new();
    let outcome = env.run("image ls");
    check(&outcome, &["no-engine.sock", "doctor"]);
}

#[test]
fn flt_19_a_socket_of_another_user() {
    let env = TestEnvironment::new();
    let socket = env.path("private.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let root = rustix::process::geteuid().is_root();
    let mode = if root { 0o600 } else { 0o000 };
    set_permissions(&socket, Permissions::from_mode(mode)).unwrap();
    set_permissions(env.path(""), Permissions::from_mode(0o755)).unwrap();
    let mut env = env.engine(&format!("unix://{}", socket.display()));
    if root {
        env = env.with_uid(65_534);
    }
    let outcome = env.run("image ls");
    check(&outcome, &["no permission", "private.sock", "rootless"]);
}

#[test]
fn flt_19_a_socket_that_hangs() {
    let env = TestEnvironment::new();
    let socket = env.path("silent.sock");
    // The kernel accepts; no process ever answers.
    let _listener = UnixListener::bind(&socket).unwrap();
    let env = env.engine(&format!("unix://{}", socket.display()));
    check(&env.run("image ls"), &["did not answer", "silent.sock"]);
}

#[test]
fn flt_10_sigterm_ends_in_good_order() {
    let env = TestEnvironment::new();
    let socket = env.path("silent.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let env = env.engine(&format!("unix://{}", socket.display()));
    let lazaret = env.command(&["image", "ls"]).start().unwrap();
    // Once it has connected, the signal's handler is there.
    listener.set_nonblocking(true).unwrap();
    let _silent = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        assert!(lazaret.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let pid = i32::try_from(lazaret.pids()[0]).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = lazaret.wait().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: interrupted\n"
    );
}

/// Answers every request with the API version that Docker 1.12 spoke.
fn serve_old_api(listener: UnixListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while let Ok(1..) = stream.read(&mut request) {
                    let body = "{\"Version\":\"1.12.6\",\"ApiVersion\":\"1.24\",\"MinAPIVersion\":\
                                \"1.12\",\"Os\":\"linux\",\"Arch\":\"amd64\",\"KernelVersion\":\"3\",\
                                \"GitCommit\":\"\",\"GoVersion\":\"\",\"BuildTime\":\"\"}";
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nApi-Version: 1.24\r\nContent-Type: application/json\r\n\
                         Content-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn flt_19_an_engine_that_is_too_old() {
    let env = TestEnvironment::new();
    let socket = env.path("old.sock");
    serve_old_api(UnixListener::bind(&socket).unwrap());
    let env = env.engine(&format!("unix://{}", socket.display()));
    check(&env.run("image ls"), &["1.24", "or newer", "Update"]);
}

#[test]
fn doctor_shows_what_is_wrong_and_what_to_do() {
    let env = TestEnvironment::new();
    let outcome = env.run("doctor");
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stdout.contains("no-engine.sock"), "{outcome}");
    assert!(outcome.stdout.contains("What to do"), "{outcome}");

    let report = env.run("doctor --json").json();
    assert_eq!(report["ok"], false);
    assert_eq!(report["engines"][0]["ok"], false);
    assert!(
        report["advice"]
            .as_array()
            .is_some_and(|advice| !advice.is_empty())
    );
}

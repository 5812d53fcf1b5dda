//! The user's choice of an engine is final (NET-25): one that can't be used is an error that
//! names what chose it, in every verb, and no other engine is even asked.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use crate::support::TestEnvironment;

/// A world in which other engines listen at places that detection knows.
struct World {
    env: TestEnvironment,
    decoys: Vec<UnixListener>,
}

impl World {
    fn new() -> Self {
        let env = TestEnvironment::new().engine("");
        let home = env.path("home").display().to_string();
        let run = env.path("run").display().to_string();
        let places = [
            "home/.docker/run/docker.sock",
            "run/docker.sock",
            "run/podman/podman.sock",
        ];
        let decoys = places.map(|place| {
            let path = env.path(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let decoy = UnixListener::bind(path).unwrap();
            decoy.set_nonblocking(true).unwrap();
            decoy
        });
        let env = env
            .variable("HOME", &home)
            .variable("XDG_RUNTIME_DIR", &run)
            // Where `ssh` is.
            .variable("PATH", "/usr/bin:/bin");
        Self {
            env,
            decoys: decoys.into(),
        }
    }

    fn context(&self, id: &str, meta: &str) {
        self.env
            .write(&format!("home/.docker/contexts/meta/{id}/meta.json"), meta);
    }

    /// Sets variables, and Docker's `config.json` by the name `config`.
    fn with(mut self, variables: &[(&str, &str)]) -> Self {
        for (name, value) in variables {
            match *name {
                "config" => drop(self.env.write("home/.docker/config.json", value)),
                "LAZARET_ENGINE" => self.env = self.env.engine(value),
                name => self.env = self.env.variable(name, value),
            }
        }
        self
    }

    #[track_caller]
    fn assert_nothing_else_was_asked(&self) {
        for decoy in &self.decoys {
            assert!(decoy.accept().is_err(), "another engine was asked");
        }
    }
}

/// What a row sets, what is typed before the verb, and what the error says.
type Row = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static [&'static str],
);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&[("DOCKER_HOST", "ssh://me@127.0.0.1:DEAD")], "", &["the engine that DOCKER_HOST names", "ssh://me@127.0.0.1:DEAD", "Connection refused", "`ssh -p DEAD me@127.0.0.1 true`", "unset DOCKER_HOST"]),
    (&[("DOCKER_HOST", "ssh://me@127.0.0.1:DEAD")], "--engine docker", &["DOCKER_HOST", "ssh: "]),
    (&[("DOCKER_HOST", "tcp://127.0.0.1:DEAD")], "", &["DOCKER_HOST", "tcp://127.0.0.1:DEAD", "Connection refused"]),
    (&[("DOCKER_HOST", "tcp://127.0.0.1:DEAD")], "--engine docker", &["DOCKER_HOST", "Connection refused"]),
    (&[("DOCKER_HOST", "unix:///nonexistent/d.sock")], "", &["DOCKER_HOST", "/nonexistent/d.sock", "No such file"]),
    (&[("DOCKER_HOST", "npipe:////./pipe/docker_engine")], "", &["DOCKER_HOST", "named pipe", "unix:///var/run/docker.sock"]),
    (&[("DOCKER_HOST", "npipe:////./pipe/docker_engine")], "--engine docker", &["DOCKER_HOST", "named pipe"]),
    (&[("DOCKER_HOST", "rubbish")], "", &["DOCKER_HOST", "\"rubbish\" names no engine"]),
    (&[("DOCKER_HOST", " ")], "--engine docker", &["DOCKER_HOST", "names no engine"]),
    (&[("DOCKER_HOST", "tcp://127.0.0.1:DEAD"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/certs")], "", &["DOCKER_HOST", "https://127.0.0.1:DEAD?certs=/certs", "/certs/ca.pem", "DOCKER_CERT_PATH"]),
    (&[("DOCKER_HOST", "tcp://127.0.0.1:DEAD"), ("DOCKER_CERT_PATH", "/certs")], "--engine docker", &["DOCKER_HOST", "/certs/ca.pem"]),
    (&[("DOCKER_TLS_VERIFY", "1")], "", &["the engine that DOCKER_TLS_VERIFY names", "https://localhost:2376", "home/.docker/ca.pem"]),
    (&[("DOCKER_CONTEXT", "lost")], "", &["the engine that DOCKER_CONTEXT names", "no Docker context \"lost\"", "docker context ls"]),
    (&[("DOCKER_CONTEXT", "lost")], "--engine docker", &["DOCKER_CONTEXT", "\"lost\""]),
    (&[("DOCKER_CONTEXT", "far")], "", &["DOCKER_CONTEXT", "ssh://me@127.0.0.1:DEAD", "Connection refused"]),
    (&[("DOCKER_CONTEXT", "dead")], "", &["DOCKER_CONTEXT", "/nonexistent/c.sock"]),
    (&[("config", r#"{"currentContext":"far"}"#)], "", &["currentContext of $ROOT/home/.docker/config.json", "ssh://me@127.0.0.1:DEAD", "docker context use"]),
    (&[("config", r#"{"currentContext":"dead"}"#)], "--engine docker", &["currentContext", "/nonexistent/c.sock"]),
    (&[("config", "{")], "", &["currentContext", "config.json", "unknown"]),
    (&[("CONTAINER_HOST", "ssh://core@127.0.0.1:DEAD/run/podman.sock")], "", &["the engine that CONTAINER_HOST names", "listen at /run/podman.sock there", "unset CONTAINER_HOST"]),
    (&[("CONTAINER_HOST", "unix:///nonexistent/p.sock")], "--engine podman", &["CONTAINER_HOST", "/nonexistent/p.sock"]),
    (&[("CONTAINER_HOST", "rubbish")], "--engine podman-rootless", &["CONTAINER_HOST", "names no engine"]),
    (&[("DOCKER_HOST", "unix:///nonexistent/d.sock"), ("CONTAINER_HOST", "unix:///nonexistent/p.sock")], "", &["DOCKER_HOST and CONTAINER_HOST name two engines", "--engine docker"]),
    (&[("LAZARET_ENGINE", "dcoker")], "", &["the engine that LAZARET_ENGINE names", "\"dcoker\""]),
    (&[], "--engine unix:///nonexistent/e.sock", &["the engine that --engine names", "/nonexistent/e.sock"]),
    (&[], "--engine tcp://127.0.0.1:DEAD", &["the engine that --engine names", "Connection refused"]),
    (&[], "--engine ssh://me@127.0.0.1:DEAD", &["the engine that --engine names", "Connection refused"]),
    (&[], "--engine ssh://-oProxyCommand=x", &["the engine that --engine names", "names no engine"]),
    (&[], "--engine https://127.0.0.1:DEAD?certs=/certs", &["the engine that --engine names", "/certs/ca.pem: No such file"]),
    (&[("PATH", "bin:.")], "--engine ssh://me@127.0.0.1:DEAD", &["no `ssh` on the PATH"]),
];

fn world_of(variables: &[(&str, &str)], dead: &str) -> World {
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (*name, value.replace("DEAD", dead)))
        .collect();
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let world = World::new().with(&variables);
    let meta = |name: &str, host: &str| {
        format!(r#"{{"Name":"{name}","Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#)
    };
    world.context("01", &meta("far", &format!("ssh://me@127.0.0.1:{dead}")));
    world.context("02", &meta("dead", "unix:///nonexistent/c.sock"));
    world
}

/// A port of the loopback at which nothing listens.
fn dead_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

#[test]
fn net_25_a_choice_that_cannot_be_used_is_an_error_that_names_it() {
    let dead = dead_port();
    for (variables, typed, said) in ROWS {
        let world = world_of(variables, &dead);
        let typed = typed.replace("DEAD", &dead);
        let outcome = world.env.run(format!("{typed} image ls").trim_start());
        let case = format!("{variables:?} {typed}\n{outcome}");
        assert!(matches!(outcome.code, 2 | 125), "{case}");
        for text in *said {
            let text = text.replace("DEAD", &dead);
            assert!(
                outcome.stderr.contains(&text),
                "{text:?} is missing: {case}"
            );
        }
        assert!(outcome.stderr.contains("hint: "), "{case}");
        world.assert_nothing_else_was_asked();
    }
}

#[test]
fn net_25_no_verb_goes_elsewhere() {
    let verbs = [
        "run base -- true",
        "image ls",
        "pool fill base",
        "prune",
        "doctor",
    ];
    for (name, value) in [
        ("DOCKER_HOST", "ssh://me@127.0.0.1:1"),
        ("DOCKER_CONTEXT", "lost"),
        ("CONTAINER_HOST", "unix:///nonexistent/p.sock"),
    ] {
        for verb in verbs {
            let world = world_of(&[(name, value)], "1");
            let outcome = world.env.run(verb);
            assert!(matches!(outcome.code, 1 | 125), "{verb}: {outcome}");
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(said.contains(name), "{verb}: {outcome}");
            world.assert_nothing_else_was_asked();
        }
    }
}

#[test]
fn net_25_doctor_shows_what_decided() {
    for (variables, typed, code, text) in [
        (
            &[("DOCKER_HOST", "ssh://me@127.0.0.1:1")][..],
            "",
            "DOCKER_HOST",
            "DOCKER_HOST",
        ),
        (
            &[("DOCKER_HOST", "ssh://me@127.0.0.1:1")],
            "--engine docker",
            "DOCKER_HOST",
            "DOCKER_HOST",
        ),
        (
            &[("DOCKER_CONTEXT", "far")],
            "",
            "DOCKER_CONTEXT",
            "DOCKER_CONTEXT",
        ),
        (
            &[("config", r#"{"currentContext":"far"}"#)],
            "",
            "currentContext",
            "currentContext of $ROOT/home/.docker/config.json",
        ),
        (
            &[("CONTAINER_HOST", "ssh://127.0.0.1:1")],
            "",
            "CONTAINER_HOST",
            "CONTAINER_HOST",
        ),
        (
            &[
                ("DOCKER_HOST", "unix:///nonexistent/d"),
                ("CONTAINER_HOST", "ssh://127.0.0.1:1"),
            ],
            "",
            "ambiguous",
            "DOCKER_HOST and CONTAINER_HOST",
        ),
        (
            &[("LAZARET_ENGINE", "unix:///nonexistent/l")],
            "",
            "LAZARET_ENGINE",
            "LAZARET_ENGINE",
        ),
        (
            &[],
            "--engine unix:///nonexistent/e",
            "--engine",
            "--engine",
        ),
    ] {
        let world = world_of(variables, "1");
        let outcome = world.env.run(format!("{typed} doctor").trim_start());
        assert_eq!(outcome.code, 1, "{outcome}");
        let line = format!("  decided by {text}: no other engine is tried\n");
        assert!(outcome.stdout.contains(&line), "{line}\n{outcome}");
        let report = world
            .env
            .run(format!("{typed} doctor --json").trim_start())
            .json();
        assert_eq!(report["decided_by"], code);
        assert_eq!(report["decided_by_text"], text);
        assert_eq!(
            report["engines"].as_array().map(Vec::len),
            Some(1),
            "{report}"
        );
        world.assert_nothing_else_was_asked();
    }
}

/// An empty variable is none, and without any the first engine that answers is used.
#[test]
fn net_25_without_a_choice_doctor_says_detected() {
    // The decoys never answer, so they are not to be asked here.
    let env = TestEnvironment::new().engine("");
    let env = [
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "CONTAINER_HOST",
        "DOCKER_TLS_VERIFY",
    ]
    .into_iter()
    .fold(env, |env, name| env.variable(name, ""));
    let outcome = env.run("doctor");
    let line = "  detected: nothing names an engine\n";
    assert!(outcome.stdout.contains(line), "{outcome}");
    assert_eq!(env.run("doctor --json").json()["decided_by"], "detected");
}

//! Every source, with what can be wrong about it. NET-22: no message holds a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use lazaret_egress::Secret;

use super::source::{LARGEST_SECRET, SecretContext};
use super::take::{is_at_hand, take};
use crate::environment::{Environment, StreamKind, StreamKinds};
use crate::failure::{Failure, FailureKind};
use crate::profile::SecretSource;
use lazaret_session::cancel::Cancel;

const KEY: &str = "sk-canary-0123456789";

struct World {
    home: tempfile::TempDir,
    cancel: Cancel,
    patience: Duration,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory can be made");
        fs::create_dir(home.path().join("bin")).expect("it is writable");
        Self {
            home,
            cancel: Cancel::new(),
            patience: Duration::from_secs(120),
        }
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        let path = self.home.path().join(name);
        fs::write(&path, text).expect("it is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    /// A program on the search path.
    fn program(&self, name: &str, script: &str) {
        self.write(
            &format!("bin/{name}"),
            &format!("#!/bin/sh\n{script}\n"),
            0o700,
        );
    }

    fn resolve(&self, from: &SecretSource) -> Result<Secret, Failure> {
        let kind = StreamKind::Other;
        let streams = StreamKinds {
            stdin: kind,
            stdout: kind,
            stderr: kind,
        };
        let path = format!("{}/bin:/usr/bin:/bin", self.home.path().display());
        let variables = [
            ("HOME", self.home.path().display().to_string()),
            ("PATH", path),
            ("API_KEY", KEY.to_owned()),
            ("SHORT", "1234567".to_owned()),
            ("EMPTY", String::new()),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let uid = rustix::process::geteuid().as_raw();
        let env = Environment::new(variables, streams, None, uid, "/".into());
        let reach = SecretContext {
            env: &env,
            cancel: &self.cancel,
            patience: self.patience,
        };
        take("THE_KEY", from, reach)
    }

    #[track_caller]
    fn fails(&self, from: SecretSource, why: &str) {
        let failure = self.resolve(&from).expect_err("it can't be had");
        let said = format!("{:?} {:?}", failure.chain(), failure.hints);
        assert!(said.contains(why), "{said}");
        assert!(!failure.hints.is_empty(), "{said}");
        assert!(!said.contains("canary"), "{said}");
        assert_eq!(failure.kind, FailureKind::Secret);
        assert_eq!(failure.exit_code().value(), 125);
    }

    #[track_caller]
    fn gives(&self, from: SecretSource) {
        let secret = self.resolve(&from).unwrap_or_else(|failure| {
            panic!("{:?} {:?}", failure.chain(), failure.hints);
        });
        assert_eq!(secret.expose(), KEY);
        assert!(!format!("{secret:?}").contains("canary"));
    }
}

fn env(name: &str) -> SecretSource {
    SecretSource::Env(name.to_owned())
}

fn file(path: &str) -> SecretSource {
    SecretSource::File(path.into())
}

fn command<const N: usize>(argv: [&str; N]) -> SecretSource {
    SecretSource::Command(argv.map(str::to_owned).into())
}

#[test]
fn a_variable() {
    let world = World::new();
    world.gives(env("API_KEY"));
    world.fails(env("OTHER"), "the variable OTHER is not set");
    world.fails(env("OTHER"), "export OTHER=");
    world.fails(env("EMPTY"), "the variable EMPTY is not set");
    world.fails(env("SHORT"), "shorter than 8 bytes");
}

#[test]
fn a_file_that_no_other_user_can_read() {
    let world = World::new();
    world.write("key", &format!("{KEY}\n"), 0o600);
    world.gives(file("~/key"));
    let absolute = world.home.path().join("key");
    world.gives(file(&absolute.display().to_string()));
    world.write("key", &format!("{KEY}\r\n"), 0o400);
    fs::set_permissions(&absolute, fs::Permissions::from_mode(0o400)).expect("it is ours");
    world.gives(file("~/key"));
    for mode in [0o640, 0o604, 0o660, 0o602] {
        fs::set_permissions(&absolute, fs::Permissions::from_mode(mode)).expect("it is ours");
        world.fails(file("~/key"), "can be read or written by others");
        world.fails(file("~/key"), "chmod 600");
    }
    world.fails(file("~/none"), "can't be read");
    world.fails(file("~/bin"), "is no file");
    let large = "x".repeat(LARGEST_SECRET + 1);
    world.write("large", &large, 0o600);
    world.fails(file("~/large"), "larger than a secret can be");
    world.write("lines", &format!("{KEY}\n{KEY}\n"), 0o600);
    world.fails(file("~/lines"), "more than one line");
}

#[test]
fn a_pipe_without_a_writer_delays_nothing() {
    let world = World::new();
    let path = world.home.path().join("pipe");
    let made = duct::cmd!("mkfifo", "-m", "600", &path).run();
    assert!(made.is_ok());
    world.fails(file("~/pipe"), "is no file");
}

#[test]
fn what_a_program_prints() {
    let world = World::new();
    world.program(
        "pass",
        &format!("test \"$1 $2\" = 'show key' && echo {KEY}"),
    );
    world.gives(command(["pass", "show", "key"]));
    world.fails(command(["pass", "show", "other"]), "failed");
    world.fails(command(["no-such-program"]), "can't be run");
    world.program("locked", "echo 'the store is locked' >&2; exit 3");
    world.fails(command(["locked"]), "it said: the store is locked");
    world.program("quiet", "exit 0");
    world.fails(command(["quiet"]), "it is empty");
    world.program(
        "endless",
        "while :; do echo canary canary canary; done | head -c 300000",
    );
    world.fails(command(["endless"]), "prints more than a secret can be");
    // Its stdin is empty, so it does not wait for an answer.
    world.program("asks", &format!("read answer; echo {KEY}"));
    world.gives(command(["asks"]));
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let mut world = World::new();
    world.program("hangs", "exec sleep 600");
    world.patience = Duration::from_millis(200);
    world.fails(command(["hangs"]), "did not end within");
}

#[test]
fn an_interrupt_ends_the_wait() {
    let world = World::new();
    let hangs = world.home.path().join("hangs");
    world.program("hangs", &format!(": > {}; exec sleep 600", hangs.display()));
    let cancel = world.cancel.clone();
    let raiser = thread::spawn(move || {
        while !hangs.exists() {
            thread::sleep(Duration::from_millis(1));
        }
        cancel.raise();
    });
    let failure = world.resolve(&command(["hangs"]));
    let failure = failure.expect_err("it was interrupted");
    assert_eq!(failure.kind, FailureKind::Interrupted);
    raiser.join().expect("it only raises");
}

#[test]
fn the_keychain() {
    let world = World::new();
    let (tool, arguments) = match cfg!(target_os = "macos") {
        true => (
            "security",
            "find-generic-password -s anthropic -a api-key -w",
        ),
        false => ("secret-tool", "lookup service anthropic account api-key"),
    };
    let from = || SecretSource::Keychain {
        service: "anthropic".to_owned(),
        account: "api-key".to_owned(),
    };
    world.program(tool, &format!("test \"$*\" = '{arguments}' && echo {KEY}"));
    world.gives(from());
    world.program(tool, "exit 1");
    world.fails(from(), "puts it there");
}

#[test]
fn what_is_at_hand_is_taken_first() {
    assert!(is_at_hand(&env("A")) && is_at_hand(&file("~/a")));
    assert!(!is_at_hand(&command(["a"])));
}

#[test]
fn net_22_the_environment_is_shown_by_names_alone() {
    let world = World::new();
    let shown = {
        let streams = StreamKinds {
            stdin: StreamKind::Other,
            stdout: StreamKind::Other,
            stderr: StreamKind::Other,
        };
        let variables = [("API_KEY".into(), KEY.into())];
        let cwd = Path::new(world.home.path()).to_path_buf();
        format!("{:?}", Environment::new(variables, streams, None, 0, cwd))
    };
    assert!(shown.contains("API_KEY") && !shown.contains(KEY), "{shown}");
}

//! The lifeline of `porter init`: once a host has spoken on the channel, its hang-up ends
//! everything in good order.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use lazaret_runtime::{ConnectedChannel, ExecSpec, InitChannel, Stdin, WhenAbandoned};

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(60);

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(15);

/// A porter that is PID 1 of a namespace of its own.
struct Container(duct::Handle);

impl Container {
    fn start() -> Self {
        let porter = env!("CARGO_BIN_EXE_lazaret-porter");
        let namespace = duct::cmd!(
            "unshare",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            porter,
            "init"
        );
        let started = namespace.stdin_null().stdout_null().unchecked();
        Self(started.start().expect("`unshare` of util-linux, as root"))
    }

    fn first(&self) -> InitChannel {
        let unshare = self.0.pids()[0];
        let children = format!("/proc/{unshare}/task/{unshare}/children");
        loop {
            let children = fs::read_to_string(&children).expect("ours");
            if let Some(child) = children.split_whitespace().next() {
                let child = child.parse().expect("a pid");
                return InitChannel::of(child).expect("it is there");
            }
        }
    }

    fn connect(&self) -> ConnectedChannel {
        self.first().connect().expect("it is open")
    }

    /// Waits until PID 1 has ended, and returns its exit code.
    fn end(&self) -> Option<i32> {
        let ended = self.0.wait_timeout(LIMIT).expect("it can be waited for");
        ended.expect("it ends in time").status.code()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _gone = self.0.kill();
    }
}

fn script(text: &str) -> ExecSpec {
    let argv = ["/bin/sh", "-c", text].map(str::to_owned);
    ExecSpec::new(argv.to_vec(), Stdin::Closed)
}

/// Starts a script, waits for its first line, and hangs up.
fn hang_up_after(container: &Container, text: &str) {
    let channel = container.connect();
    let mut process = channel.start(&script(text)).expect("it answers");
    let mut line = [0; 6];
    process.stdout.read_exact(&mut line).expect("a line");
    assert_eq!(&line, b"ready\n");
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

#[test]
fn flt_10_a_hang_up_ends_every_process_in_good_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("said");
    let container = Container::start();
    let begun = Instant::now();
    // What has left its session goes as well, and the order is the deadline's: SIGTERM first.
    let command = format!(
        "exec 2>/dev/null; setsid sleep 1000 & trap 'echo terminated >{}; exit' TERM; echo ready; \
         while :; do sleep 0.05; done",
        file.display()
    );
    hang_up_after(&container, &command);
    assert_eq!(container.end(), Some(0));
    assert_eq!(text(&file), "terminated\n");
    assert!(begun.elapsed() < GRACE, "no process was killed");
}

#[test]
fn flt_15_a_hang_up_kills_what_ignores_sigterm() {
    let container = Container::start();
    let begun = Instant::now();
    hang_up_after(
        &container,
        "trap '' TERM; echo ready; while :; do sleep 1; done",
    );
    assert_eq!(container.end(), Some(0));
    assert!(begun.elapsed() >= GRACE, "it had its grace");
}

/// Weakened: a container whose channel no host has spoken on outlives those who looked at it, as
/// one of the pool has to.
#[test]
fn a_container_that_no_host_has_used_has_no_lifeline() {
    let container = Container::start();
    drop(container.connect());
    // It still does what the next host asks for.
    let channel = container.connect();
    let mut process = channel.start(&script("echo alive")).expect("it answers");
    let mut said = String::new();
    process.stdout.read_to_string(&mut said).expect("text");
    assert_eq!(said, "alive\n");
}

/// What holds for the host's death holds for each process that asks for it.
#[test]
fn a_process_that_is_let_go_of_ends_alone() {
    let container = Container::start();
    let channel = container.connect();
    let mut other = channel
        .start(&ExecSpec::new(vec!["/bin/cat".to_owned()], Stdin::Piped))
        .expect("it answers");
    let abandoned = |when_abandoned| {
        let spec = ExecSpec {
            when_abandoned,
            ..script("sleep 1000 & echo $!; wait")
        };
        let mut process = channel.start(&spec).expect("it answers");
        let mut pid = String::new();
        let mut byte = [0];
        while process.stdout.read(&mut byte).expect("a line") == 1 && byte != *b"\n" {
            pid.push(char::from(byte[0]));
        }
        format!("kill -0 {pid}")
    };
    let left = abandoned(WhenAbandoned::Leave);
    let ended = abandoned(WhenAbandoned::End);
    let runs = |command: &str| {
        let process = channel.start(&script(command)).expect("it answers");
        process.control.wait().expect("it ends") == 0
    };
    let give_up = Instant::now() + LIMIT;
    while runs(&ended) {
        assert!(Instant::now() < give_up, "it goes on");
    }
    assert!(runs(&left));
    let mut stdin = other.stdin.take().expect("piped");
    stdin.write_all(b"still here").expect("it reads");
    drop(stdin);
    let mut said = String::new();
    other.stdout.read_to_string(&mut said).expect("text");
    assert_eq!(said, "still here");
}

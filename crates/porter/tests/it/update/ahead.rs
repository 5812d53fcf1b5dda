//! A listing from before the request counts only if no process could write since.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use lazaret_protocol::{StreamLimits, Survey, Writers};

use super::kept::{Kept, update_verb};

const PROJECT: &str = "
    d sub
    f sub/file \"one\"
    f top \"two\"
";

/// Starts the porter, lets it list what it will, adds a file, and only then asks.
fn told(kept: &Kept, verb: &duct::Expression, writers: Writers) -> Vec<String> {
    let (their_stdin, mut stdin) = io::pipe().unwrap();
    let (mut stdout, their_stdout) = io::pipe().unwrap();
    let started = verb
        .stdin_file(their_stdin)
        .stdout_file(their_stdout)
        .stderr_capture()
        .unchecked();
    let child = started.start().unwrap();
    drop(started);
    wait_until_it_listens(child.pids()[0]);
    kept.agent("f late \"three\"");
    let limits = StreamLimits::DEFAULT;
    let asked = kept.known.request(limits, writers, &kept.baseline);
    asked.write_to(&mut stdin).unwrap();
    let survey = Survey::read_from(&mut stdout, &limits).unwrap();
    drop((stdin, stdout));
    child.wait().unwrap();
    let found = survey.found.into_iter();
    found
        .map(|found| String::from_utf8(found.name).unwrap())
        .collect()
}

/// Waits until a process is asleep in its main thread, with nothing else to do.
fn wait_until_it_listens(pid: u32) {
    let tasks = format!("/proc/{pid}/task");
    let tasks = Path::new(&tasks);
    let end = Instant::now() + Duration::from_secs(20);
    let is_idle = || {
        let threads = std::fs::read_dir(tasks).unwrap().count();
        let waits = std::fs::read_to_string(tasks.join(format!("{pid}/wchan")));
        threads == 1 && waits.is_ok_and(|at| at.contains("pipe_read"))
    };
    while !is_idle() {
        assert!(Instant::now() < end, "it never waited for its request");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_volume_without_writers_is_listed_before_the_request() {
    let kept = Kept::new(PROJECT);
    let verb = update_verb(kept.volume.path(), "--ahead");
    // The caller's promise is broken here, to see that it is relied on.
    assert!(told(&kept, &verb, Writers::Stopped).is_empty());
}

#[test]
fn a_volume_with_held_writers_is_listed_again() {
    let kept = Kept::new(PROJECT);
    let verb = update_verb(kept.volume.path(), "--ahead");
    assert_eq!(told(&kept, &verb, Writers::Paused), ["late"]);
}

#[test]
fn without_leave_nothing_is_listed_before_it_is_asked_for() {
    for writers in [Writers::Stopped, Writers::Paused] {
        let kept = Kept::new(PROJECT);
        let root = kept.volume.path().to_owned();
        let verb = duct::cmd!(env!("CARGO_BIN_EXE_lazaret-porter"), "update", root);
        assert_eq!(told(&kept, &verb, writers), ["late"]);
    }
}

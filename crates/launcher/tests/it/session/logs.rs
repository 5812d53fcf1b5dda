//! The logs of a session's commands, read while one runs and afterwards.

use std::io::Read as _;

use lazaret_session::store::run_log::{LogFile, SEGMENT, next_run};

use super::verb::Verb;
use super::world::World;

fn logs(world: &World, more: &[&str]) -> duct::Expression {
    Verb::on(world).command(&[&["logs", "shop"], more].concat())
}

#[test]
fn a_log_is_followed_until_its_session_is_given_up() {
    let world = World::new();
    drop(world.run().unwrap());
    let session = world.lock().unwrap();
    let log = LogFile::create(&next_run(session.dir()).unwrap().path).unwrap();
    let mut follower = logs(&world, &["--follow"]).reader().unwrap();
    for text in ["one\n", "two\n"] {
        log.append(text.as_bytes());
        let mut read = [0; 4];
        follower.read_exact(&mut read).unwrap();
        assert_eq!(read, text.as_bytes());
    }
    log.append(b"the last");
    drop(session);
    let mut rest = String::new();
    follower.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "the last");
}

#[test]
fn every_run_has_its_log_and_a_gap_is_told() {
    let world = World::new();
    drop(world.run().unwrap());
    let session = world.lock().unwrap();
    let log = LogFile::create(&next_run(session.dir()).unwrap().path).unwrap();
    let segment = usize::try_from(SEGMENT).unwrap();
    for byte in b"abcd" {
        log.append(&vec![*byte; segment]);
    }
    drop(session);
    let output = logs(&world, &[])
        .stdout_capture()
        .stderr_capture()
        .run()
        .unwrap();
    assert_eq!(output.stdout.len(), 3 * segment);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(&format!("{segment} bytes of output are not in the log")),
        "{said}"
    );
    let json = logs(&world, &["--json"]).read().unwrap();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["run"], 2);
    assert_eq!(
        (&report["missing"], &report["missing_at"]),
        (&segment.into(), &segment.into())
    );
    let first = logs(&world, &["--run", "1"])
        .stderr_capture()
        .unchecked()
        .run()
        .unwrap();
    assert_eq!(first.status.code(), Some(0));
    let none = logs(&world, &["--run", "3"])
        .stderr_capture()
        .unchecked()
        .run()
        .unwrap();
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(
        said.contains("session shop has no run 3: the last is 2"),
        "{said}"
    );
}

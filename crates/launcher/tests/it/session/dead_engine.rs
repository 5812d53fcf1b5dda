//! Without its engine nothing of a session is destroyed, and nothing is captured.

use lazaret_session::store::record::Phase;

use super::commits::repository;
use super::verb::Verb;
use super::world::World;

/// A session with commits and files, in a phase.
fn session(phase: Phase) -> World {
    let world = repository("git commit -q --allow-empty -m x; echo y > new");
    drop(world.run().unwrap());
    let mut session = world.lock().unwrap();
    session.update(|record| record.phase = phase).unwrap();
    if phase == Phase::Rejected {
        std::fs::remove_dir_all(session.dir().file("quarantine")).unwrap();
    }
    world
}

#[test]
fn without_its_engine_nothing_is_removed_captured_or_landed() {
    let rm = ["rm shop --force", "rm shop --force --no-capture"];
    let discard = ["discard shop --yes", "discard shop --yes --no-capture"];
    for (phase, verbs) in [
        (
            Phase::Collected,
            &[
                &rm[..],
                &discard,
                &["commits shop", "commits land shop --yes"],
            ]
            .concat(),
        ),
        (Phase::Rejected, &[rm, discard].concat()),
        (Phase::Stopped, &rm.to_vec()),
    ] {
        let world = session(phase);
        let (record, left) = (world.record(), world.left());
        for verb in verbs {
            let words: Vec<&str> = verb.split(' ').collect();
            let ended = Verb::on(&world)
                .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
                .run_unlocked(&words);
            assert_eq!(ended.code, 125, "{phase:?} {verb}: {}", ended.said());
            assert!(
                ended.stderr.contains("no-engine.sock"),
                "{verb}: {}",
                ended.said()
            );
            assert_eq!(world.record(), record, "{verb}");
            assert_eq!(world.left(), left, "{verb}");
            let captures = std::fs::read_dir(world.path("state/captures"));
            let captures = captures.map_or(0, Iterator::count);
            assert_eq!(captures, 0, "{verb}");
        }
    }
}

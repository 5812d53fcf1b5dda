//! A second command on a volume that is kept: whatever fails before it starts, the session is
//! as it was, or is after `recover`.

use lazaret_launcher::session::collect::Collected;
use lazaret_launcher::session::cycle::Cycle;
use lazaret_launcher::session::record::Phase;
use lazaret_launcher::session::resume::Resumed;
use lazaret_tests::tree_text;
use lazaret_transfer::diff;

use super::flaky::{At, Fault, Kind};
use super::world::World;

/// A session whose first command has made the file `first`, which waits for a decision, and
/// whose user has changed `notes.txt` since. The next command makes `second`.
fn kept() -> World {
    let world = World::new();
    world.command(|volume, _| {
        tree_text::build("f first \"1\\n\"", volume);
        0
    });
    let first = world.cycle_kept().unwrap();
    assert!(first.synced.is_none());
    drop(first);
    world.command(|volume, _| {
        tree_text::build("f second \"2\\n\"", volume);
        0
    });
    tree_text::build("f notes.txt \"mine\\n\"", &world.path("workspace"));
    world
}

/// What waits at the gate.
fn changes(cycle: Cycle) -> Vec<String> {
    let Collected::Ready(session) = cycle.collected else {
        panic!("rejected");
    };
    let known = lazaret_launcher::session::known::Known::read(session.dir()).unwrap();
    let volume = known.volume.collect(&known.baseline).tree;
    let changes = diff(&known.baseline, &volume);
    changes
        .iter()
        .map(|change| change.path.to_string())
        .collect()
}

fn volume(world: &World) -> String {
    tree_text::dump(&world.path("volume"))
}

#[test]
fn a_second_command_sees_what_changed_and_what_waited_goes_on_waiting() {
    let world = kept();
    let second = world.cycle_kept().unwrap();
    let synced = second.synced.clone().unwrap();
    assert_eq!((synced.sent, synced.removed, synced.adopted), (1, 0, 0));
    assert_eq!(synced.conflicts, []);
    assert_eq!(changes(second), ["first", "second"]);
    assert!(volume(&world).contains("f notes.txt \"mine\\n\""));
}

/// Each call to the engine fails in each way, and the engine dies at each call.
#[test]
fn flt_09_whatever_fails_before_the_command_the_volume_is_kept() {
    let mut met = 0;
    for kind in [Kind::Refused, Kind::Lost, Kind::AnswerLost, Kind::Died] {
        for nth in 1.. {
            let world = kept();
            let fault = Fault {
                at: At::Call(nth),
                kind,
            };
            let commands = world.commands();
            world.engine.order(Some(fault));
            let ran = world.cycle_kept();
            let is_over = !world.engine.met();
            world.engine.order(None);
            if is_over {
                assert_eq!(changes(ran.unwrap()), ["first", "second"], "{fault:?}");
                break;
            }
            met += 1;
            drop(ran);
            match world.phase().unwrap() {
                Phase::Collected => {}
                _ => match world.resume().unwrap() {
                    Resumed::SyncCutShort(session) => {
                        assert_eq!(session.record().phase, Phase::Collected, "{fault:?}");
                        assert_eq!(world.commands(), commands, "{fault:?}");
                    }
                    Resumed::Collected(_) => {}
                    other => panic!("{fault:?}: {other:?}"),
                },
            }
            assert!(volume(&world).contains("f first"), "{fault:?}");
            assert!(
                world.left().iter().any(|name| name.ends_with("-workspace")),
                "{fault:?}"
            );
            let again = world.cycle_kept().unwrap();
            assert_eq!(changes(again), ["first", "second"], "{fault:?}");
            assert!(volume(&world).contains("mine"), "{fault:?}");
        }
    }
    assert!(met > 30, "{met} faults");
}

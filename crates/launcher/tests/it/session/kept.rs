//! A second command on a volume that is kept: whatever fails before it starts, the session is
//! as it was, or is after `recover`.

use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::lifecycle::outcome::RunOutcome;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::store::record::Phase;
use lazaret_tests::tree_text;
use lazaret_tree::diff;

use super::flaky::{At, Fault, Kind};
use super::porter;
use super::world::World;

/// A session whose first command has made the file `first`, which waits for a decision, and
/// whose user has changed `notes.txt` since. The next command makes `second`.
fn kept() -> World {
    kept_in(World::new())
}

/// As [`kept`], with something that is root's while the commands run.
fn kept_fenced() -> World {
    let mut world = World::new();
    world.bounds.protect = vec!["tool".to_owned()];
    kept_in(world)
}

fn kept_in(world: World) -> World {
    world.command(|volume, _| {
        tree_text::build("f first \"1\\n\"", volume);
        0
    });
    let first = world.cycle_kept().unwrap();
    assert!(first.update.is_none());
    drop(first);
    world.command(|volume, _| {
        tree_text::build("f second \"2\\n\"", volume);
        0
    });
    tree_text::build("f notes.txt \"mine\\n\"", &world.path("workspace"));
    world
}

/// What waits at the gate.
fn changes(cycle: RunOutcome) -> Vec<String> {
    let Collected::Ready(session) = cycle.collected else {
        panic!("rejected");
    };
    let known = lazaret_session::store::sync_state::SyncState::read(session.dir()).unwrap();
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
    let synced = second.update.clone().unwrap();
    assert_eq!((synced.sent, synced.removed, synced.adopted), (1, 0, 0));
    assert_eq!(synced.conflicts, []);
    assert_eq!(changes(second), ["first", "second"]);
    assert!(volume(&world).contains("f notes.txt \"mine\\n\""));
}

#[test]
fn what_the_gate_has_taken_out_is_no_conflict() {
    let world = kept();
    world.cycle_kept().unwrap();
    world.apply();
    tree_text::build("f first \"mine too\\n\"", &world.path("workspace"));
    let third = world.cycle_kept().unwrap();
    let synced = third.update.clone().unwrap();
    assert_eq!((synced.sent, synced.conflicts), (1, Vec::new()));
    assert!(volume(&world).contains("f first \"mine too\\n\""));
}

/// Another process has written to the volume: the update does not overwrite its file.
#[test]
fn what_was_changed_behind_our_back_is_a_conflict() {
    let world = kept();
    tree_text::build("f notes.txt \"theirs\\n\"", &world.path("volume"));
    let second = world.cycle_kept().unwrap();
    let synced = second.update.clone().unwrap();
    assert_eq!((synced.sent, synced.conflicts.len()), (0, 1));
    assert_eq!(changes(second), ["first", "notes.txt", "second"]);
}

/// No process writes to the volume, so the porter may list it from the start.
#[test]
fn a_volume_is_surveyed_before_each_command() {
    for kept in [kept, kept_fenced] {
        let world = kept();
        let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = std::sync::Arc::clone(&asked);
        world.on("update", move |_, call| {
            told.lock().unwrap().push(call.argv.join(" "));
            Ok(125)
        });
        drop(world.cycle_kept().unwrap_err());
        assert_eq!(*asked.lock().unwrap(), ["update /workspace --ahead"]);
    }
}

#[test]
fn a_session_whose_changes_were_rejected_goes_on() {
    let mut world = kept();
    let limits = world.gate;
    world.gate.max_entries = 1;
    let Collected::Rejected(session) = world.cycle_kept().unwrap().collected else {
        panic!("not rejected");
    };
    drop(session);
    world.gate = limits;
    let again = world.cycle_kept().unwrap();
    assert_eq!(changes(again), ["first", "second"]);
}

/// Each call to the engine fails in each way, and the engine dies at each call.
#[test]
fn flt_09_whatever_fails_before_the_command_the_volume_is_kept() {
    let met = whatever_fails(kept);
    assert!(met > 30, "{met} faults");
}

#[test]
fn flt_09_whatever_fails_what_is_protected_is_so_for_the_next_command() {
    let met = whatever_fails(kept_fenced);
    assert!(met > 40, "{met} faults");
}

fn whatever_fails(kept: fn() -> World) -> usize {
    let kinds = [Kind::Refused, Kind::Lost, Kind::AnswerLost, Kind::Died];
    // At once: most of the time goes by between two tries to remove something.
    std::thread::scope(|scope| {
        let each = kinds.map(|kind| scope.spawn(move || fails_at_each(kept, kind)));
        each.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

fn fails_at_each(kept: fn() -> World, kind: Kind) -> usize {
    let mut met = 0;
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
                RecoverOutcome::SyncCutShort(session) => {
                    assert_eq!(session.record().phase, Phase::Collected, "{fault:?}");
                    assert_eq!(world.commands(), commands, "{fault:?}");
                }
                RecoverOutcome::Collected(_) => {}
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
        let fenced = world.fence.lock().unwrap().is_some();
        assert_eq!(fenced, world.bounds.is_fenced(), "{fault:?}");
    }
    met
}

/// What the user edits later than that can't be older than anything that the command built.
#[test]
fn an_update_says_when_the_last_command_had_ended() {
    let world = kept();
    let ended = world.record().unwrap().quiet_since_ms.unwrap();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = std::sync::Arc::clone(&told);
    world.on("update", move |volume, call| {
        let survey = porter::survey(volume, &mut call.stdin).unwrap();
        survey.write_to(&mut call.stdout)?;
        let order = lazaret_protocol::UpdateRequest::read_from(&mut call.stdin).unwrap();
        heard.lock().unwrap().push(order.quiet_since.unwrap());
        Ok(125)
    });
    drop(world.cycle_kept().unwrap_err());
    let told: Vec<u64> = (told.lock().unwrap().iter())
        .map(|time| time.seconds.unsigned_abs() * 1000 + u64::from(time.nanos / 1_000_000))
        .collect();
    assert_eq!(told, [ended]);
    // It is so until the next command starts, and of that one another moment is told.
    assert_eq!(world.record().unwrap().quiet_since_ms, Some(ended));
    let world = kept();
    let first = world.record().unwrap().quiet_since_ms;
    world.cycle_kept().unwrap();
    assert!(world.record().unwrap().quiet_since_ms > first);
}

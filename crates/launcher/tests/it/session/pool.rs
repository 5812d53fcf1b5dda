//! The pool: places are made, taken once, and never lost sight of.

use std::fs;
use std::sync::Arc;

use lazaret_runtime::fake::Verb;
use lazaret_runtime::{ContainerName, ContainerState};
use lazaret_session::engine::tags::KnownPrefixes;
use lazaret_session::lifecycle::recover::sweep;
use lazaret_session::pool::{Filled, PoolSizes, PoolStore, remove};
use lazaret_session::store::record::{Phase, Record};

use super::world::World;

impl World {
    fn ready(&self) -> usize {
        PoolStore::of(&self.store).ready().unwrap().len()
    }

    /// How many containers were made so far.
    fn made(&self) -> usize {
        let calls = self.engine.fake.calls();
        calls
            .iter()
            .filter(|verb| **verb == Verb::CreateContainer)
            .count()
    }

    /// The file of the only slot.
    fn slot(&self) -> std::path::PathBuf {
        let mut files = fs::read_dir(self.path("state/pool")).unwrap();
        files.next().unwrap().unwrap().path()
    }
}

#[test]
fn a_place_is_taken_by_one_run_and_goes_with_it() {
    for world in [World::new(), World::with_network()] {
        let filled = world.fill(&world.filling(), 1).unwrap();
        assert_eq!((filled.made, world.ready()), (1, 1));
        let tag = PoolStore::of(&world.store).ready().unwrap().remove(0).0;
        let before = world.made();

        let collected = world.cycle().unwrap();
        assert_eq!(world.ready(), 0);
        // The exporter alone.
        assert_eq!(
            world.made(),
            before + 1,
            "the command's container was there"
        );
        assert_eq!(world.record().unwrap().pool_slot, Some(tag));
        world.gate(collected).unwrap();
        assert_eq!(world.left(), Vec::<String>::new());
        assert!(world.workspace().contains("three"), "{}", world.workspace());
    }
}

#[test]
fn what_does_not_fit_is_left_and_then_replaced() {
    let world = World::new();
    let mut other = world.filling();
    other.limits.pids += 1;
    world.fill(&other, 1).unwrap();
    world.run().unwrap();
    assert_eq!(
        (world.ready(), world.record().unwrap().pool_slot),
        (1, None)
    );

    let filled = world.fill(&world.filling(), 2).unwrap();
    let expected = Filled {
        ready: 0,
        made: 2,
        removed: 1,
    };
    assert_eq!(filled, expected);
    // Too many by one.
    let filled = world.fill(&world.filling(), 1).unwrap();
    let expected = Filled {
        ready: 1,
        made: 0,
        removed: 1,
    };
    assert_eq!(filled, expected);
    assert_eq!(world.left().len(), 2, "{:?}", world.left());
}

#[test]
fn a_place_that_runs_no_more_is_removed_and_the_run_goes_on() {
    let world = World::new();
    world.fill(&world.filling(), 1).unwrap();
    let container: ContainerName = (world.left().iter())
        .find_map(|name| name.ends_with("-agent").then(|| name.parse().unwrap()))
        .unwrap();
    let ended = ContainerState::Exited {
        code: 137,
        oom_killed: false,
    };
    world.engine.fake.end_container(&container, ended);
    world.run().unwrap();
    assert_eq!(world.record().unwrap().pool_slot, None);
    assert_eq!((world.ready(), world.left()), (0, vec![]));
}

#[test]
fn a_run_makes_the_places_that_its_profile_lacks() {
    let world = World::new();
    PoolSizes::of(&world.store).set("base", 2).unwrap();
    world.run().unwrap();
    assert_eq!(world.ready(), 2);
    let pool = PoolStore::of(&world.store);
    for (tag, _) in pool.ready().unwrap() {
        remove(&world.cx(), pool.lock(&tag).unwrap().unwrap()).unwrap();
    }
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn a_place_that_could_not_be_made_leaves_nothing() {
    for verb in [
        Verb::CreateVolume,
        Verb::CreateContainer,
        Verb::StartContainer,
    ] {
        let world = World::new();
        world
            .engine
            .fake
            .fail(verb, 1, || lazaret_runtime::EngineError::Lost {
                verb: "create",
                message: "gone".to_owned(),
            });
        let _lost = world.fill(&world.filling(), 1).unwrap_err();
        assert_eq!((world.ready(), world.left()), (0, vec![]), "{verb:?}");
    }
}

/// A sweep leaves a slot that is ready, or is being made or taken. It removes what a dead maker
/// or taker left behind (FLT-14).
#[test]
fn a_sweep_knows_whose_a_place_is() {
    let world = World::new();
    world.fill(&world.filling(), 1).unwrap();
    sweep(&world.cx(), &world.store).unwrap();
    assert_eq!((world.ready(), world.left().len()), (1, 2));

    // Taken, and the taker died before it had a session.
    let file = world.slot();
    let taken = file.with_extension("taken");
    fs::rename(&file, &taken).unwrap();
    sweep(&world.cx(), &world.store).unwrap();
    assert!(!taken.exists());
    assert_eq!(world.left(), Vec::<String>::new());

    // It died after that: the record has it, and the file says nothing any more.
    world.fill(&world.filling(), 1).unwrap();
    let file = world.slot();
    let kept = fs::read(&file).unwrap();
    let collected = world.cycle().unwrap();
    fs::write(file.with_extension("taken"), kept).unwrap();
    let left = world.left();
    sweep(&world.cx(), &world.store).unwrap();
    assert_eq!(world.left(), left);
    world.gate(collected).unwrap();
    assert_eq!(world.left(), Vec::<String>::new());

    // Its maker died.
    world.fill(&world.filling(), 1).unwrap();
    let file = world.slot();
    fs::rename(&file, file.with_extension("making")).unwrap();
    sweep(&world.cx(), &world.store).unwrap();
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn a_record_that_cannot_be_read_may_name_any_place() {
    let world = World::new();
    world.fill(&world.filling(), 1).unwrap();
    let tag = PoolStore::of(&world.store).ready().unwrap().remove(0).0;
    let collected = world.cycle().unwrap();
    let record = world.path("state/sessions/shop/session.json");
    let text = fs::read(&record).unwrap();
    assert!(KnownPrefixes::of(&world.store).unwrap().knows(tag.as_str()));
    fs::write(&record, "{}").unwrap();
    let tags = KnownPrefixes::of(&world.store).unwrap();
    assert!(tags.knows(tag.as_str()) && tags.knows("shop") && !tags.knows("other"));
    fs::write(&record, text).unwrap();
    world.gate(collected).unwrap();
}

#[test]
fn a_session_that_took_a_place_is_recovered_like_any_other() {
    let world = World::new();
    world.fill(&world.filling(), 1).unwrap();
    world.on("receive", |_, _| {
        Err::<i32, _>(std::io::Error::other("no room"))
    });
    let _full = world.cycle().unwrap_err();
    assert_eq!((world.record(), world.left()), (None::<Record>, vec![]));

    let world = World::new();
    world.fill(&world.filling(), 1).unwrap();
    drop(world.cycle().unwrap());
    let mut session = world.lock().unwrap();
    session
        .update(|record| record.phase = Phase::Preparing)
        .unwrap();
    drop(session);
    world.resume().unwrap();
    assert_eq!((world.record(), world.left()), (None::<Record>, vec![]));
}

/// A sweep has listed what the engine has when a run takes a slot and goes on to its end.
#[test]
fn flt_14_a_place_that_is_taken_while_a_sweep_lists_is_left() {
    for verb in [Verb::Containers, Verb::Volumes] {
        let world = Arc::new(World::new());
        world.fill(&world.filling(), 1).unwrap();
        let other = Arc::clone(&world);
        let (tell, told) = std::sync::mpsc::channel();
        world.engine.meanwhile(verb, move || {
            tell.send(other.cycle_kept().unwrap()).unwrap();
        });
        sweep(&world.cx(), &world.store).unwrap();
        let cycle = told.recv().unwrap();
        let record = world.record().unwrap();
        assert!(record.pool_slot.is_some(), "it took the place");
        assert_eq!(world.left(), [record.volume().to_string()]);
        world.gate(cycle.collected).unwrap();
    }
}

//! The next container of a kept session: made beside the gate, taken by one run, and gone
//! with whatever it belongs to.

use std::sync::{Arc, Mutex};

use lazaret_launcher::gate::RunEnd;
use lazaret_launcher::profile::ApplyMode;
use lazaret_runtime::fake::Verb;
use lazaret_runtime::{ContainerName, ContainerState};
use lazaret_session::cancel::Interrupted;
use lazaret_session::lifecycle::outcome::RunOutcome;
use lazaret_session::lifecycle::recover::{RecoverOutcome, sweep as sweep_store};
use lazaret_session::pool::{
    NextContainer, NextContainerBuilder, PoolSizes, drop_next_container, sweep,
};
use lazaret_session::store::record::Outcome;
use lazaret_session::store::{Store, StoreError};
use lazaret_tests::tree_text;

use super::world::World;

/// A world whose profile is to have one slot in the pool, once a command has ended.
pub(super) fn with_pool(mut world: World) -> World {
    world.places = 1;
    world
}

impl World {
    /// A run on a volume that is kept, with all that comes after its command.
    pub(super) fn run_kept(&self) -> (Option<Updated>, RunEnd) {
        let RunOutcome {
            collected,
            update: synced,
        } = self.cycle_kept().unwrap();
        let synced = synced.map(|synced| (synced.sent, synced.conflicts.len()));
        (
            synced,
            self.gate_and_ahead(collected, ApplyMode::Auto).unwrap(),
        )
    }

    /// What is ready for the next run.
    pub(super) fn next_container(&self) -> Option<NextContainer> {
        NextContainer::of(&self.store.find(&self.id()).unwrap())
    }

    pub(super) fn is_partial(&self) -> bool {
        NextContainer::is_partial(&self.store.find(&self.id()).unwrap())
    }

    /// The name of the command's container, and of the gateway's.
    pub(super) fn containers(&self) -> [ContainerName; 2] {
        let record = self.record().unwrap();
        [record.agent(), record.gateway()]
    }

    /// How often the command's container was made.
    pub(super) fn agents(&self) -> usize {
        let [agent, _] = self.containers();
        self.engine.made(&agent)
    }

    /// Makes the command say which container it is in, by how many of the name came before.
    pub(super) fn watch_containers(&self) -> Arc<Mutex<Vec<usize>>> {
        let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
        let (engine, list) = (self.engine.clone(), Arc::clone(&seen));
        let dir = self.path("state/sessions/shop");
        self.command(move |volume, call| {
            // If the launcher dies from here on, no file calls this container unused.
            assert!(!dir.join("spare").exists() && !dir.join("spare.partial").exists());
            let number = engine.made(&call.container);
            list.lock().unwrap().push(number);
            tree_text::build(&format!("f agent-{number} \"work\\n\""), volume);
            0
        });
        seen
    }
}

/// How many paths went in, and how many are in conflict.
pub(super) type Updated = (u64, usize);

#[test]
fn each_run_takes_the_container_that_the_one_before_it_left() {
    let mut fenced = World::new();
    fenced.bounds.protect = vec!["tool".to_owned()];
    for world in [World::new(), World::with_network(), fenced] {
        let world = with_pool(world);
        let seen = world.watch_containers();
        let (synced, _) = world.run_kept();
        assert_eq!(synced, None);
        let next_container = world.next_container().unwrap();
        assert_eq!(
            (next_container.profile.as_str(), world.agents()),
            ("base", 2)
        );
        for run in 2..5 {
            let edit = format!("f notes.txt \"mine {run}\\n\"");
            tree_text::build(&edit, &world.path("workspace"));
            let (synced, _) = world.run_kept();
            assert_eq!(synced, Some((1, 0)));
            // One more for the next run, and none for this one.
            assert_eq!(world.agents(), run + 1);
        }
        assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 4]);
        let workspace = world.workspace();
        assert!(workspace.contains("mine 4"), "{workspace}");
        for number in 1..5 {
            let agent = format!("f agent-{number} \"work\\n\"");
            assert!(workspace.contains(&agent), "{workspace}");
        }
        assert_eq!(tree_text::dump(&world.path("volume")), workspace);
        let session = world.lock().unwrap();
        assert!(drop_next_container(&*world.cx().engine, &session).unwrap());
        assert!(!drop_next_container(&*world.cx().engine, &session).unwrap());
        assert_eq!(world.left(), [session.record().volume().to_string()]);
    }
}

#[test]
fn only_a_kept_session_of_a_profile_with_a_pool_has_one() {
    let world = World::new();
    world.run_kept();
    assert_eq!((world.next_container(), world.is_partial()), (None, false));
    assert_eq!(world.left().len(), 1);

    let world = with_pool(World::new());
    let collected = world.cycle().unwrap();
    world.gate_and_ahead(collected, ApplyMode::Auto).unwrap();
    assert_eq!((world.next_container(), world.agents()), (None, 1));

    // There a volume can be in one machine at a time.
    let world = with_pool(World::new());
    world.run_kept();
    let session = world.lock().unwrap();
    let mut cx = world.cx();
    PoolSizes::of(&world.store).set("base", 1).unwrap();
    assert!(
        NextContainerBuilder::of(&cx, &world.store, &session, &world.filling())
            .unwrap()
            .is_some()
    );
    cx.info.capabilities.shares_volumes = false;
    let ahead = NextContainerBuilder::of(&cx, &world.store, &session, &world.filling()).unwrap();
    assert!(ahead.is_none());
}

#[test]
fn one_that_does_not_fit_or_does_not_run_is_removed_and_the_run_makes_its_own() {
    let ended = ContainerState::Exited {
        code: 137,
        oom_killed: false,
    };
    for (what, is_there) in [("limits", true), ("agent", false), ("gateway", false)] {
        let mut world = with_pool(World::with_network());
        let seen = world.watch_containers();
        world.run_kept();
        let [agent, gateway] = world.containers();
        match what {
            "limits" => world.limits.pids += 1,
            // The engine was started again.
            "agent" => world.engine.fake.end_container(&agent, ended),
            _ => world.engine.fake.end_container(&gateway, ended),
        }
        assert!(
            world.next_container().is_some(),
            "the file knows nothing of it"
        );
        let session = world.lock().unwrap();
        let swept = sweep(&*world.cx().engine, &session).unwrap();
        assert_eq!(swept.is_some(), is_there, "{what}");
        drop(session);
        world.run_kept();
        assert_eq!(*seen.lock().unwrap(), [1, 3], "{what}");
        assert!(world.next_container().is_some(), "{what}");
        // Another one, and its gateway, sockets and volume.
        assert_eq!(world.left().len(), 4, "{what}: {:?}", world.left());
    }
}

#[test]
fn a_sweep_leaves_it_and_its_maker_holds_the_session() {
    let world = with_pool(World::with_network());
    world.run_kept();
    let left = world.left();
    assert_eq!(left.len(), 4, "{left:?}");
    sweep_store(&world.cx(), &world.store).unwrap();
    let resumed = world.resume().unwrap();
    assert!(
        matches!(resumed, RecoverOutcome::Unchanged(_)),
        "{resumed:?}"
    );
    drop(resumed);
    assert_eq!(world.left(), left);

    PoolSizes::of(&world.store).set("base", 1).unwrap();
    let session = world.lock().unwrap();
    let ahead =
        NextContainerBuilder::of(&world.cx(), &world.store, &session, &world.filling()).unwrap();
    drop(session);
    let busy = world.store.lock(&world.id());
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    drop(ahead);
    let _mine = world.lock().unwrap();
}

#[test]
fn a_discard_at_the_gate_takes_it_along() {
    let world = with_pool(World::answering("n\ny\n"));
    let cycle = world.cycle_kept().unwrap();
    let end = world
        .gate_and_ahead(cycle.collected, ApplyMode::Ask)
        .unwrap();
    assert_eq!(end.report.outcome, Some(Outcome::Discarded));
    assert_eq!(world.agents(), 2, "one was made");
    assert_eq!((world.next_container(), world.is_partial()), (None, false));
    assert_eq!(world.left().len(), 1);
}

#[test]
fn a_pool_that_is_drained_meanwhile_gets_none() {
    let world = with_pool(World::new());
    let cycle = world.cycle_kept().unwrap();
    let state = world.path("state");
    world.engine.meanwhile(Verb::StartContainer, move || {
        let store = Store::open(&state).unwrap();
        PoolSizes::of(&store).forget("base").unwrap();
    });
    world
        .gate_and_ahead(cycle.collected, ApplyMode::Auto)
        .unwrap();
    assert_eq!((world.next_container(), world.is_partial()), (None, false));
    assert_eq!(world.left().len(), 1);
}

#[test]
fn flt_08_an_interruption_while_it_is_made_leaves_nothing() {
    for verb in [Verb::CreateContainer, Verb::StartContainer] {
        let world = with_pool(World::with_network());
        let cycle = world.cycle_kept().unwrap();
        let cancel = world.cancel.clone();
        world.engine.meanwhile(verb, move || cancel.raise());
        // The gate may have been through by then, or keep the changes; or say so.
        if let Err(failure) = world.gate_and_ahead(cycle.collected, ApplyMode::Auto) {
            assert!(failure.error.is::<Interrupted>(), "{failure:?}");
        }
        assert_eq!((world.next_container(), world.is_partial()), (None, false));
        assert_eq!(world.left().len(), 1, "{:?}", world.left());
    }
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
        sweep_store(&world.cx(), &world.store).unwrap();
        let cycle = told.recv().unwrap();
        let record = world.record().unwrap();
        assert!(record.berth.is_some(), "it took the place");
        assert_eq!(world.left(), [record.volume().to_string()]);
        world.gate(cycle.collected).unwrap();
    }
}

//! Containers that an engine has only after a killed launcher's session was looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use lazaret_runtime::fake::Verb;
use lazaret_runtime::{Engine as _, EngineError, HardenedSpec, Limits};
use lazaret_session::engine::containers::ContainerPlan;
use lazaret_session::lifecycle::prune::{Candidates, Retention};
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::store::moment::Moment;
use lazaret_session::store::record::Phase;

use super::flaky::{At, Fault, Kind};
use super::world::World;

/// A session whose launcher died when it asked for the command's container, and the spec of
/// that container.
fn killed() -> (World, HardenedSpec) {
    let world = World::new();
    world.engine.order(Some(Fault {
        at: At::Verb(Verb::CreateContainer, 1),
        kind: Kind::Died,
    }));
    drop(world.cycle().unwrap_err());
    world.engine.order(None);
    assert_eq!(world.phase(), Some(Phase::Preparing));
    let spec = agent(&world);
    (world, spec)
}

/// The spec of the container of a session's command.
fn agent(world: &World) -> HardenedSpec {
    const MIB: u64 = 1 << 20;
    let plan = ContainerPlan {
        services: Vec::new(),
        limits: Limits {
            memory: 512 * MIB,
            cpus: 1.0,
            pids: 64,
            tmp: MIB,
            shm: MIB,
            home: MIB,
            nofile: 1024,
            fsize: MIB,
        },
        ..world.filling()
    };
    let owner = world.record().unwrap().owner();
    (world.cx()).agent_spec(&owner, &plan).unwrap()
}

/// The engine has the volume in use, and shows the container that uses it only afterwards.
fn appears_late(world: &World, spec: HardenedSpec) {
    let engine = world.engine.fake.clone();
    let volume = world.record().unwrap().owner().volume();
    world.engine.fake.fail(Verb::RemoveVolume, 1, move || {
        engine.create_container(&spec).unwrap();
        EngineError::InUse {
            what: "volume",
            name: volume.to_string(),
        }
    });
}

#[test]
fn flt_09_a_container_that_appears_while_its_volume_is_removed_goes_with_it() {
    let (world, spec) = killed();
    appears_late(&world, spec);
    let resumed = world.resume().unwrap();
    assert!(matches!(resumed, RecoverOutcome::Removed), "{resumed:?}");
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn flt_14_a_strangers_container_that_uses_the_volume_is_left() {
    let (world, spec) = killed();
    let mut foreign = spec.spec().clone();
    foreign.labels = BTreeMap::new();
    let name = foreign.name.clone();
    let foreign = HardenedSpec::new(foreign, &world.cx().info).unwrap();
    appears_late(&world, foreign);
    let failure = world.resume().unwrap_err();
    assert!(format!("{failure:?}").contains("InUse"), "{failure:?}");
    let still = world.engine.fake.container(&name).unwrap();
    assert!(still.is_some());
    assert_eq!(world.phase(), Some(Phase::Preparing));
}

/// As where a launcher was killed that removed what its command had: the session keeps its
/// volume, and whichever verb comes next removes the rest.
#[test]
fn flt_09_what_a_command_left_in_a_session_at_rest_goes_and_its_volume_stays() {
    let verbs: [fn(&World); 3] = [
        |world| {
            let retention = Retention {
                older_than: Duration::ZERO,
                captures_older_than: Duration::ZERO,
                now: Moment::now(),
            };
            let candidates = Candidates::of(&world.store, &retention).unwrap();
            let plan = candidates.plan(&world.store, &world.engine.fake).unwrap();
            assert_eq!(plan.names().containers, [world.record().unwrap().agent()]);
            let pruned = plan.carry_out(&world.store, &world.engine).unwrap();
            assert!(pruned.failed.is_empty(), "{:?}", pruned.failed);
        },
        |world| {
            let resumed = world.resume().unwrap();
            assert!(
                matches!(resumed, RecoverOutcome::Unchanged(_)),
                "{resumed:?}"
            );
        },
        |world| drop(world.gate(world.cycle_kept().unwrap().collected).unwrap()),
    ];
    for verb in verbs {
        let world = World::new();
        let ran = world.cycle_kept().unwrap();
        world.gate(ran.collected).unwrap();
        assert_eq!(world.phase(), Some(Phase::Settled));
        let volume = world.record().unwrap().volume().to_string();
        let left = agent(&world);
        world.engine.fake.create_container(&left).unwrap();
        verb(&world);
        assert_eq!(world.left(), [volume]);
        assert_eq!(world.phase(), Some(Phase::Settled));
    }
}

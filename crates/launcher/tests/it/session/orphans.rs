//! Containers that an engine has only after a killed launcher's session was looked at.

use std::collections::BTreeMap;

use lazaret_runtime::fake::Verb;
use lazaret_runtime::{Engine as _, EngineError, HardenedSpec, Limits};
use lazaret_session::engine::containers::ContainerPlan;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::store::record::Phase;

use super::flaky::{At, Fault, Kind};
use super::world::World;

/// A session whose launcher died when it asked for the command's container, and the spec of
/// that container.
fn killed() -> (World, HardenedSpec) {
    const MIB: u64 = 1 << 20;
    let world = World::new();
    world.engine.order(Some(Fault {
        at: At::Verb(Verb::CreateContainer, 1),
        kind: Kind::Died,
    }));
    drop(world.cycle().unwrap_err());
    world.engine.order(None);
    assert_eq!(world.phase(), Some(Phase::Preparing));
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
    let spec = (world.cx()).agent_spec(&owner, &plan).unwrap();
    (world, spec)
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

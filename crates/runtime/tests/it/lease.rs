//! Leases on the engine in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazaret_runtime::fake::{FakeEngine, Verb};
use lazaret_runtime::{Engine, EngineError, VolumeLease, VolumeName, unremoved};

const LABEL: &str = "io.lazaret.test";

fn engine() -> (FakeEngine, Arc<dyn Engine>) {
    let fake = FakeEngine::new();
    (fake.clone(), Arc::new(fake))
}

fn create(engine: &Arc<dyn Engine>, name: &str) -> Result<VolumeLease, EngineError> {
    let labels = BTreeMap::from([(LABEL.to_owned(), "1".to_owned())]);
    VolumeLease::create(engine, &name.parse().unwrap(), &labels)
}

fn volumes(engine: &Arc<dyn Engine>) -> Vec<String> {
    let volumes = engine.volumes(LABEL).unwrap();
    volumes
        .into_iter()
        .map(|volume| volume.name.to_string())
        .collect()
}

fn broken() -> EngineError {
    EngineError::InUse {
        what: "volume",
        name: "flt-24".to_owned(),
    }
}

#[test]
fn a_lease_removes_or_keeps() {
    let (_, engine) = engine();
    let dropped = create(&engine, "dropped").unwrap();
    let kept = create(&engine, "kept").unwrap();
    let released = create(&engine, "released").unwrap();
    assert_eq!(volumes(&engine), ["dropped", "kept", "released"]);
    drop(dropped);
    released.release().unwrap();
    let name: VolumeName = kept.keep();
    assert_eq!(volumes(&engine), ["kept"]);
    drop(VolumeLease::adopt(&engine, &name));
    assert_eq!(volumes(&engine), [""; 0]);
    // Gone meanwhile is as good.
    let gone = create(&engine, "gone").unwrap();
    engine.remove_volume(gone.name()).unwrap();
    gone.release().unwrap();
}

#[test]
fn flt_13_a_failed_creation_removes_nothing() {
    let (fake, engine) = engine();
    create(&engine, "taken").unwrap().keep();
    create(&engine, "taken").unwrap_err();
    fake.fail(Verb::CreateVolume, 1, broken);
    create(&engine, "other").unwrap_err();
    assert_eq!(volumes(&engine), ["taken"]);
    assert!(!fake.calls().contains(&Verb::RemoveVolume));
}

#[test]
fn flt_24_a_failed_removal_is_retried_then_recorded() {
    let (fake, engine) = engine();
    let lease = create(&engine, "flt-24-retried").unwrap();
    fake.fail(Verb::RemoveVolume, 1, broken);
    fake.fail(Verb::RemoveVolume, 1, broken);
    lease.release().unwrap();
    assert_eq!(volumes(&engine), [""; 0]);

    let lease = create(&engine, "flt-24-recorded").unwrap();
    for _ in 0..4 {
        fake.fail(Verb::RemoveVolume, 1, broken);
    }
    drop(lease);
    assert_eq!(volumes(&engine), ["flt-24-recorded"]);
    let left: Vec<_> = unremoved()
        .into_iter()
        .filter(|left| left.name == "flt-24-recorded")
        .map(|left| format!("{} {}: {}", left.what, left.name, left.cause))
        .collect();
    assert_eq!(left, ["volume flt-24-recorded: volume flt-24 is in use"]);
}

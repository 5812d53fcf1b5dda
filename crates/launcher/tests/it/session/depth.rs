//! A volume that may be deeper than an engine can remove is emptied first (CON-28).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_image_builder::{IMAGE_LABEL, INPUTS_LABEL};
use lazaret_protocol::PORTER_PATH;
use lazaret_runtime::fake::Verb;
use lazaret_runtime::{Engine as _, EngineError, ImageInfo};
use lazaret_session::engine::inventory::Inventory;

use super::world::World;

/// A collected session on an engine that has a porter image, and how often its volume was
/// emptied.
fn collected() -> (World, Arc<AtomicUsize>) {
    let world = World::new();
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    world.engine.fake.add_image(ImageInfo {
        id: format!("sha256:{}", "6b".repeat(32)),
        tags: vec!["lazaret-porter:1".to_owned()],
        size: 1,
        labels: [label(IMAGE_LABEL, "porter"), label(INPUTS_LABEL, "test")].into(),
        volumes: Vec::new(),
        entrypoint: vec![PORTER_PATH.to_owned()],
        architecture: "amd64".to_owned(),
    });
    let emptied = Arc::new(AtomicUsize::new(0));
    let (count, engine) = (Arc::clone(&emptied), world.engine.fake.clone());
    world.on("empty", move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        // It is still there, and this container has it.
        let guards = engine.containers("io.lazaret.store").unwrap_or_default();
        let guards = guards
            .iter()
            .filter(|found| found.name.as_str().ends_with("-guard"));
        Ok(if guards.count() == 1 { 0 } else { 125 })
    });
    let _collected = world.cycle().unwrap();
    (world, emptied)
}

fn remove(world: &World, surveyed: bool) {
    let record = world.record().unwrap();
    assert!(record.seen_whole);
    let all = Inventory::of_store(&world.engine, world.store.id()).unwrap();
    let all = all.of(&record.owner());
    let all = if surveyed { all.surveyed(&record) } else { all };
    all.remove(&world.engine).unwrap();
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn con_28_a_volume_of_unknown_depth_is_emptied_before_it_is_removed() {
    let (world, emptied) = collected();
    remove(&world, false);
    assert_eq!(emptied.load(Ordering::SeqCst), 1);
}

#[test]
fn con_28_a_volume_that_a_survey_has_seen_whole_is_removed_as_it_is() {
    let (world, emptied) = collected();
    remove(&world, true);
    assert_eq!(emptied.load(Ordering::SeqCst), 0);
}

#[test]
fn con_28_a_volume_that_the_engine_fails_to_remove_is_emptied() {
    let (world, emptied) = collected();
    world
        .engine
        .fake
        .fail(Verb::RemoveVolume, 1, || EngineError::Refused {
            verb: "remove volume",
            status: 500,
            message: "too many open files".to_owned(),
        });
    remove(&world, true);
    assert_eq!(emptied.load(Ordering::SeqCst), 1);
}

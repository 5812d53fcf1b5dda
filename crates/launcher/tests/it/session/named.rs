//! Which session a verb is about if its name is cut short or left out.

use std::fs;
use std::path::Path;

use lazaret_session::store::record::{Phase, Record};

use super::verb::Verb;
use super::world::World;

/// Sessions `shop`, `shop-2` and `side` of one workspace; of these, `side` waits.
fn sessions() -> World {
    let world = World::new();
    drop(world.run().unwrap());
    let other = |name: &str, phase| {
        let mut record: Record = world.record().unwrap();
        record.id = name.parse().unwrap();
        record.created += 10;
        record.phase = phase;
        drop(world.store.create(record).unwrap());
    };
    other("shop-2", Phase::Settled);
    other("side", Phase::Collected);
    fs::create_dir_all(world.path("workspace/deep")).unwrap();
    world
}

/// Runs a verb in a directory; returns its exit code and all that it said.
fn run(world: &World, dir: &Path, arguments: &[&str]) -> (i32, String) {
    let ended = Verb::on(world).in_dir(dir).run(arguments);
    (ended.code, ended.said())
}

#[track_caller]
fn shows(world: &World, dir: &str, arguments: &[&str], session: &str) {
    let arguments = [&["show"], arguments].concat();
    let (code, said) = run(world, &world.path(dir), &arguments);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("session    {session}\n")), "{said}");
}

#[test]
fn the_start_of_a_name_is_enough_if_no_other_starts_so() {
    let world = sessions();
    shows(&world, "state", &["sid"], "side");
    // A whole name is meant, whatever other name goes on from it.
    shows(&world, "state", &["shop"], "shop");
    shows(&world, "state", &["shop-"], "shop-2");
    for (name, words) in [
        ("sho", "Name one of them: shop, shop-2."),
        ("s", "Name one of them: shop, shop-2, side."),
        ("x", "there is no session named x"),
    ] {
        let (code, said) = run(&world, &world.path("state"), &["show", name]);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_name_is_left_out_where_the_directory_tells() {
    let world = sessions();
    let record = world
        .store
        .find(&"side".parse().unwrap())
        .unwrap()
        .record()
        .unwrap();
    assert_eq!(
        record.workspace,
        world.path("workspace").canonicalize().unwrap()
    );
    let (code, said) = run(&world, &world.path("workspace"), &["show"]);
    assert_eq!(code, 0, "{said}");
    // The only one that waits; a directory of the workspace is as good as the workspace.
    let (_, said) = run(&world, &world.path("workspace/deep"), &["diff"]);
    assert!(said.contains("session side"), "{said}");
    let (code, said) = run(&world, &world.path("workspace"), &["watch"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no session of this directory runs"), "{said}");
    let (code, said) = run(&world, &world.path("state"), &["show"]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("no session of this directory is there"),
        "{said}"
    );
    let mut shop = world.lock().unwrap();
    shop.update(|record| record.phase = Phase::Collected)
        .unwrap();
    drop(shop);
    let (code, said) = run(&world, &world.path("workspace"), &["apply", "--yes"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("Name one of them: shop, side."), "{said}");
}

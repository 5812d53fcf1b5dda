//! What is to be protected and is not shown to be ends the start (P12).

use std::io::Write as _;

use lazaret_protocol::Protection;

use super::world::World;

fn fenced() -> World {
    let mut world = World::new();
    world.bounds.protect = vec!["tool".to_owned(), "gone".to_owned()];
    world
}

/// Runs it, expects that nothing of it is left, and returns why.
#[track_caller]
fn refused(world: &World) -> String {
    let failure = world.run().expect_err("it is refused");
    assert_eq!(world.commands(), 0);
    assert_eq!(world.left(), [""; 0]);
    assert_eq!(world.phase(), None);
    failure.chain().join(": ")
}

#[test]
fn what_is_protected_is_roots_before_the_command_starts() {
    let world = fenced();
    let fence = std::sync::Arc::clone(&world.fence);
    world.command(move |_, _| i32::from(fence.lock().unwrap().is_none()));
    let end = world.run().expect("it runs");
    assert_eq!(end.report.exit_code, Some(0));
    assert!(world.said().contains("nothing to protect at gone"));
    let list = world.fence.lock().unwrap().clone().expect("protected");
    let entries: Vec<String> = list.entries.keys().map(ToString::to_string).collect();
    assert_eq!(entries, ["tool"]);
}

#[test]
fn con_nothing_starts_where_protecting_has_no_effect() {
    let world = fenced();
    world.on("protect", |_, call| {
        Protection::read_from(&mut call.stdin).map_err(std::io::Error::other)?;
        Ok(0)
    });
    let why = refused(&world);
    assert!(
        why.contains("can be changed from inside: write AGENTS.md"),
        "{why}"
    );
}

#[test]
fn con_nothing_starts_on_half_a_report() {
    for report in [
        "",
        "end 7 0\n",
        "end 1 1\n",
        "broken write tool\n",
        "end 1 0\nend 1 0\n",
    ] {
        let world = fenced();
        world.on("sealed", move |_, call| {
            Protection::read_from(&mut call.stdin).map_err(std::io::Error::other)?;
            call.stdout.write_all(report.as_bytes())?;
            Ok(0)
        });
        drop(refused(&world));
    }
}

#[test]
fn con_nothing_starts_where_the_porter_fails() {
    for verb in ["protect", "sealed"] {
        let world = fenced();
        world.on(verb, |_, _| Ok(125));
        let why = refused(&world);
        assert!(
            why.contains(&format!("porter {verb} ended with 125")),
            "{why}"
        );
    }
}

//! The texts that merges start from: kept beside the command, and what it changed in any case.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lazaret_session::lifecycle::collect::Collected;
use lazaret_tests::tree_text;
use lazaret_transfer::MergeBases;
use lazaret_tree::Digest;

use super::world::{EDITS, World};

/// Where the session's file is.
fn file(world: &World, name: &str) -> PathBuf {
    world.path("state/sessions/shop").join(name)
}

/// Which of the texts that were sent in are kept.
fn kept(world: &World) -> Vec<&'static str> {
    let texts = [
        ("src/main.rs", "fn main() {}\n"),
        ("src/old.rs", "gone soon\n"),
        ("tool", "#!/bin/sh\n"),
        ("notes.txt", "one\ntwo\n"),
    ];
    let store = MergeBases::open(&file(world, "merge-bases")).unwrap();
    let is_kept = |text: &str| {
        let read = store.read(&Digest::of(text.as_bytes())).unwrap();
        read.as_deref() == Some(text.as_bytes())
    };
    let kept = texts.iter().filter(|(_, text)| is_kept(text));
    kept.map(|(path, _)| *path).collect()
}

#[test]
fn of_a_short_command_what_it_changed_is_kept() {
    let world = World::new();
    let collected = world.cycle().unwrap();
    assert!(matches!(collected, Collected::Ready(_)));
    assert_eq!(kept(&world), ["src/old.rs", "notes.txt"]);
}

#[test]
fn while_a_command_runs_all_of_it_is_kept() {
    let world = World::new();
    let (bases, workspace) = (file(&world, "merge-bases"), world.path("workspace"));
    world.command(move |volume, _| {
        let end = Instant::now() + Duration::from_secs(60);
        let is_kept = || {
            let read = MergeBases::open(&bases).map(|bases| bases.read(&Digest::of(b"one\ntwo\n")));
            matches!(read, Ok(Ok(Some(_))))
        };
        while !is_kept() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        // From here on the workspace has it no more.
        tree_text::build("f notes.txt \"mine\\n\"", &workspace);
        tree_text::build(EDITS, volume);
        0
    });
    let collected = world.cycle().unwrap();
    assert!(matches!(collected, Collected::Ready(_)));
    assert_eq!(
        kept(&world),
        ["src/main.rs", "src/old.rs", "tool", "notes.txt"]
    );
}

/// They are a convenience: what can't be kept is a conflict later, and nothing else.
#[test]
fn flt_07_without_room_for_them_a_session_goes_on() {
    let world = World::new();
    let in_the_way = file(&world, "merge-bases");
    world.command(move |volume, _| {
        std::fs::write(&in_the_way, "").unwrap();
        tree_text::build(EDITS, volume);
        0
    });
    let collected = world.cycle().unwrap();
    assert!(matches!(collected, Collected::Ready(_)));
    MergeBases::open(&file(&world, "merge-bases")).unwrap_err();
    let said = world.said();
    assert!(!said.contains("error"), "{said}");
}

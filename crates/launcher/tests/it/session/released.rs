//! Who waits for the end of a run is released before what it had on the engine is removed.

use std::cell::RefCell;
use std::thread;
use std::time::Duration;

use lazaret_gate::allowlist::Allowlist;
use lazaret_launcher::exit_code::ExitCode;
use lazaret_launcher::gate::{Asked, GateOptions, Released, RunEnd, gate};
use lazaret_launcher::profile::ApplyMode;
use lazaret_session::store::StoreError;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_tests::tree_text;

use super::world::{EDITS, World};

/// What holds when the run is released.
#[derive(Debug, PartialEq, Eq)]
struct AtRelease {
    outcome: Option<Outcome>,
    exit_code: ExitCode,
    phase: Option<Phase>,
    has_volume: bool,
}

/// Runs it, and returns what held at each release.
fn run(world: &World, apply: ApplyMode) -> Vec<AtRelease> {
    let collected = world.cycle().unwrap();
    let held = RefCell::new(Vec::new());
    let release = |end: &RunEnd| {
        held.borrow_mut().push(AtRelease {
            outcome: end.report.outcome,
            exit_code: end.exit_code,
            phase: world.phase(),
            has_volume: !world.left().is_empty(),
        });
    };
    let options = GateOptions {
        released: Some(Released(&release)),
        sync: None,
        asked: Asked::Elsewhere,
        apply,
        allowlist: &Allowlist::nothing(),
        app: &world.app(),
    };
    gate(&world.cx(), &world.store, collected, options).unwrap();
    held.into_inner()
}

fn released(outcome: Outcome) -> Vec<AtRelease> {
    vec![AtRelease {
        outcome: Some(outcome),
        exit_code: ExitCode::SUCCESS,
        phase: Some(Phase::Settled),
        has_volume: true,
    }]
}

#[test]
fn a_run_that_changed_nothing_is_over_before_its_volume_is_removed() {
    let world = World::new();
    world.command(|_, _| 0);
    assert_eq!(run(&world, ApplyMode::Ask), released(Outcome::Nothing));
    assert_eq!(world.left(), [""; 0]);
}

#[test]
fn so_is_one_whose_changes_are_applied() {
    let world = World::new();
    assert_eq!(run(&world, ApplyMode::Auto), released(Outcome::Applied));
    assert_eq!(world.left(), [""; 0]);
}

#[test]
fn one_that_waits_for_an_answer_is_not_over() {
    for (tree, apply) in [
        (EDITS, ApplyMode::Ask),
        ("d .vscode\nf .vscode/tasks.json {}", ApplyMode::Auto),
    ] {
        let world = World::new();
        world.command(move |volume, _| {
            tree_text::build(tree, volume);
            0
        });
        assert_eq!(run(&world, apply), [], "{tree}");
        assert_eq!(world.phase(), Some(Phase::Collected), "{tree}");
    }
}

/// The next verb comes while the one before still removes what it had.
#[test]
fn a_session_that_is_settled_is_waited_for() {
    let world = World::new();
    world.run().unwrap();
    let held = world.lock().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| world.store.lock(&world.id()).map(drop));
        // Longer than a look at the lock takes.
        thread::sleep(Duration::from_millis(300));
        drop(held);
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn one_that_is_not_is_in_use() {
    let world = World::new();
    let _collected = world.cycle().unwrap();
    let found = world.store.lock(&world.id()).map(drop);
    assert!(matches!(found, Err(StoreError::Busy { .. })), "{found:?}");
}

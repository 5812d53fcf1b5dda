//! How a run can end when the engine does its part.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lazaret_launcher::exit_code::ExitCode;
use lazaret_launcher::failure::FailureKind;
use lazaret_runtime::{ContainerState, Engine as _, Label};
use lazaret_session::cancel::Cancel;
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_tests::tree_text;
use lazaret_transfer::PendingUpdate;
use lazaret_tree::{Digest, Entry, Mode, RelPath};

use super::porter;
use super::world::{BEFORE, EDITS, World, tree};

#[test]
fn what_changed_is_applied_and_nothing_is_left() {
    let world = World::new();
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::SUCCESS);
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    assert_eq!(end.report.undo.as_deref(), Some("shop"));
    assert_eq!(end.report.changes.added, ["src/new.rs"]);
    assert_eq!(end.report.changes.modified, ["notes.txt"]);
    assert_eq!(end.report.changes.deleted, ["src/old.rs"]);
    assert_eq!(world.workspace(), tree(&[BEFORE, EDITS]));
    assert_eq!(world.phase(), Some(Phase::Settled));
    assert_eq!(world.left(), [""; 0]);
    let dir = world.store.find(&world.id()).unwrap();
    for gone in ["quarantine", "survey", "receipt"] {
        assert!(!dir.file(gone).exists(), "{gone}");
    }
}

/// What an engine knows of a container it tells anyone who may ask it (NET-17).
#[test]
fn variables_are_for_the_command_and_not_for_its_container() {
    let world = World::new();
    let engine = world.engine.clone();
    world.command(move |_, call| {
        let word = call.env.get(&"WORD".parse().unwrap()).cloned();
        let spec = engine.fake.spec(&call.container).unwrap();
        let is_clean = spec.spec().env.is_empty() && !format!("{spec:?}").contains("given");
        i32::from(word.as_deref() != Some("given") || !is_clean)
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::SUCCESS);
}

#[test]
fn the_commands_own_code_goes_first() {
    let world = World::new();
    world.command(|volume, call| {
        tree_text::build(EDITS, volume);
        call.stderr.write_all(b"no\n").unwrap();
        3
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::of_command(3));
    assert_eq!(end.report.exit_code, Some(3));
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    let dir = world.store.find(&world.id()).unwrap();
    assert_eq!(
        std::fs::read_to_string(dir.file("runs/1/log.0")).unwrap(),
        "no\n"
    );
}

/// A `sync` into the running command whose receipt was lost: what it sent is what both sides
/// have in common, though the collection is the first to meet it.
#[test]
fn what_a_lost_update_had_sent_is_no_change() {
    let world = World::new();
    let dir = world
        .store
        .path()
        .join("sessions")
        .join(world.id().as_str());
    world.command(move |volume, _| {
        tree_text::build("f sent \"host\"\nf mine \"inside\"", volume);
        let entry = Entry::File {
            mode: Mode::Plain,
            size: 4,
            digest: Digest::of(b"host"),
        };
        let path = RelPath::new("sent").unwrap().to_owned();
        let intent = PendingUpdate {
            gone: Vec::new(),
            there: [(path, entry)].into_iter().collect(),
        };
        let mut written = Vec::new();
        intent.write_to(&mut written).unwrap();
        std::fs::write(dir.join("intent"), written).unwrap();
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    assert_eq!(end.report.changes.added, ["mine"]);
}

#[test]
fn nothing_changed() {
    let world = World::new();
    world.command(|volume, _| {
        // The same bytes again are no change.
        tree_text::build("f notes.txt \"one\\ntwo\\n\"", volume);
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::SUCCESS);
    assert_eq!(end.report.outcome, Some(Outcome::Nothing));
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.left(), [""; 0]);
}

#[test]
fn aud_02_aud_08_a_finding_keeps_the_batch_for_a_person() {
    let world = World::new();
    world.command(|volume, _| {
        tree_text::build("m 755 notes.txt", volume);
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::KEPT);
    assert_eq!(end.report.outcome, Some(Outcome::Kept));
    assert_eq!(end.report.changes.modified, ["notes.txt"]);
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Collected));
    // The changes are on the host; the volume waits for `rm`.
    assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
}

#[test]
fn tar_49_a_volume_over_the_limits_is_rejected_and_kept() {
    let world = World::new();
    world.command(|volume, _| {
        tree_text::build("f bomb *2097152", volume);
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::REJECTED);
    assert_eq!(end.report.outcome, Some(Outcome::Rejected));
    let first = end.report.findings.iter().next().unwrap();
    assert_eq!(first.code, "limit.file_bytes");
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Rejected));
    assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
    assert!(matches!(
        world.resume().unwrap(),
        RecoverOutcome::Rejected(_)
    ));
    assert_eq!(world.phase(), Some(Phase::Rejected));
}

#[test]
fn app_06_a_file_that_both_changed_is_a_conflict() {
    let world = World::new();
    let workspace = world.path("workspace");
    world.command(move |volume, _| {
        tree_text::build(EDITS, volume);
        tree_text::build("f notes.txt \"mine\\n\"", &workspace);
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::KEPT);
    assert_eq!(end.report.outcome, Some(Outcome::Kept));
    assert_eq!(end.report.conflicts.len(), 1);
    assert_eq!(end.report.conflicts[0].path, "notes.txt");
    let mine = "f notes.txt \"mine\\n\"";
    assert_eq!(world.workspace(), tree(&[BEFORE, mine]));
    // Once the user has put it back, the kept changes can be had.
    tree_text::build("f notes.txt \"one\\ntwo\\n\"", &world.path("workspace"));
    let session = world.lock().unwrap();
    let end = world.gate(Collected::Ready(session)).unwrap();
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    assert_eq!(world.workspace(), tree(&[BEFORE, EDITS]));
}

#[test]
fn flt_23_a_command_whose_time_is_up_is_ended_and_collected() {
    let mut world = World::new();
    world.patience.timeout = Some(Duration::from_secs(1));
    world.command(|volume, call| {
        tree_text::build(EDITS, volume);
        call.sleep();
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::TIMEOUT);
    assert!(end.report.timed_out);
    assert_eq!(end.report.changes.added, ["src/new.rs"]);
    assert_eq!(world.left(), [""; 0]);
}

#[test]
fn flt_05_the_oom_killer_is_reported() {
    let world = World::new();
    let fake = world.engine.fake.clone();
    world.command(move |volume, call| {
        tree_text::build(EDITS, volume);
        // What the porter as PID 1 ends with when the kernel killed anything inside.
        let state = ContainerState::Exited {
            code: 37,
            oom_killed: false,
        };
        fake.end_container(&call.container, state);
        call.sleep();
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::of_command(137));
    assert!(end.report.oom_killed);
    assert_eq!(end.report.changes.added, ["src/new.rs"]);
}

#[test]
fn a_container_that_another_process_paused_is_collected_too() {
    let world = World::new();
    let fake = world.engine.fake.clone();
    world.command(move |volume, call| {
        tree_text::build(EDITS, volume);
        fake.pause_container(&call.container).unwrap();
        0
    });
    let end = world.run().unwrap();
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    assert_eq!(world.left(), [""; 0]);
}

/// Makes a command that edits, lets the user press Ctrl-C so many times, and never ends.
fn press(world: &World, times: usize) {
    let cancel = world.cancel.clone();
    world.command(move |volume, call| {
        tree_text::build(EDITS, volume);
        for _ in 0..times {
            cancel.raise();
        }
        call.sleep();
        0
    });
}

#[test]
fn flt_08_ctrl_c_once_during_the_command_keeps_its_changes_collected() {
    let world = World::new();
    press(&world, 1);
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::INTERRUPTED);
    assert_eq!(end.report.outcome, Some(Outcome::Kept));
    assert_eq!(end.report.changes.added, ["src/new.rs"]);
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Collected));
    assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
}

#[test]
fn flt_08_ctrl_c_twice_during_the_command_leaves_the_rest_to_recover() {
    let mut world = World::new();
    press(&world, 2);
    let failure = world.run().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    assert!(failure.hints.join(" ").contains("recover shop"));
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Stopped));
    world.cancel = Cancel::new();
    assert!(matches!(
        world.resume().unwrap(),
        RecoverOutcome::Collected(_)
    ));
    assert!(world.record().unwrap().end.unwrap().interrupted);
}

#[test]
fn flt_08_ctrl_c_before_the_command_leaves_nothing() {
    let world = World::new();
    world.cancel.raise();
    let failure = world.run().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    for verb in ["receive", "probe"] {
        let world = World::new();
        let cancel = world.cancel.clone();
        world.on(verb, move |_, call| {
            cancel.raise();
            // As a porter that waits for more.
            call.sleep();
            Ok(0)
        });
        let failure = world.run().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Interrupted, "{verb}");
        assert_eq!(world.commands(), 0, "{verb}");
        assert_eq!(world.left(), [""; 0], "{verb}");
        assert_eq!(world.phase(), None, "{verb}");
        assert_eq!(world.workspace(), tree(&[BEFORE]), "{verb}");
    }
}

/// Everything is proven by then, and everything sent: only the receipt is missing.
#[test]
fn flt_08_ctrl_c_ends_a_copy_that_is_never_done() {
    let world = World::new();
    let cancel = world.cancel.clone();
    world.on("receive", move |volume, call| {
        let _receipt = porter::receive(volume, &mut call.stdin).unwrap();
        cancel.raise();
        call.sleep();
        Ok(0)
    });
    let failure = world.run().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    assert_eq!((world.commands(), world.left()), (0, Vec::new()));
    assert_eq!(world.phase(), None);
}

/// The signal ends the container, and the probe with it, which has said nothing by then.
#[test]
fn flt_08_ctrl_c_before_the_command_of_a_kept_session_leaves_it_as_it_was() {
    for verb in ["update", "probe"] {
        let world = World::new();
        assert_eq!(
            world
                .gate(world.cycle_kept().unwrap().collected)
                .unwrap()
                .exit_code,
            ExitCode::SUCCESS
        );
        let (phase, left, commands) = (world.phase(), world.left(), world.commands());
        let cancel = world.cancel.clone();
        world.on(verb, move |_, _| {
            cancel.raise();
            Ok(137)
        });
        let failure = world.cycle_kept().unwrap_err();
        assert_eq!(
            failure.kind,
            FailureKind::Interrupted,
            "{verb}: {failure:?}"
        );
        assert_eq!(
            (world.phase(), world.left(), world.commands()),
            (phase, left, commands)
        );
    }
}

#[test]
fn flt_08_ctrl_c_during_the_collection_loses_nothing() {
    for (verb, times) in [("survey", 1), ("survey", 2), ("send", 1), ("send", 2)] {
        let mut world = World::new();
        let cancel = world.cancel.clone();
        let pressed = AtomicBool::new(false);
        // The first time only: later tries find a porter that answers.
        world.on(verb, move |volume, call| {
            if !pressed.swap(true, Ordering::SeqCst) {
                for _ in 0..times {
                    cancel.raise();
                }
                // It says no more: only its end makes the launcher go on.
                call.sleep();
                return Ok(0);
            }
            match verb {
                "survey" => porter::survey(volume, &mut call.stdin)
                    .unwrap()
                    .write_to(&mut call.stdout)?,
                _ => porter::send(volume, &mut call.stdin, &mut call.stdout, |_| {}).unwrap(),
            }
            Ok(0)
        });
        let failure = world.run().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Interrupted, "{verb}");
        assert!(failure.hints.join(" ").contains("recover shop"), "{verb}");
        assert_eq!(world.workspace(), tree(&[BEFORE]), "{verb}");
        assert_eq!(world.phase(), Some(Phase::Stopped), "{verb}");
        assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
        let dir = world.store.find(&world.id()).unwrap();
        assert!(!dir.file("quarantine").exists(), "{verb}");

        world.cancel = Cancel::new();
        assert!(matches!(
            world.resume().unwrap(),
            RecoverOutcome::Collected(_)
        ));
        assert_eq!(world.apply().outcome, Outcome::Applied, "{verb}");
        assert_eq!(world.workspace(), tree(&[BEFORE, EDITS]), "{verb}");
    }
}

/// The launcher is killed when its apply is done, and before its record says so.
#[test]
fn flt_09_an_apply_of_which_only_the_record_does_not_know_is_complete() {
    for (applying, complete) in [(Some(1), true), (Some(2), false), (None, false)] {
        let world = World::new();
        assert_eq!(world.run().unwrap().report.outcome, Some(Outcome::Applied));
        let applied = world.workspace();
        let mut session = world.lock().unwrap();
        session
            .update(|record| {
                record.phase = Phase::Applying;
                record.applying = applying;
                record.outcome = None;
            })
            .unwrap();
        drop(session);
        match world.resume().unwrap() {
            RecoverOutcome::Applied(session) => {
                assert!(complete);
                assert_eq!(session.record().outcome, Some(Outcome::Applied));
            }
            // The second one had not begun; the first one's journal says nothing of it.
            RecoverOutcome::RolledBack(_, left_alone) => {
                assert!(!complete && left_alone.is_empty())
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(world.workspace(), applied);
    }
}

/// The exporter waits while the command runs, and looks at nothing before that is over.
#[test]
fn the_exporter_stands_by_and_looks_at_nothing_before_the_command_is_over() {
    let world = World::new();
    let (engine, over) = (world.engine.fake.clone(), Arc::new(AtomicBool::new(false)));
    let is_over = Arc::clone(&over);
    world.command(move |volume, _| {
        let stands_by = || {
            let containers = engine.containers(Label::Store.key()).unwrap();
            containers.iter().any(|container| {
                container.name.as_str().ends_with("-exporter")
                    && container.state == ContainerState::Running
            })
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while !stands_by() {
            if Instant::now() > deadline {
                return 1;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        tree_text::build(EDITS, volume);
        over.store(true, Ordering::SeqCst);
        0
    });
    world.on("survey", move |volume, call| {
        if !is_over.load(Ordering::SeqCst) {
            return Ok(125);
        }
        let survey = porter::survey(volume, &mut call.stdin).unwrap();
        survey.write_to(&mut call.stdout)?;
        Ok(0)
    });
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::SUCCESS);
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    assert_eq!(world.left(), [""; 0]);
}

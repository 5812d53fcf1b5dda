//! What comes over the streams is wrong: cut, changed, or not what was agreed.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lazaret_launcher::exit_code::ExitCode;
use lazaret_launcher::failure::{Failure, FailureKind};
use lazaret_protocol::Checksum;
use lazaret_runtime::fake::ExecOutcome;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_tests::tree_text;

use super::porter;
use super::world::{BEFORE, EDITS, World, tree};

/// A failure's words, with those of its causes.
fn words(failure: &Failure) -> String {
    let mut words = failure.error.to_string();
    let mut source = failure.error.source();
    while let Some(error) = source {
        words = format!("{words}: {error}");
        source = error.source();
    }
    words
}

/// The run fails before its command, and nothing is left of it.
#[track_caller]
fn never_started(world: &World) -> (FailureKind, String) {
    let before = world.workspace();
    let failure = world.run().unwrap_err();
    assert_eq!(world.commands(), 0, "{failure:?}");
    assert_eq!(world.left(), [""; 0], "{failure:?}");
    assert_eq!(world.phase(), None, "{failure:?}");
    assert_eq!(world.workspace(), before, "{failure:?}");
    (failure.kind, words(&failure))
}

/// The run fails after its command; a porter that is well again collects all of it.
#[track_caller]
fn collected_later(world: &World) {
    let failure = world.run().unwrap_err();
    assert!(failure.hints.join(" ").contains("recover shop"));
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Stopped));
    assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
    // The same fault again changes nothing.
    drop(world.resume().unwrap_err());
    assert_eq!(world.phase(), Some(Phase::Stopped));
    collected_after_all(world);
}

/// With a porter that is well again, `recover` collects everything.
#[track_caller]
fn collected_after_all(world: &World) {
    world.on("survey", |volume, call| {
        let survey = porter::survey(volume, &mut call.stdin).unwrap();
        survey.write_to(&mut call.stdout)?;
        Ok(0)
    });
    world.on("send", |volume, call| {
        porter::send(volume, &mut call.stdin, &mut call.stdout, |_| {}).unwrap();
        Ok(0)
    });
    let RecoverOutcome::Collected(session) = world.resume().unwrap() else {
        panic!("not collected")
    };
    let collected = lazaret_session::lifecycle::collect::Collected::Ready(session);
    let end = world.gate(collected).unwrap();
    assert_eq!(end.report.outcome, Some(Outcome::Applied));
    assert_eq!(world.workspace(), tree(&[BEFORE, EDITS]));
}

#[test]
fn flt_01_a_receive_that_dies_midway() {
    for outcome in [
        ExecOutcome::Lost("the daemon is gone".to_owned()),
        ExecOutcome::Exit(125),
        ExecOutcome::Exit(137),
    ] {
        let world = World::new();
        tree_text::build("f large *400000", &world.path("workspace"));
        world.on("receive", move |_, call| {
            call.stdin.read_exact(&mut [0; 1500])?;
            call.stdout.write_all(b"lzrc")?;
            Ok(outcome.clone())
        });
        never_started(&world);
    }
}

#[test]
fn flt_01_a_receipt_that_is_cut_anywhere() {
    for left in [1, 20, 41, 42, 200] {
        let world = World::new();
        world.on("receive", move |volume, call| {
            let receipt = porter::receive(volume, &mut call.stdin).unwrap();
            let mut bytes = Vec::new();
            receipt.write_to(&mut bytes)?;
            call.stdout.write_all(&bytes[..bytes.len() - left])?;
            Ok(125)
        });
        let (kind, said) = never_started(&world);
        assert_eq!(kind, FailureKind::Transfer, "{said}");
    }
}

#[test]
fn flt_04_a_receipt_for_another_tree() {
    for what in ["stream", "bytes", "entries"] {
        let world = World::new();
        world.on("receive", move |volume, call| {
            let mut receipt = porter::receive(volume, &mut call.stdin).unwrap();
            match what {
                "stream" => receipt.arrived.stream = Checksum::of(b"another"),
                "bytes" => receipt.arrived.bytes -= 1,
                _ => {
                    receipt.arrived.entries -= 1;
                    receipt.identities.pop_last();
                }
            }
            receipt.write_to(&mut call.stdout)?;
            Ok(0)
        });
        let (_, said) = never_started(&world);
        assert_eq!(
            said,
            "the receipt is for another tree than the one that was sent"
        );
    }
}

#[test]
fn flt_04_a_file_that_changes_while_it_is_copied_in() {
    for how in ["grows", "shrinks"] {
        let world = World::new();
        tree_text::build("f large *800000", &world.path("workspace"));
        let large = world.path("workspace").join("large");
        world.on("receive", move |volume, call| {
            // The packer is in the middle of the file: the pipe holds less.
            let mut start = [0; 2000];
            call.stdin.read_exact(&mut start)?;
            let file = std::fs::OpenOptions::new().write(true).open(&large)?;
            file.set_len(if how == "grows" { 900_000 } else { 700_000 })?;
            let mut stream = (&start[..]).chain(&mut call.stdin);
            porter::receive(volume, &mut stream).unwrap_err();
            Ok(125)
        });
        let failure = world.run().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Workspace, "{failure:?}");
        assert!(words(&failure).contains("large"), "{}", words(&failure));
        assert_eq!(world.commands(), 0);
        assert_eq!(world.left(), [""; 0]);
        assert_eq!(world.phase(), None);
    }
}

/// Runs with a report, which must keep the command from starting, and says why.
#[track_caller]
fn refused(report: impl Fn(String) -> String + Send + Sync + 'static, code: i32) -> String {
    let world = World::new();
    world.on("probe", move |_, call| {
        call.stdout
            .write_all(report(porter::healthy_report()).as_bytes())?;
        Ok(code)
    });
    let copied = Arc::new(AtomicBool::new(false));
    let copies = Arc::clone(&copied);
    world.on("receive", move |_, _| {
        copies.store(true, Ordering::SeqCst);
        Ok(125)
    });
    let (_, said) = never_started(&world);
    assert!(!copied.load(Ordering::SeqCst), "copied before: {said}");
    said
}

#[test]
fn p12_a_control_that_failed_or_is_missing() {
    let failed = |report: String| report.replace("CON-04 pass", "CON-04 fail");
    assert!(refused(failed, 0).contains("CON-04 seccomp is not in force"));
    let skipped = |report: String| report.replace("CON-18 pass", "CON-18 n/a");
    assert!(refused(skipped, 0).contains("CON-18 no network was not checked"));
    for control in 1..=24 {
        let missing = move |report: String| {
            let lines = report.lines();
            let id = format!("CON-{control:02} ");
            let kept = lines.filter(|line| !line.starts_with(&id));
            kept.map(|line| format!("{line}\n")).collect()
        };
        let id = format!(": CON-{control:02} ");
        let said = refused(missing, 0);
        assert!(
            said.contains(&id) && said.ends_with(" was not reported"),
            "{said}"
        );
    }
}

#[test]
fn p12_a_report_that_is_cut_or_counts_wrongly_or_is_none() {
    // A porter that has said less than all has ended.
    refused(|_| String::new(), 126);
    refused(|report| report.replace("end 24", "end 23"), 0);
    refused(|report| report.replace("end 24\n", "end 24"), 125);
    refused(|report| format!("{report}end 24\n"), 0);
    for line in 0..24 {
        let cut = move |report: String| {
            let lines = report.lines().take(line);
            lines.map(|line| format!("{line}\n")).collect()
        };
        refused(cut, 125);
    }
}

/// The gateway's probe is a process of its own, which ends.
#[test]
fn p12_a_whole_report_of_a_porter_that_failed_or_was_lost() {
    for outcome in [ExecOutcome::Exit(125), ExecOutcome::Lost("gone".to_owned())] {
        let world = World::with_network();
        world.on("probe", move |_, call| {
            call.stdout.write_all(porter::healthy_report().as_bytes())?;
            match call.container.as_str().ends_with("-gateway") {
                true => Ok(outcome.clone()),
                false => Ok(ExecOutcome::Exit(0)),
            }
        });
        never_started(&world);
    }
}

#[test]
fn p12_a_report_whose_connection_breaks() {
    let world = World::new();
    world.on("probe", |_, call| {
        let report = porter::healthy_report();
        call.stdout.write_all(&report.as_bytes()[..100])?;
        Ok(ExecOutcome::Lost("gone".to_owned()))
    });
    never_started(&world);
}

#[test]
fn flt_03_a_survey_that_is_cut_anywhere() {
    for (keep, outcome) in [
        (0, ExecOutcome::Exit(125)),
        (8, ExecOutcome::Exit(125)),
        (60, ExecOutcome::Exit(125)),
        (60, ExecOutcome::Lost("gone".to_owned())),
        (usize::MAX, ExecOutcome::Exit(125)),
        (usize::MAX, ExecOutcome::Lost("gone".to_owned())),
    ] {
        let world = World::new();
        world.on("survey", move |volume, call| {
            let survey = porter::survey(volume, &mut call.stdin).unwrap();
            let mut bytes = Vec::new();
            survey.write_to(&mut bytes)?;
            call.stdout.write_all(&bytes[..keep.min(bytes.len() - 1)])?;
            Ok(outcome.clone())
        });
        collected_later(&world);
    }
}

#[test]
fn flt_03_a_whole_survey_of_a_porter_that_failed_or_was_lost() {
    for outcome in [ExecOutcome::Exit(137), ExecOutcome::Lost("gone".to_owned())] {
        let world = World::new();
        world.on("survey", move |volume, call| {
            let survey = porter::survey(volume, &mut call.stdin).unwrap();
            survey.write_to(&mut call.stdout)?;
            Ok(outcome.clone())
        });
        collected_later(&world);
    }
}

/// The batch is rejected for this reason, and its volume kept.
#[track_caller]
fn rejected(world: &World, code: &str) {
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::REJECTED);
    assert_eq!(end.report.outcome, Some(Outcome::Rejected));
    let codes: Vec<_> = end.report.findings.iter().map(|one| one.code).collect();
    assert_eq!(codes, [code]);
    assert_eq!(end.report.changes.deleted, [""; 0]);
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Rejected));
    assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
}

#[test]
fn p03_a_survey_that_contradicts_itself() {
    let world = World::new();
    world.on("survey", |volume, call| {
        let mut survey = porter::survey(volume, &mut call.stdin).unwrap();
        survey.gone.push(b"never there".to_vec());
        survey.gone.sort();
        survey.write_to(&mut call.stdout)?;
        Ok(0)
    });
    rejected(&world, "survey.contradiction");
}

#[test]
fn p03_other_bytes_than_announced() {
    let world = World::new();
    world.on("send", |volume, call| {
        let altered = |bytes: &mut Vec<u8>| bytes[0] ^= 1;
        porter::send(volume, &mut call.stdin, &mut call.stdout, altered).unwrap();
        Ok(0)
    });
    rejected(&world, "stream.mismatch");
}

#[test]
fn p03_more_bytes_than_announced() {
    let world = World::new();
    world.on("send", |volume, call| {
        let altered = |bytes: &mut Vec<u8>| bytes.push(b'!');
        porter::send(volume, &mut call.stdin, &mut call.stdout, altered).unwrap();
        Ok(0)
    });
    rejected(&world, "stream.mismatch");
}

/// The stream that the porter would send.
fn stream(volume: &std::path::Path, stdin: &mut dyn std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    porter::send(volume, stdin, &mut bytes, |_| {}).unwrap();
    bytes
}

/// Two small files: a header and a block each, two zero blocks, the trailer.
const MEMBER: usize = 1024;
const WHOLE: usize = 2 * MEMBER + 3 * 512;

#[test]
fn flt_03_a_stream_that_is_cut_at_a_member_boundary_is_no_deletion() {
    for keep in [0, MEMBER, 2 * MEMBER, WHOLE - 1024, WHOLE - 512, WHOLE - 1] {
        // The porter says that all is well: what it sent can't be believed.
        let world = World::new();
        world.on("send", move |volume, call| {
            let bytes = stream(volume, &mut call.stdin);
            assert_eq!(bytes.len(), WHOLE);
            call.stdout.write_all(&bytes[..keep])?;
            Ok(0)
        });
        let end = world.run().unwrap();
        assert_eq!(end.report.outcome, Some(Outcome::Rejected), "{keep}");
        assert_eq!(end.exit_code, ExitCode::REJECTED);
        assert_eq!(world.workspace(), tree(&[BEFORE]));
        assert_eq!(world.left(), [world.record().unwrap().volume().to_string()]);
        // The same again is rejected again; a stream that arrives is collected.
        assert!(matches!(
            world.resume().unwrap(),
            RecoverOutcome::Rejected(_)
        ));
        assert_eq!(world.phase(), Some(Phase::Rejected));
        collected_after_all(&world);

        // It failed, or the engine did: another try.
        for outcome in [ExecOutcome::Exit(125), ExecOutcome::Lost("gone".to_owned())] {
            let world = World::new();
            world.on("send", move |volume, call| {
                let bytes = stream(volume, &mut call.stdin);
                call.stdout.write_all(&bytes[..keep])?;
                Ok(outcome.clone())
            });
            collected_later(&world);
        }
    }
}

#[test]
fn flt_03_a_whole_stream_that_lacks_a_member_is_no_deletion() {
    let world = World::new();
    world.on("send", |volume, call| {
        let wanted = lazaret_protocol::read_wanted(&mut call.stdin).unwrap();
        let mut list = Vec::new();
        lazaret_protocol::write_wanted(&wanted[..1], &mut list)?;
        let bytes = stream(volume, &mut &list[..]);
        call.stdout.write_all(&bytes)?;
        Ok(0)
    });
    rejected(&world, "stream.mismatch");
}

#[test]
fn flt_03_a_whole_stream_of_a_porter_that_failed() {
    let world = World::new();
    world.on("send", |volume, call| {
        let bytes = stream(volume, &mut call.stdin);
        call.stdout.write_all(&bytes)?;
        Ok(125)
    });
    collected_later(&world);
}

//! A session with a network whose gateway does not do what it should.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_launcher::exit_code::ExitCode;
use lazaret_session::store::record::Outcome;
use lazaret_tests::tree_text;

use super::porter;
use super::world::{EDITS, World, begin_gateway};

/// Counts the gateways that were given anything to read.
fn counting(world: &World) -> Arc<AtomicUsize> {
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    world.gateway(move |call| {
        if call.stdin.read(&mut [0])? > 0 {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        Ok(1)
    });
    heard
}

#[test]
fn p12_a_gateway_whose_controls_are_not_proven_is_told_nothing() {
    use std::io::Write as _;
    let world = World::with_network();
    let heard = counting(&world);
    world.on("probe", |_, call| {
        let report = porter::healthy_report();
        let report = match call.container.as_str().ends_with("-gateway") {
            true => report.replacen(" pass ", " fail ", 1),
            false => report,
        };
        call.stdout.write_all(report.as_bytes())?;
        Ok(0)
    });
    let failure = world.run().unwrap_err();
    assert_eq!(heard.load(Ordering::SeqCst), 0, "{failure:?}");
    assert_eq!(world.commands(), 0);
    assert_eq!(world.left(), Vec::<String>::new());
    assert!(world.record().is_none());
}

#[test]
fn flt_08_ctrl_c_while_the_gateway_starts_leaves_nothing() {
    let world = World::with_network();
    let cancel = world.cancel.clone();
    // It never listens, and ends with its input.
    world.gateway(move |call| {
        cancel.raise();
        io::copy(&mut call.stdin, &mut io::sink())?;
        Ok(0)
    });
    let failure = world.run().unwrap_err();
    assert_eq!(failure.exit_code(), ExitCode::INTERRUPTED, "{failure:?}");
    assert_eq!(world.commands(), 0);
    assert_eq!(world.left(), Vec::<String>::new());
    assert!(world.record().is_none());
}

#[test]
fn a_gateway_that_does_not_start_says_why() {
    use std::io::Write as _;
    let world = World::with_network();
    world.gateway(|call| {
        writeln!(call.stderr, "porter: gateway: no \x1b[2Jroom")?;
        Ok(125)
    });
    let failure = world.run().unwrap_err().chain().join(": ");
    assert!(failure.contains("gateway did not start"), "{failure}");
    assert!(
        failure.contains("room") && !failure.contains('\x1b'),
        "{failure}"
    );
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn net_23_a_command_goes_on_when_its_gateway_has_ended() {
    let world = World::with_network();
    world.gateway(|call| {
        drop(begin_gateway(call)?);
        Ok(137)
    });
    let said = world.hearing();
    world.command(move |volume, _| {
        while !said().contains("the gateway of the session is gone") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        tree_text::build(EDITS, volume);
        0
    });
    let end = world.run().unwrap();
    assert!(format!("{end:?}").contains("Applied"), "{end:?}");
    let record = world.record().unwrap();
    assert_eq!(record.outcome, Some(Outcome::Applied));
    let egress = record.egress.unwrap();
    assert!(egress.gateway_lost);
    assert_eq!(egress.totals.unwrap().allowed, 1);
    let said = world.said();
    assert!(
        said.contains("the gateway of the session is gone"),
        "{said}"
    );
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn flt_07_a_journal_that_can_not_be_written_is_said_and_changes_nothing_else() {
    let world = World::with_network();
    world.command(|_, _| 0);
    // The network of one that goes on is written into the same file again.
    let first = world.cycle_kept().unwrap();
    drop(first);
    let journal = world.store.find(&world.id()).unwrap().file("egress.jsonl");
    std::fs::remove_file(&journal).unwrap();
    std::os::unix::fs::symlink("/dev/full", &journal).unwrap();
    let end = world.cycle_kept().map(|cycle| cycle.collected);
    assert!(end.is_ok(), "{end:?}");
    let said = world.said();
    assert!(
        said.contains("the log of the network is not complete"),
        "{said}"
    );
    let egress = world.record().unwrap().egress.unwrap();
    assert_eq!(egress.totals.unwrap().allowed, 1);
    assert!(!egress.gateway_lost);
}

//! Every call to the engine fails once, in each way it can, and so does every call from
//! one on. Whatever the fault: nothing of value is lost, nothing is half applied, and
//! `recover` brings the session home.

use std::sync::Mutex;
use std::thread;

use lazaret_launcher::exit_code::ExitCode;
use lazaret_runtime::fake::{ExecOutcome, Verb};
use lazaret_runtime::{UnremovedResource, unremoved};
use lazaret_session::cancel::Cancel;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_tests::tree_text;

use super::flaky::{At, Fault, Kind};
use super::world::{BEFORE, EDITS, World, tree};

const VERBS: [Verb; 18] = [
    Verb::Probe,
    Verb::LoadImage,
    Verb::Image,
    Verb::Images,
    Verb::RemoveImage,
    Verb::CreateVolume,
    Verb::RemoveVolume,
    Verb::Volumes,
    Verb::CreateContainer,
    Verb::StartContainer,
    Verb::StopContainer,
    Verb::SignalContainer,
    Verb::PauseContainer,
    Verb::UnpauseContainer,
    Verb::Container,
    Verb::Containers,
    Verb::RemoveContainer,
    Verb::Exec,
];
const ONCE: [Kind; 3] = [Kind::Refused, Kind::Lost, Kind::AnswerLost];
/// More calls than any scenario makes; that it is enough is asserted.
const MANY: usize = 40;

/// Sessions at once: most of them sleep between two tries to remove something.
const WORKERS: usize = 24;

/// Runs `work` for every item, on some threads, and returns the results.
fn all<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().unwrap().next();
    thread::scope(|scope| {
        let worker = || std::iter::from_fn(next).map(&work).collect::<Vec<_>>();
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.flatten().collect()
    })
}

/// Runs `scenario` for every verb, kind and n until it no longer meets the fault; returns
/// how often one was met.
fn each_once(verbs: &[Verb], scenario: impl Fn(Fault) -> bool + Sync) -> usize {
    let pairs = verbs
        .iter()
        .flat_map(|verb| ONCE.into_iter().map(|kind| (*verb, kind)));
    let met = all(pairs.collect(), |(verb, kind)| {
        let faults = (1..).map(|nth| Fault {
            at: At::Verb(verb, nth),
            kind,
        });
        faults.take_while(|fault| scenario(*fault)).count()
    });
    met.into_iter().sum()
}

/// Runs `scenario` with an engine that dies at its nth call, for every n; returns how often
/// it died.
fn each_death(scenario: impl Fn(Fault) -> bool + Sync) -> usize {
    let met = all((1..=MANY).collect(), |nth| {
        let fault = Fault {
            at: At::Call(nth),
            kind: Kind::Died,
        };
        scenario(fault)
    });
    let met = met.into_iter().filter(|met| *met).count();
    assert!(met < MANY);
    met
}

/// What the workspace must be in the end.
fn expected(commands: usize) -> String {
    match commands {
        0 => tree(&[BEFORE]),
        _ => tree(&[BEFORE, EDITS]),
    }
}

/// Takes a session home on a healthy engine, each step twice.
#[track_caller]
fn bring_home(world: &mut World, fault: Fault) {
    world.engine.order(None);
    world.cancel = Cancel::new();
    let untouched = world.workspace();
    match world.resume().unwrap() {
        RecoverOutcome::Removed => {
            assert_eq!(world.phase(), None, "{fault:?}");
            assert_eq!(world.left(), [""; 0], "{fault:?}");
            assert_eq!(world.commands(), 0, "{fault:?}");
            return;
        }
        RecoverOutcome::Collected(session) => {
            assert_eq!(session.record().phase, Phase::Collected, "{fault:?}");
        }
        RecoverOutcome::Unchanged(session) if session.record().phase == Phase::Collected => {}
        other => panic!("{fault:?}: {other:?}"),
    }
    let record = world.record();
    for _ in 0..2 {
        let again = world.resume().unwrap();
        assert!(
            matches!(again, RecoverOutcome::Unchanged(_)),
            "{fault:?}: {again:?}"
        );
    }
    assert_eq!(world.record(), record, "{fault:?}");
    assert_eq!(world.workspace(), untouched, "{fault:?}");
    let volume = record.unwrap().volume().to_string();
    assert_eq!(world.left(), [volume], "{fault:?}");

    let outcome = match world.commands() {
        0 => Outcome::Nothing,
        _ => Outcome::Applied,
    };
    assert_eq!(world.apply().outcome, outcome, "{fault:?}");
    assert_eq!(world.workspace(), expected(world.commands()), "{fault:?}");
    settled(world, fault);
}

/// Nothing of a settled session is in the engine, at the latest after a `recover`.
#[track_caller]
fn settled(world: &World, fault: Fault) {
    world.engine.order(None);
    let workspace = world.workspace();
    assert_eq!(world.phase(), Some(Phase::Settled), "{fault:?}");
    for _ in 0..2 {
        let again = world.resume().unwrap();
        assert!(
            matches!(again, RecoverOutcome::Unchanged(_)),
            "{fault:?}: {again:?}"
        );
        assert_eq!(world.left(), [""; 0], "{fault:?}");
        assert_eq!(world.phase(), Some(Phase::Settled), "{fault:?}");
    }
    assert_eq!(world.workspace(), workspace, "{fault:?}");
}

/// Runs a session into a fault and out of it again. Returns whether the fault was met.
fn run_into(mut world: World, fault: Fault, code: ExitCode) -> bool {
    world.engine.order(Some(fault));
    let end = world.run();
    let met = world.engine.met();
    assert!(world.commands() <= 1, "{fault:?}");
    match end {
        Ok(end) => {
            // FLT-24: what could not be removed changes nothing about how the run ended.
            assert_eq!(end.exit_code, code, "{fault:?}");
            for left in world.left() {
                let named = |one: UnremovedResource| one.name == left;
                let said = world.said().contains(&left) || unremoved().into_iter().any(named);
                let kept = code == ExitCode::INTERRUPTED && left.ends_with("-workspace");
                assert!(said || kept, "{fault:?}: {left}");
            }
            if code == ExitCode::INTERRUPTED {
                assert_eq!(end.report.outcome, Some(Outcome::Kept), "{fault:?}");
                assert_eq!(world.workspace(), expected(0), "{fault:?}");
                bring_home(&mut world, fault);
            } else {
                assert_eq!(end.report.outcome, Some(Outcome::Applied), "{fault:?}");
                assert_eq!(world.workspace(), expected(1), "{fault:?}");
                settled(&world, fault);
            }
        }
        Err(failure) => {
            assert!(met, "{fault:?}: {failure:?}");
            assert_eq!(world.workspace(), expected(0), "{fault:?}");
            match world.phase() {
                None => {
                    assert_eq!(world.commands(), 0, "{fault:?}");
                    assert_eq!(world.left(), [""; 0], "{fault:?}");
                }
                Some(phase) => {
                    // One failure is no reason to leave anything of a session that has
                    // not begun; only an engine that is gone is.
                    let begun = phase != Phase::Preparing;
                    assert!(begun || fault.kind == Kind::Died, "{fault:?}");
                    let named = failure.hints.join(" ").contains("recover shop");
                    assert!(named || !begun, "{fault:?}: {failure:?}");
                    bring_home(&mut world, fault);
                }
            }
        }
    }
    met
}

#[test]
fn flt_01_flt_24_every_call_fails_once() {
    let met = each_once(&VERBS, |fault| {
        run_into(World::new(), fault, ExitCode::SUCCESS)
    });
    assert!(met > 45, "{met}");
}

#[test]
fn flt_01_flt_02_flt_03_the_engine_dies_at_every_call() {
    let met = each_death(|fault| run_into(World::new(), fault, ExitCode::SUCCESS));
    assert!(met > 15, "{met}");
}

/// A session in which something is root's, by a guard.
fn fenced() -> World {
    let mut world = World::new();
    world.bounds.protect = vec!["tool".to_owned()];
    world
}

#[test]
fn flt_01_flt_24_every_call_fails_once_where_something_is_protected() {
    let met = each_once(&VERBS, |fault| run_into(fenced(), fault, ExitCode::SUCCESS));
    assert!(met > 55, "{met}");
}

#[test]
fn flt_01_the_engine_dies_at_every_call_where_something_is_protected() {
    let met = each_death(|fault| run_into(fenced(), fault, ExitCode::SUCCESS));
    assert!(met > 20, "{met}");
}

#[test]
fn flt_01_flt_24_every_call_fails_once_with_a_network() {
    let met = each_once(&VERBS, |fault| {
        run_into(World::with_network(), fault, ExitCode::SUCCESS)
    });
    assert!(met > 60, "{met}");
}

#[test]
fn flt_01_flt_02_flt_03_the_engine_dies_at_every_call_with_a_network() {
    let met = each_death(|fault| run_into(World::with_network(), fault, ExitCode::SUCCESS));
    assert!(met > 20, "{met}");
}

/// A command that edits, lets the user press Ctrl-C, and ignores the signal for it.
fn interrupted() -> World {
    let world = World::new();
    let cancel = world.cancel.clone();
    world.command(move |volume, call| {
        tree_text::build(EDITS, volume);
        cancel.raise();
        call.sleep();
        0
    });
    world
}

#[test]
fn flt_08_flt_15_every_call_fails_once_while_a_command_is_killed() {
    let met = each_once(&VERBS, |fault| {
        let world = interrupted();
        match (fault.kind, fault.at) {
            // Refused is what a container that has just ended answers a signal with; it is
            // believed, and here it would be a lie.
            (Kind::Refused, At::Verb(Verb::SignalContainer, 2)) => true,
            // An engine that keeps its answer waits for the command, which waits for a signal.
            (Kind::AnswerLost, At::Verb(Verb::Exec, 3)) => true,
            _ => run_into(world, fault, ExitCode::INTERRUPTED),
        }
    });
    assert!(met > 45, "{met}");
}

#[test]
fn flt_08_flt_15_the_engine_dies_at_every_call_while_a_command_is_killed() {
    let met = each_death(|fault| run_into(interrupted(), fault, ExitCode::INTERRUPTED));
    assert!(met > 15, "{met}");
}

/// A session whose launcher lost the command.
fn lost() -> World {
    let world = World::new();
    world.command(|volume, _| {
        tree_text::build(EDITS, volume);
        ExecOutcome::Lost("gone".to_owned())
    });
    drop(world.run().unwrap_err());
    assert_eq!(world.phase(), Some(Phase::Running));
    world
}

/// Recovers into a fault, and then without one.
fn recover_into(mut world: World, fault: Fault) -> bool {
    let workspace = world.workspace();
    world.engine.order(Some(fault));
    let resumed = world.resume();
    let met = world.engine.met();
    assert_eq!(world.workspace(), workspace, "{fault:?}");
    let removed = matches!(resumed, Ok(RecoverOutcome::Removed));
    assert!(met || resumed.is_ok(), "{fault:?}: {resumed:?}");
    drop(resumed);
    if removed {
        assert_eq!(world.phase(), None, "{fault:?}");
        assert_eq!(world.left(), [""; 0], "{fault:?}");
    } else {
        bring_home(&mut world, fault);
    }
    met
}

#[test]
fn flt_02_recover_itself_meets_every_fault_once() {
    let met = each_once(&VERBS, |fault| recover_into(lost(), fault));
    assert!(met > 25, "{met}");
}

#[test]
fn flt_02_the_engine_dies_at_every_call_of_recover() {
    let met = each_death(|fault| recover_into(lost(), fault));
    assert!(met > 8, "{met}");
}

/// A session that could not be removed: its engine died before the command started.
fn stuck() -> World {
    let world = World::new();
    // Volume, container, start; then the copy.
    world.engine.order(Some(Fault {
        at: At::Call(4),
        kind: Kind::Died,
    }));
    drop(world.run().unwrap_err());
    assert_eq!(world.phase(), Some(Phase::Preparing));
    assert_eq!(world.left().len(), 2);
    world
}

#[test]
fn flt_24_what_could_not_be_removed_is_named_and_removed_by_recover() {
    // All that such a recovery calls; to get stuck takes seconds of retries.
    let verbs = [
        Verb::Containers,
        Verb::Volumes,
        Verb::RemoveContainer,
        Verb::RemoveVolume,
    ];
    let met = each_once(&verbs, |fault| recover_into(stuck(), fault));
    assert!(met >= 12, "{met}");
}

//! Whatever fails while a session's next container is made or taken, and wherever its
//! launcher dies: the session is sound, and no two commands run in one container.

use std::fs;

use lazaret_launcher::exit_code::ExitCode;
use lazaret_launcher::profile::ApplyMode;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::pool::sweep;
use lazaret_session::store::record::Phase;
use lazaret_tests::tree_text;

use super::flaky::{At, Fault, Kind};
use super::next_container::with_pool;
use super::world::World;

/// What is done about a container that is half made.
#[derive(Debug, Clone, Copy)]
enum Next {
    Run,
    Recover,
    Prune,
}

/// Each call to the engine fails in each way, and the launcher loses the engine at each call:
/// what it leaves then is what one leaves that is killed there.
#[test]
fn flt_09_whatever_fails_while_it_is_made_the_run_is_well_and_the_next_one_too() {
    let kinds = [Kind::Refused, Kind::Lost, Kind::AnswerLost, Kind::Died];
    // At once: most of the time goes by between two tries to remove something.
    let met: usize = std::thread::scope(|scope| {
        let each = kinds.into_iter().flat_map(|kind| {
            [Next::Run, Next::Recover, Next::Prune]
                .map(|next| scope.spawn(move || fails_at_each(kind, next)))
        });
        let each: Vec<_> = each.collect();
        each.into_iter().map(|one| one.join().unwrap()).sum()
    });
    // Two volumes and containers, made and started, and what they are looked up by.
    assert!(met > 40, "{met} faults");
}

fn fails_at_each(kind: Kind, next: Next) -> usize {
    for nth in 1.. {
        let world = with_pool(World::with_network());
        let seen = world.watch_containers();
        let fault = Fault {
            at: At::Call(nth),
            kind,
        };
        let why = format!("{fault:?}, {next:?}");
        let cycle = world.cycle_kept().unwrap();
        world.engine.order(Some(fault));
        let end = world.gate_and_ahead(cycle.collected, ApplyMode::Auto);
        let is_over = !world.engine.met();
        world.engine.order(None);
        assert_eq!(end.unwrap().exit_code, ExitCode::SUCCESS, "{why}");
        if is_over {
            assert!(world.next_container().is_some() && !world.is_partial());
            return nth - 1;
        }
        assert!(world.next_container().is_none(), "{why}");
        if kind != Kind::Died {
            assert!(!world.is_partial(), "{why}");
            assert_eq!(world.left().len(), 1, "{why}: {:?}", world.left());
        }
        clear(&world, next, &why);
        world.run_kept();
        assert!(world.next_container().is_some(), "{why}");
        let numbers = seen.lock().unwrap().clone();
        assert!(numbers[1] > numbers[0], "{why}: {numbers:?}");
        assert_eq!(world.left().len(), 4, "{why}: {:?}", world.left());
    }
    unreachable!("some call is the last one")
}

fn clear(world: &World, next: Next, why: &str) {
    let was_partial = world.is_partial();
    match next {
        // It sees to that itself.
        Next::Run => return,
        Next::Recover => {
            let resumed = world.resume().unwrap();
            match was_partial {
                true => assert!(
                    matches!(resumed, RecoverOutcome::Cleaned(_)),
                    "{why}: {resumed:?}"
                ),
                false => assert!(
                    matches!(resumed, RecoverOutcome::Unchanged(_)),
                    "{why}: {resumed:?}"
                ),
            }
        }
        Next::Prune => {
            let session = world.lock().unwrap();
            let swept = sweep(&*world.cx().engine, &session).unwrap();
            assert_eq!(swept, None, "{why}");
        }
    }
    assert!(!world.is_partial(), "{why}");
    assert_eq!(world.left().len(), 1, "{why}: {:?}", world.left());
}

/// Each call fails before the command of a run that would take one starts.
#[test]
fn flt_09_whatever_fails_while_it_is_taken_no_two_commands_run_in_it() {
    let kinds = [Kind::Refused, Kind::Lost, Kind::AnswerLost, Kind::Died];
    std::thread::scope(|scope| {
        // At once, as above.
        for kind in kinds {
            for first in 1..=AT_ONCE {
                scope.spawn(move || taken_at_each(kind, first));
            }
        }
    });
}

const AT_ONCE: usize = 8;

fn taken_at_each(kind: Kind, first: usize) {
    for nth in (first..).step_by(AT_ONCE) {
        let world = with_pool(World::with_network());
        let seen = world.watch_containers();
        world.run_kept();
        tree_text::build("f notes.txt \"mine\\n\"", &world.path("workspace"));
        let fault = Fault {
            at: At::Call(nth),
            kind,
        };
        world.engine.order(Some(fault));
        let ran = world.cycle_kept();
        let is_over = !world.engine.met();
        world.engine.order(None);
        drop(ran);
        let phase = world.phase().unwrap();
        if !matches!(phase, Phase::Collected | Phase::Settled) {
            drop(world.resume().unwrap());
        }
        let (_, end) = world.run_kept();
        assert_eq!(end.exit_code, ExitCode::SUCCESS, "{fault:?}");
        let mut numbers = seen.lock().unwrap().clone();
        let runs = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), runs, "{fault:?}: {numbers:?}");
        assert!(world.workspace().contains("mine"), "{fault:?}");
        assert_eq!(world.left().len(), 4, "{fault:?}: {:?}", world.left());
        if is_over {
            assert!(nth > 2 * AT_ONCE, "{nth}");
            return;
        }
    }
}

#[test]
fn flt_07_a_disk_that_takes_no_word_of_it_leaves_no_container() {
    for name in ["spare", "spare.partial"] {
        let world = with_pool(World::new());
        let _seen = world.watch_containers();
        let cycle = world.cycle_kept().unwrap();
        let path = world.path("state/sessions/shop").join(name);
        fs::create_dir_all(path.join("in the way")).unwrap();
        let end = world.gate_and_ahead(cycle.collected, ApplyMode::Auto);
        assert_eq!(end.unwrap().exit_code, ExitCode::SUCCESS);
        assert_eq!(world.left().len(), 1, "{name}: {:?}", world.left());
        fs::remove_dir_all(&path).unwrap();
        world.run_kept();
        assert!(world.next_container().is_some(), "{name}");
    }
}

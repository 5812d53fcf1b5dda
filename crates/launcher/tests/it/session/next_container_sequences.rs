//! Any sequence of runs, edits, sweeps, drains, restarts of the engine and deaths of the
//! launcher: a model says what waits, and no container ever sees two commands.

use std::collections::BTreeMap;

use lazaret_launcher::profile::ApplyMode;
use lazaret_runtime::{ContainerState, Engine as _};
use lazaret_session::lifecycle::recover::sweep as sweep_store;
use lazaret_session::pool::drop_next_container;
use lazaret_tests::{Random, tree_text};

use super::flaky::{At, Fault, Kind};
use super::next_container::with_pool;
use super::world::World;

/// Sequences of an ordinary run; `LAZARET_SEQUENCES` sets another number.
const SEQUENCES: u64 = 30;
const STEPS: usize = 10;

/// What is known of the next container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// There is none, whatever is left of one.
    None,
    /// It waits, made from these limits.
    Ready(u32),
}

#[derive(Debug, Default)]
struct Counts {
    taken: usize,
    made: usize,
    killed: usize,
}

#[test]
fn every_sequence_ends_as_the_model_says() {
    // At once: a launcher that dies takes its time, and does nothing in it.
    let (all, at_once) = (sequences(), 10);
    let counts = std::thread::scope(|scope| {
        let threads = (0..at_once).map(|first| {
            scope.spawn(move || {
                let mut counts = Counts::default();
                for seed in (first..all).step_by(at_once as usize) {
                    play(seed, &mut counts);
                }
                counts
            })
        });
        let threads: Vec<_> = threads.collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.fold(Counts::default(), |one, other| Counts {
            taken: one.taken + other.taken,
            made: one.made + other.made,
            killed: one.killed + other.killed,
        })
    });
    println!("{counts:?}");
    assert!(counts.taken > 20 && counts.made > 20, "{counts:?}");
    assert!(counts.killed > 5, "{counts:?}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no `main` that could read it"
)]
fn sequences() -> u64 {
    let wanted = std::env::var("LAZARET_SEQUENCES").ok();
    wanted.map_or(SEQUENCES, |text| text.parse().expect("a number"))
}

fn play(seed: u64, counts: &mut Counts) {
    let random = &mut Random::new(seed);
    let mut world = with_pool(match random.below(3) {
        0 => World::with_network(),
        _ => World::new(),
    });
    let seen = world.watch_containers();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut next = Next::None;
    let mut is_new = true;
    for step in 0..STEPS {
        let what = format!("seed {seed}, step {step}");
        match random.below(12) {
            0..=4 => {
                let limit = world.limits.pids;
                let takes = next == Next::Ready(limit);
                let before = if is_new { 0 } else { world.agents() };
                // The launcher dies at some call while it makes the next one, or does not.
                let dies = random.below(4) == 0;
                let cycle = world.cycle_kept().unwrap();
                assert_eq!(world.agents() == before, takes, "{what}: {next:?}");
                is_new = false;
                if dies {
                    let nth = random.below(4) + 1;
                    world.engine.order(Some(Fault {
                        at: At::Call(nth),
                        kind: Kind::Died,
                    }));
                }
                world
                    .gate_and_ahead(cycle.collected, ApplyMode::Auto)
                    .unwrap();
                let died = dies && world.engine.met();
                world.engine.order(None);
                next = match died {
                    true => Next::None,
                    false => Next::Ready(limit),
                };
                counts.taken += usize::from(takes);
                counts.made += usize::from(!takes);
                counts.killed += usize::from(died);
                let number = *seen.lock().unwrap().last().unwrap();
                files.insert(format!("agent-{number}"), "work\n".to_owned());
            }
            5 | 6 => {
                let (name, text) = (format!("host-{}", random.below(3)), format!("{step}\n"));
                let line = format!("f {name} {text:?}");
                tree_text::build(&line, &world.path("workspace"));
                files.insert(name, text);
            }
            7 => sweep_store(&world.cx(), &world.store).unwrap(),
            _ if is_new => {}
            8 => drop(world.resume().unwrap()),
            9 => {
                let session = world.lock().unwrap();
                drop_next_container(&*world.cx().engine, &session).unwrap();
                next = Next::None;
            }
            10 => {
                let [agent, _] = world.containers();
                let ended = ContainerState::Exited {
                    code: 137,
                    oom_killed: false,
                };
                match random.below(2) {
                    0 => world.engine.fake.end_container(&agent, ended),
                    _ => world.engine.fake.remove_container(&agent).unwrap(),
                }
                next = Next::None;
            }
            _ => world.limits.pids = 64 + u32::from(random.below(2) == 1),
        }
        let mut numbers = seen.lock().unwrap().clone();
        let runs = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), runs, "{what}: twice in one");
    }
    let workspace = world.workspace();
    for (name, text) in &files {
        let line = format!("f {name} {text:?}");
        assert!(
            workspace.contains(&line),
            "seed {seed}: {line}\n{workspace}"
        );
    }
}

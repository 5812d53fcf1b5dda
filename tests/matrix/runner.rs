//! Runs scenarios, a few at a time, and gathers what became of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::api;
use crate::cluster::Cluster;
use crate::ctx::Ctx;
use crate::engine::EngineName;
use crate::flaky;
use crate::options::{Again, Mode, Options, Spread};
use crate::report::{self, Row};
use crate::scenarios::{self, Asks, Scenario};

/// What comes from the environment.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) bin: PathBuf,
    pub(crate) path: String,
    /// `CARGO_HOME`.
    pub(crate) cargo_home: PathBuf,
    /// `RUSTUP_HOME`: where the toolchain is that the image `rust` may be made of.
    pub(crate) rustup_home: PathBuf,
    /// `XDG_STATE_HOME`, where `cargo xtask setup` keeps the engines that it started.
    pub(crate) state_home: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Green,
    Red,
}

/// Runs what `options` asks for.
///
/// # Errors
/// Nothing could be run at all.
pub(crate) fn run(options: &Options, setup: &Setup) -> Result<Outcome, String> {
    for known in flaky::KNOWN {
        let _exists = selected(&[known.scenario.to_owned()])?;
    }
    let scenarios = selected(&options.scenarios)?;
    if options.mode == Mode::List {
        for scenario in scenarios {
            println!("{}", scenario.name);
        }
        return Ok(Outcome::Green);
    }
    let cache = cache(setup)?;

    let mut rows = Vec::new();
    let mut ready = Vec::new();
    for engine in &options.engines {
        let row = timed(*engine, "engine and images", || {
            prepare(*engine, "image build", setup, &cache)
        });
        // Without its engine no scenario can pass: each of them fails, none is left out.
        match &row.outcome {
            Ok(()) => ready.push(*engine),
            Err(_) => rows.extend(scenarios.iter().map(|scenario| Row {
                engine: *engine,
                scenario: scenario.name.to_owned(),
                outcome: Err("the engine is not ready".to_owned()),
                before: None,
                took: std::time::Duration::ZERO,
            })),
        }
        rows.push(row);
    }
    let work = spread(&scenarios, &ready, options.spread);
    for engine in &ready {
        let others = scenarios
            .iter()
            .filter(|scenario| !engine.runs(scenario.name));
        for scenario in others {
            println!("n/a    {engine:15} {}", scenario.name);
        }
    }
    let mut done = run_all(&work, options.jobs, setup, &cache);
    if options.again == Again::Once {
        run_again(&mut done, &scenarios, setup, &cache);
    }
    rows.extend(done);
    rows.sort_by_key(|row| {
        let name = scenarios
            .iter()
            .position(|scenario| scenario.name == row.scenario);
        (
            name,
            options
                .engines
                .iter()
                .position(|engine| *engine == row.engine),
        )
    });
    finish(&rows, options)
}

/// Returns what runs where. Neighbours in the list wait for different engines.
fn spread(
    scenarios: &[&'static Scenario],
    engines: &[EngineName],
    spread: Spread,
) -> Vec<(EngineName, &'static Scenario)> {
    let mut turns = engines.iter().cycle();
    let mut work = Vec::new();
    for scenario in scenarios.iter().copied() {
        let engines = engines.iter().filter(|engine| engine.runs(scenario.name));
        match (spread, scenario.asks) {
            (Spread::InTurn, Asks::AnyEngine) => {
                work.extend(turns.next().map(|engine| (*engine, scenario)));
            }
            (Spread::All, _) | (Spread::InTurn, Asks::EachEngine) => {
                work.extend(engines.map(|engine| (*engine, scenario)));
            }
        }
    }
    work
}

fn finish(rows: &[Row], options: &Options) -> Result<Outcome, String> {
    for row in rows {
        if let Some(before) = &row.before {
            println!(
                "\n---- {} on {}, the first time\n{before}",
                row.scenario, row.engine
            );
        }
        if let Err(message) = &row.outcome {
            println!("\n---- {} on {}\n{message}", row.scenario, row.engine);
        }
    }
    println!("\n{}", report::table(rows, &options.engines));
    if let Some(directory) = &options.report {
        report::write(rows, directory)?;
    }
    // What a reader of the last lines needs comes last.
    let unexplained = |row: &&Row| row.is_flaky() && flaky::reason(&row.scenario).is_none();
    for row in rows.iter().filter(|row| row.is_flaky()) {
        let (name, engine) = (&row.scenario, row.engine);
        match flaky::reason(name) {
            Some(reason) => println!("{name} on {engine} failed once, as it may: {reason}"),
            None => println!(
                "{name} on {engine} failed once and passed once: find the cause, or put it into \
                 tests/matrix/flaky.rs with a reason\n  {}",
                shortened(row.before.as_deref().unwrap_or_default())
            ),
        }
    }
    let failures = rows
        .iter()
        .filter_map(|row| Some((row, row.outcome.as_ref().err()?)));
    for (row, message) in failures.clone() {
        let (name, engine) = (&row.scenario, row.engine);
        println!("{name} on {engine} failed\n  {}", shortened(message));
    }
    let failed = failures.count() + rows.iter().filter(unexplained).count();
    println!("{} passed, {failed} failed", rows.len() - failed);
    Ok(match failed {
        0 => Outcome::Green,
        _ => Outcome::Red,
    })
}

/// What the end of the output has of a message, in one line.
fn shortened(message: &str) -> String {
    const MOST: usize = 400;
    let line = message.escape_debug().to_string().replace("\\n", " | ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// # Errors
/// A name that is part of no scenario's name: a typing error must not look like success.
fn selected(wanted: &[String]) -> Result<Vec<&'static Scenario>, String> {
    let all: Vec<&Scenario> = scenarios::ALL.iter().copied().flatten().collect();
    for part in wanted {
        if !all
            .iter()
            .any(|scenario| scenario.name.contains(part.as_str()))
        {
            return Err(format!(
                "no scenario has `{part}` in its name; --list shows them"
            ));
        }
    }
    Ok(all
        .into_iter()
        .filter(|scenario| {
            wanted.is_empty()
                || wanted
                    .iter()
                    .any(|part| scenario.name.contains(part.as_str()))
        })
        .collect())
}

/// Makes the cache of the images, which are built once per engine: what they were built from is
/// kept for the next.
///
/// # Errors
/// It can't be made.
pub(crate) fn cache(setup: &Setup) -> Result<PathBuf, String> {
    let cache = setup.bin.with_file_name("matrix-cache");
    std::fs::create_dir_all(&cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    Ok(cache)
}

/// Builds images on an engine, by this call of lazaret.
///
/// # Errors
/// The engine does not answer, or an image can't be built.
pub(crate) fn prepare(
    engine: EngineName,
    build: &str,
    setup: &Setup,
    cache: &Path,
) -> Result<(), String> {
    let socket = engine.socket();
    if !api::answers(&socket) {
        return Err(format!(
            "{engine} does not answer on {}; `cargo xtask setup` starts it",
            socket.display()
        ));
    }
    if let Some(cluster) = Cluster::at(&socket) {
        return import(&cluster, setup, cache);
    }
    let ctx = Ctx::new(engine, setup, cache)?;
    ctx.ok(build)?;
    ctx.check_clean()
}

/// Builds the images with Docker, and imports them into every node.
fn import(cluster: &Cluster, setup: &Setup, cache: &Path) -> Result<(), String> {
    let ctx = Ctx::new(EngineName::Docker, setup, cache)?;
    for name in ["porter", "base"] {
        let file = ctx.home().join(format!("{name}.tar"));
        let output = file.display().to_string();
        ctx.ok(&["image", "export", name, "--output", &output][..])?;
        cluster.import(&file)?;
    }
    Ok(())
}

fn run_all(work: &[(EngineName, &Scenario)], jobs: usize, setup: &Setup, cache: &Path) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((engine, scenario)) = work.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let row = timed(*engine, scenario.name, || {
                        run_one(*engine, scenario, setup, cache)
                    });
                    rows.lock()
                        .expect("no thread panics with the lock held")
                        .push(row);
                }
            });
        }
    });
    rows.into_inner().expect("all threads are done")
}

/// Runs what failed once more, one at a time. More failures than a few are no accident, and
/// stand as they are.
fn run_again(rows: &mut [Row], scenarios: &[&Scenario], setup: &Setup, cache: &Path) {
    const MOST: usize = 6;
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    if failed > MOST {
        return;
    }
    for row in rows {
        let Some(scenario) = scenarios.iter().find(|one| one.name == row.scenario) else {
            continue;
        };
        if let Err(message) = &row.outcome {
            let before = message.clone();
            *row = timed(row.engine, scenario.name, || {
                run_one(row.engine, scenario, setup, cache)
            });
            row.before = Some(before);
        }
    }
}

/// The scenario, then a look for what it left behind; a panic is a failure like any other.
fn run_one(
    engine: EngineName,
    scenario: &Scenario,
    setup: &Setup,
    cache: &Path,
) -> Result<(), String> {
    let ctx = Ctx::new(engine, setup, cache)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&ctx)));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    });
    match (outcome, ctx.check_clean()) {
        (Ok(()), clean) => clean,
        (Err(message), Ok(())) => Err(message),
        (Err(message), Err(left)) => Err(format!("{message}\n{left}")),
    }
}

fn timed(engine: EngineName, name: &str, run: impl FnOnce() -> Result<(), String>) -> Row {
    let start = Instant::now();
    let outcome = run();
    let took = start.elapsed();
    let word = match outcome {
        Ok(()) => "ok",
        Err(_) => "FAILED",
    };
    println!("{word:6} {engine:15} {name} ({:.1} s)", took.as_secs_f64());
    Row {
        engine,
        scenario: name.to_owned(),
        outcome,
        before: None,
        took,
    }
}

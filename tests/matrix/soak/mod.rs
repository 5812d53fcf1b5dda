//! The soak: sessions work, and every few seconds SIGKILL hits a random part of one. At the end
//! all that was acknowledged is there, and nothing else is left.

mod client;
mod keeper;
mod options;
mod parts;
mod said;
mod session;
mod work;

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lazaret_tests::Random;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::engine::EngineName;
use crate::runner::{self, Outcome, Setup};
use options::Options;
pub(crate) use options::seed;
use session::Session;

/// At most so many milliseconds are between a part that is back and the next that is killed.
const BETWEEN: usize = 4000;

/// Builds the images of the sessions.
const IMAGES: &str = "image build porter base postgres";

/// What is soaked, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Of the order of the kills.
    pub(crate) seed: u64,
    pub(crate) sessions: usize,
    pub(crate) lasts: Duration,
}

/// Soaks the engines that the arguments name, side by side, and tells what happens.
///
/// # Errors
/// An argument makes no sense, or an engine is not ready.
pub(crate) fn run(
    arguments: impl Iterator<Item = String>,
    setup: &Setup,
) -> Result<Outcome, String> {
    let options = Options::parse(arguments)?;
    let cache = runner::cache(setup)?;
    for engine in &options.engines {
        runner::prepare(*engine, IMAGES, setup, &cache)?;
    }
    println!("seed {}: --seed {0} repeats its choices", options.seed);
    let count = options.engines.len();
    let failed = Mutex::new(false);
    std::thread::scope(|scope| {
        for (index, engine) in options.engines.iter().enumerate() {
            let plan = Plan {
                seed: options.seed.wrapping_add(index as u64),
                sessions: options.sessions / count + usize::from(index < options.sessions % count),
                lasts: options.lasts,
            };
            let (cache, failed) = (&cache, &failed);
            scope.spawn(move || {
                if let Err(message) = on_engine(*engine, plan, setup, cache) {
                    println!("---- {engine}\n{message}");
                    *failed.lock().expect("no thread panics with the lock held") = true;
                }
            });
        }
    });
    Ok(match failed.into_inner().expect("all threads are done") {
        true => Outcome::Red,
        false => Outcome::Green,
    })
}

fn on_engine(engine: EngineName, plan: Plan, setup: &Setup, cache: &Path) -> Result<(), String> {
    let ctx = Ctx::new(engine, setup, cache)?;
    let begun = Instant::now();
    let outcome = soak(&ctx, plan, |what| {
        println!("{:7.1} s {engine:15} {what}", begun.elapsed().as_secs_f64());
    });
    outcome.and_then(|()| ctx.check_clean())
}

/// Soaks as a scenario. What happened is told where it fails.
pub(crate) fn scenario(ctx: &Ctx, plan: Plan) -> Result<(), String> {
    let told = std::cell::RefCell::new(Vec::new());
    let soaked = soak(ctx, plan, |what| told.borrow_mut().push(what.to_owned()));
    soaked.map_err(|error| {
        let told = told.take().join("\n");
        format!("{error}\nseed {}:\n{told}", plan.seed)
    })
}

fn soak(ctx: &Ctx, plan: Plan, tell: impl Fn(&str)) -> Result<(), String> {
    let soaked = work_and_kill(ctx, plan, tell);
    if soaked.is_err() {
        // What it failed of counts more than what this meets.
        let _second = end_all(ctx);
    }
    soaked
}

/// Ends and removes what a soak that failed has left running, in whatever state it is.
fn end_all(ctx: &Ctx) -> Result<(), String> {
    let listed = ctx.run_json(&["--json", "ls"])?;
    for session in listed.as_array().into_iter().flatten() {
        let name = session["session"].as_str().unwrap_or_default();
        for verb in [
            &["stop", "--kill"][..],
            &["recover"],
            &["rm", "--force", "--no-capture"],
        ] {
            let _any = ctx.lazaret(&[verb, &[name]].concat())?.output();
        }
    }
    Ok(())
}

fn work_and_kill(ctx: &Ctx, plan: Plan, tell: impl Fn(&str)) -> Result<(), String> {
    let mut random = Random::new(plan.seed);
    work::profiles(ctx)?;
    let mut sessions = Vec::new();
    for number in 0..plan.sessions {
        sessions.push(Session::start(ctx, number, &mut random)?);
    }
    tell(&format!("{} sessions run", sessions.len()));
    for session in &mut sessions {
        session.looks_at_keeper(&mut random)?;
    }
    let end = Instant::now() + plan.lasts;
    while Instant::now() < end && !sessions.is_empty() {
        std::thread::sleep(Duration::from_millis(random.below(BETWEEN) as u64));
        let chosen = random.below(sessions.len());
        let session = &mut sessions[chosen];
        let part = random.pick(session.parts());
        let of = format!("{part:?} of {} ({:?})", session.name, session.kind);
        let lost = session.lose(part, &mut random);
        if lost.map_err(|error| format!("{of} was killed: {error}"))? {
            tell(&format!("{of} was killed, and the session goes on"));
        }
        session.goes_on()?;
    }
    for session in &mut sessions {
        session.looks_at_keeper(&mut random)?;
    }
    let agents = ctx.objects()?;
    let agents = agents.iter().map(ToString::to_string);
    let agents = agents.filter(|object| object.ends_with("-agent")).count();
    expect_eq("containers of commands", &agents, &sessions.len())?;
    for session in sessions {
        let (name, kind) = (session.name.clone(), session.kind);
        let said = session
            .ends()
            .map_err(|error| format!("{name} ({kind:?}): {error}"))?;
        tell(&format!(
            "{name} ({kind:?}): {} starts, {} lines, {} files, {} rows, {} commits are there",
            said.counted.len(),
            said.counted.values().sum::<u64>(),
            said.files.len(),
            said.rows.len(),
            said.commits.len()
        ));
    }
    let objects = ctx.objects()?;
    expect(&format!("nothing is on the engine: {objects:?}"), || {
        objects.is_empty()
    })?;
    no_process_is_left(ctx)
}

/// No process has this soak's state in its environment.
fn no_process_is_left(ctx: &Ctx) -> Result<(), String> {
    let state = ctx.state();
    let state = state.parent().unwrap_or(&state).as_os_str();
    let state = format!("XDG_STATE_HOME={}", state.display());
    crate::watch::wait_until("no process is left", || {
        Ok(!parts::processes().any(|process| {
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == state.as_bytes())
        }))
    })
}

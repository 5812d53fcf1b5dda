//! The time limit of a command whose launcher is killed or stopped (FLT-27).

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Call;
use crate::terminal::Person;

scenarios! {
    "deadline/launcher-killed" => |ctx| flt_27_launcher_killed(ctx, |call| call);
    "deadline/launcher-killed-engine-starts" => |ctx| flt_27_launcher_killed(ctx, by_the_engine);
    "deadline/launcher-stopped" => |ctx| flt_27_launcher_stopped(ctx, |call| call);
    "deadline/launcher-stopped-engine-starts" => |ctx| flt_27_launcher_stopped(ctx, by_the_engine);
    "deadline/launcher-killed-on-a-terminal" => flt_27_launcher_killed_on_a_terminal;
}

/// The engine starts the command, as where no PID 1 can be reached.
fn by_the_engine(call: Call) -> Call {
    call.env("LAZARET_STARTER", "engine")
}

/// Long enough to signal the launcher before.
const TIMEOUT: &str = "6s";

/// The grace and the margin, on a busy machine.
const SOON: Duration = Duration::from_secs(90);

/// Leaves another process behind, which has to go too.
const SCRIPT: &str = "echo work >> a; setsid sleep 600 & echo hello; sleep 600";

const TREE: &str = "f a \"a\\n\"";

/// The arguments of a run of `script`.
fn run<'a>(profile: &'a str, more: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let start = ["run", profile, "-w", "project", "--name", "s"];
    let rest = ["--", "sh", "-c", script];
    [&start[..], &["--timeout", TIMEOUT], more, &rest].concat()
}

/// Waits until the command's container has ended: then none of its processes is left.
fn until_ended(ctx: &Ctx) -> Result<(), String> {
    let objects = ctx.objects()?;
    let agent = objects.iter().find_map(|object| match object {
        Object::Container { id, name } if name.ends_with("-agent") => Some(id),
        _ => None,
    });
    let agent = agent.ok_or("there is no container of the command")?;
    let give_up = Instant::now() + SOON;
    loop {
        let path = format!("/containers/{agent}/json");
        let found = api::get(&ctx.engine().socket(), &path)?;
        let state = &found["State"];
        if state["Status"] == json!("exited") {
            return expect_eq("what PID 1 ended with", &state["ExitCode"], &38);
        }
        if Instant::now() > give_up {
            return Err(format!("the command still runs after {SOON:?}: {state}"));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What the command did is collected afterwards.
fn recovers(ctx: &Ctx) -> Result<(), String> {
    let recovered = ctx.ok("recover s")?;
    recovered.expect_text("collected")?;
    let shown = ctx.run_json("diff s --json")?;
    expect_eq("the change", &shown["changes"]["modified"], &json!(["a"]))?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn flt_27_launcher_killed(ctx: &Ctx, way: fn(Call) -> Call) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = way(ctx.call(&run("base", &[], SCRIPT))).start()?;
    lazaret.until_said("hello")?;
    lazaret.signal(Signal::KILL)?;
    lazaret.ends()?;
    until_ended(ctx)?;
    recovers(ctx)
}

/// A launcher that goes on says what it would have said.
fn flt_27_launcher_stopped(ctx: &Ctx, way: fn(Call) -> Call) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let arguments = run("base", &["--apply", "auto", "--json"], SCRIPT);
    let lazaret = way(ctx.call(&arguments)).start()?;
    lazaret.wait_until("the command says hello", SOON, || {
        lazaret.output_so_far().lines().any(|line| line == "hello")
    })?;
    lazaret.signal(Signal::STOP)?;
    let ended = until_ended(ctx);
    lazaret.signal(Signal::CONT)?;
    let output = lazaret.wait()?;
    ended?;
    let output = output.expect_code(124)?;
    expect("the report says so", || {
        output.stdout.contains("\"timed_out\": true")
            || output.stdout.contains("\"timed_out\":true")
    })
}

/// Such a command is started by an exec of its own.
fn flt_27_launcher_killed_on_a_terminal(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("shell", "image = \"base\"\n");
    let person = Person::sit_down(80, 24)?;
    let arguments = run("shell", &["--terminal"], SCRIPT);
    let lazaret = ctx
        .call(&arguments)
        .on_terminal(person.terminal()?)
        .start()?;
    person.waits_for("hello")?;
    lazaret.signal(Signal::KILL)?;
    lazaret.ends()?;
    until_ended(ctx)?;
    recovers(ctx)
}

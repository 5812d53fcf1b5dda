//! What ends a command whose launcher is killed or stopped: PID 1's lifeline, and its time limit
//! (FLT-10, FLT-27).

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Call;
use crate::terminal::Person;

scenarios! {
    "deadline/launcher-killed" => flt_10_launcher_killed;
    "deadline/launcher-killed-engine-starts" => flt_27_launcher_killed;
    "deadline/launcher-stopped" => |ctx| flt_27_launcher_stopped(ctx, |call| call);
    "deadline/launcher-stopped-engine-starts" => |ctx| flt_27_launcher_stopped(ctx, by_the_engine);
    "deadline/launcher-killed-on-a-terminal" => |ctx| flt_10_on_a_terminal(ctx, |call| call);
    "deadline/launcher-killed-on-a-terminal-engine-starts" => |ctx| flt_10_on_a_terminal(ctx, by_the_engine);
}

/// The engine starts the command, as where no PID 1 can be reached.
fn by_the_engine(call: Call) -> Call {
    call.env("LAZARET_STARTER", "engine")
}

/// Long enough to signal the launcher before.
const TIMEOUT: &str = "6s";

/// No test waits for it.
const NO_TIMEOUT: &str = "1h";

/// What PID 1 ends with when it ended the command at its deadline.
const TIMED_OUT: i32 = 38;

/// The grace and the margin, on a busy machine.
const SOON: Duration = Duration::from_secs(90);

/// Leaves another process behind, which has to go too.
const SCRIPT: &str = "echo work >> a; setsid sleep 600 & echo hello; sleep 600";

const TREE: &str = "f a \"a\\n\"";

/// The arguments of a run.
fn run<'a>(profile: &'a str, timeout: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let start = ["run", profile, "-w", "project", "--name", "s"];
    let rest = ["--", "sh", "-c", SCRIPT];
    [&start[..], &["--timeout", timeout], more, &rest].concat()
}

/// Returns the id of the command's container.
fn agent(ctx: &Ctx) -> Result<String, String> {
    let objects = ctx.objects()?;
    let agent = objects.into_iter().find_map(|object| match object {
        Object::Container { id, name } if name.ends_with("-agent") => Some(id),
        _ => None,
    });
    agent.ok_or_else(|| "there is no container of the command".to_owned())
}

/// Waits until the command's container has ended: then none of its processes is left. Its PID 1
/// has ended with `code`.
fn until_ended(ctx: &Ctx, code: i32) -> Result<(), String> {
    let agent = agent(ctx)?;
    let give_up = Instant::now() + SOON;
    loop {
        let path = format!("/containers/{agent}/json");
        let found = api::get(&ctx.engine().socket(), &path)?;
        let state = &found["State"];
        if state["Status"] == json!("exited") {
            return expect_eq("what PID 1 ended with", &state["ExitCode"], &code);
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

/// The launcher's end of PID 1's channel goes with it, long before the time limit.
fn flt_10_launcher_killed(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = ctx.call(&run("base", NO_TIMEOUT, &[])).start()?;
    lazaret.until_said("hello")?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    until_ended(ctx, 0)?;
    recovers(ctx)
}

/// Where the engine starts the command, PID 1 has the time limit.
fn flt_27_launcher_killed(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = by_the_engine(ctx.call(&run("base", TIMEOUT, &[]))).start()?;
    lazaret.until_said("hello")?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    until_ended(ctx, TIMED_OUT)?;
    recovers(ctx)
}

/// A launcher that goes on says what it would have said.
fn flt_27_launcher_stopped(ctx: &Ctx, way: fn(Call) -> Call) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let arguments = run("base", TIMEOUT, &["--apply", "auto", "--json"]);
    let lazaret = way(ctx.call(&arguments)).start()?;
    lazaret.wait_until("the command says hello", SOON, || {
        lazaret.output_so_far().lines().any(|line| line == "hello")
    })?;
    lazaret.signal_keeper(Signal::STOP)?;
    let ended = until_ended(ctx, TIMED_OUT);
    lazaret.signal_keeper(Signal::CONT)?;
    let output = lazaret.wait()?;
    ended?;
    let output = output.expect_code(124)?;
    expect("the report says so", || {
        output.stdout.contains("\"timed_out\": true")
            || output.stdout.contains("\"timed_out\":true")
    })
}

/// A terminal's seat ends its command when its host is gone, whatever started the seat.
fn flt_10_on_a_terminal(ctx: &Ctx, way: fn(Call) -> Call) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("shell", "image = \"base\"\n");
    let person = Person::sit_down(80, 24)?;
    // What has left the terminal's session ends with the container.
    let script = "echo work >> a; trap 'echo bye >> a; exit' HUP TERM; echo hello; \
                  while :; do sleep 0.2; done";
    let arguments = [
        "run",
        "shell",
        "-w",
        "project",
        "--name",
        "s",
        "--timeout",
        NO_TIMEOUT,
        "--terminal",
        "--",
        "sh",
        "-c",
        script,
    ];
    let call = way(ctx.call(&arguments));
    let lazaret = call.on_terminal(person.terminal()?).start()?;
    person.waits_for("hello")?;
    let agent = agent(ctx)?;
    ctx.kill_keeper("s")?;
    lazaret.wait()?.expect_code(125)?;
    let give_up = Instant::now() + SOON;
    while runs(ctx, &agent, "sleep 0.2")? {
        expect("the command ends", || Instant::now() < give_up)?;
        std::thread::sleep(Duration::from_millis(200));
    }
    recovers(ctx)
}

/// Whether a container runs, and has a process of this command line.
fn runs(ctx: &Ctx, container: &str, line: &str) -> Result<bool, String> {
    let path = format!("/containers/{container}/json");
    let found = api::get(&ctx.engine().socket(), &path)?;
    if found["State"]["Status"] != json!("running") {
        return Ok(false);
    }
    let path = format!("/containers/{container}/top?ps_args=-ef");
    // One that ends in this moment has none.
    let listed = api::get(&ctx.engine().socket(), &path).unwrap_or_default();
    Ok(listed.to_string().contains(line))
}

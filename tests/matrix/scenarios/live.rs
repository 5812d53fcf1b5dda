//! Looking at a command that runs: what is seen, that it goes on unharmed, and what a look
//! that was killed leaves behind.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::engine::EngineName;
use crate::lazaret::Running;
use crate::watch::{SOON, sparse};

scenarios! {
    "live/diff-while-the-command-runs" => diff;
    "live/watch-until-the-command-ends" => watch;
    "live/nothing-moves-while-it-is-looked-at" => still;
    "live/two-watches-at-once" => two;
    "live/ctrl-c-on-a-watch" => interrupted;
    "live/killed-while-the-command-is-paused" => killed;
    "live/a-paused-command-hears-the-end" => paused_and_ended;
    "live/nothing-to-look-at" => nothing;
    "live/over-the-limits" => over_the_limits;
}

const TREE: &str = "f a \"a\\n\"\n";

/// Counts in `b` and on stdout, in ever the same time.
const COUNT: &str = "i=0; while :; do i=$((i+1)); echo $i > b; echo \"tick $i\"; sleep 0.05; done";

/// Starts [`COUNT`], or what begins with it, as session `s`.
fn counting(ctx: &Ctx, profile: &str, script: &str) -> Result<(PathBuf, Running), String> {
    let workspace = ctx.workspace("project", TREE);
    let running = ctx
        .script(
            &format!("run {profile} -w project --name s --apply never --timeout 10m"),
            script,
        )
        .start()?;
    running.until_said("tick 2\n")?;
    Ok((workspace, running))
}

/// How far the command has counted.
fn ticks(running: &Running) -> u64 {
    let said = running.stdout_so_far();
    let last = said
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("tick "));
    last.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Waits until the command has gone on counting.
fn goes_on(running: &Running) -> Result<(), String> {
    let before = ticks(running);
    running.wait_until("the command goes on", SOON, || ticks(running) > before + 2)
}

/// The command's container.
fn agent(ctx: &Ctx) -> Result<Object, String> {
    let mut objects = ctx.objects()?.into_iter();
    let agent = objects.find(|object| object.to_string().ends_with("-agent"));
    agent.ok_or_else(|| "the command has no container".to_owned())
}

/// Ends the command with Ctrl-C: its changes are kept.
fn end(ctx: &Ctx, running: Running) -> Result<(), String> {
    running.signal(Signal::INT)?;
    running.wait()?.expect_code(130)?;
    ctx.ok("rm --force s")?;
    Ok(())
}

fn diff(ctx: &Ctx) -> Result<(), String> {
    let (workspace, running) = counting(ctx, "base", COUNT)?;
    ctx.ok("diff s")?
        .expect_text("+++ b (new)")?
        .expect_text("live view, paused ")?;
    let report = ctx.run_json("diff s --json")?;
    expect_eq("what is new", &report["changes"]["added"][0], "b")?;
    expect("the pause is shown", || {
        report["live"]["paused_ms"].is_u64()
    })?;
    expect_eq("it has no end yet", &report["exit_code"], &Value::Null)?;
    goes_on(&running)?;
    // Nothing can be decided on it.
    ctx.fails("apply s --yes")?;
    ctx.tree_is(&workspace, TREE)?;
    end(ctx, running)
}

/// The lines of `watch --json` so far.
fn lines(text: &str) -> Result<Vec<Value>, String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}"));
    whole.lines().map(parse).collect()
}

/// Each line tells of a change, and the watch ends with the command.
fn watch(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "until_told() { while [ ! -e /tmp/$1 ]; do sleep 0.05; done; }; echo up; \
        until_told one; echo 1 > b; until_told two; echo more >> a; \
        until_told three; rm a; until_told end";
    let running = ctx
        .script("run base -w project --name s --apply never", script)
        .start()?;
    running.until_said("up")?;
    let watch = ctx.spawn("watch s --interval 1s --json")?;
    let until_seen = |kind: &str, path: &str| {
        watch.wait_until(&format!("{path} was seen as {kind}"), SOON, || {
            let lines = lines(&watch.stdout_so_far()).unwrap_or_default();
            let last = lines
                .last()
                .map(|line| line["seen"]["changes"][kind].clone());
            last.is_some_and(|paths| {
                let mut paths = paths.as_array().into_iter().flatten();
                paths.any(|found| found == path)
            })
        })
    };
    for (word, kind, path) in [
        ("one", "added", "b"),
        ("two", "modified", "a"),
        ("three", "deleted", "a"),
    ] {
        ctx.tell(word)?;
        until_seen(kind, path)?;
    }
    ctx.tell("end")?;
    let lines = lines(&watch.wait()?.expect_code(0)?.stdout)?;
    expect("each line is a change", || {
        let seen = |line: &Value| line["seen"]["changes"].clone();
        lines
            .windows(2)
            .all(|pair| seen(&pair[0]) != seen(&pair[1]))
    })?;
    expect_eq(
        "the last line",
        &lines.last().and_then(|line| line["state"].as_str()),
        &Some("ended"),
    )?;
    running.wait()?.expect_code(120)?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&workspace, "f b \"1\\n\"\n")
}

/// The command puts one number into two files, one after the other: while it is
/// paused, they differ by at most one.
fn still(ctx: &Ctx) -> Result<(), String> {
    let script = "i=0; while :; do i=$((i+1)); for f in b c; do echo $i > t; mv t $f; done; \
        echo \"tick $i\"; done";
    let (_, running) = counting(ctx, "base", script)?;
    for _ in 0..5 {
        let seen = ctx.ok("diff s")?;
        let number = |file: &str| {
            let (_, text) = seen.stdout.split_once(&format!("+++ {file} (new)\n"))?;
            let line = text.lines().nth(1)?;
            line.strip_prefix('+')?.parse::<i64>().ok()
        };
        let (b, c) = (number("b"), number("c"));
        expect(&format!("b and c at most one apart: {b:?} {c:?}"), || {
            b.zip(c).is_some_and(|(b, c)| b == c || b == c + 1)
        })?;
    }
    end(ctx, running)
}

fn two(ctx: &Ctx) -> Result<(), String> {
    let (_, running) = counting(ctx, "base", COUNT)?;
    let watch = || ctx.spawn("watch s --interval 1s --json");
    let watches = [watch()?, watch()?];
    for watch in &watches {
        watch.wait_until("three looks", SOON, || {
            watch.stdout_so_far().lines().count() >= 3
        })?;
    }
    goes_on(&running)?;
    end(ctx, running)?;
    for watch in watches {
        let output = watch.wait()?.expect_code(0)?;
        let lines = lines(&output.stdout)?;
        expect_eq(
            "it says that it has ended",
            &lines.last().and_then(|line| line["state"].as_str()),
            &Some("ended"),
        )?;
    }
    Ok(())
}

fn interrupted(ctx: &Ctx) -> Result<(), String> {
    let (_, running) = counting(ctx, "base", COUNT)?;
    let watch = ctx.spawn("watch s --interval 1s")?;
    watch.wait_until("a look", SOON, || watch.stdout_so_far().contains(" b\n"))?;
    watch.signal(Signal::INT)?;
    watch.wait()?.expect_code(130)?;
    let left = ctx.objects()?;
    expect(&format!("its container is gone: {left:?}"), || {
        !left
            .iter()
            .any(|object| object.to_string().contains("-view-"))
    })?;
    goes_on(&running)?;
    end(ctx, running)
}

/// So much lies in the command's `.git`, where it is hashed and not fetched, that a look
/// takes long enough to be killed in the midst of it.
fn killed(ctx: &Ctx) -> Result<(), String> {
    ctx.profile(
        "roomy",
        "image = \"base\"\n[gate]\nmax_file_bytes = \"3g\"\nmax_bytes = \"3g\"\n",
    );
    let script = format!("mkdir .git; truncate -s 2G .git/big; {COUNT}");
    let (_, running) = counting(ctx, "roomy", &script)?;
    for _ in 0..2 {
        let watch = ctx.spawn("watch s --interval 1s")?;
        watch.wait_until("the command is paused", SOON, || is_paused(ctx))?;
        watch.signal(Signal::KILL)?;
        watch.wait()?.expect_code(137)?;
        goes_on(&running)?;
    }
    // The next view and `prune` find what it left behind.
    let pruned = ctx.run_json("prune --yes --json")?;
    expect("the dead view's container is removed", || {
        let names = pruned["containers"].as_array();
        names.is_some_and(|names| names.len() == 1)
    })?;
    goes_on(&running)?;
    end(ctx, running)
}

/// Whether the command is paused. Where the engine can't pause, its process is stopped.
fn is_paused(ctx: &Ctx) -> bool {
    agent(ctx).is_ok_and(|agent| match ctx.engine() {
        EngineName::PodmanRootless => is_stopped(ctx, &agent),
        _ => api::is_paused(&ctx.engine().socket(), &agent),
    })
}

/// Whether a process that PID 1 of a container has started is stopped by a signal
/// (proc_pid_stat(5): state `T`).
fn is_stopped(ctx: &Ctx, agent: &Object) -> bool {
    let Object::Container { id, .. } = agent else {
        return false;
    };
    let inspected = api::get(&ctx.engine().socket(), &format!("/containers/{id}/json"));
    let first = inspected.unwrap_or_default()["State"]["Pid"]
        .as_u64()
        .unwrap_or_default();
    let started = fs::read_to_string(format!("/proc/{first}/task/{first}/children"));
    started.unwrap_or_default().split(' ').any(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program, in parentheses, may hold anything.
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_some_and(|rest| rest.starts_with('T'))
    })
}

/// Ctrl-C ends a command that another program paused, and so does its time limit.
fn paused_and_ended(ctx: &Ctx) -> Result<(), String> {
    let script = "trap 'echo last words > c; exit 3' TERM; i=0; \
        while :; do i=$((i+1)); echo \"tick $i\"; sleep 0.05; done";
    let (_, running) = counting(ctx, "base", script)?;
    pause(ctx)?;
    running.signal(Signal::INT)?;
    running.wait()?.expect_code(130)?;
    ctx.ok("diff s")?.expect_text("+last words")?;
    ctx.ok("rm --force s")?;
    Ok(())
}

/// Pauses the command's container where the engine can, as a user of another program
/// would.
fn pause(ctx: &Ctx) -> Result<(), String> {
    if ctx.engine() == EngineName::PodmanRootless {
        return Ok(());
    }
    api::pause(&ctx.engine().socket(), &agent(ctx)?)
}

fn nothing(ctx: &Ctx) -> Result<(), String> {
    ctx.fails("watch missing")?;
    let (_, running) = counting(ctx, "base", COUNT)?;
    running.signal_keeper(Signal::KILL)?;
    running.ends()?;
    for verb in ["watch", "diff"] {
        ctx.fails(&format!("{verb} s"))?
            .expect_text("lazaret recover s")?;
    }
    ctx.ok("recover s")?;
    ctx.fails("watch s")?.expect_text("lazaret diff s")?;
    ctx.ok("rm --force s")?;
    let workspace = ctx.workspace("big", "");
    sparse(&workspace.join("big"), 1 << 30)?;
    let preparing = ctx.spawn("run base -w big --name s -- true")?;
    preparing.until_copying_in(ctx)?;
    ctx.fails("watch s")?.expect_text("is being prepared")?;
    preparing.signal(Signal::INT)?;
    preparing.wait()?.expect_code(130)?;
    Ok(())
}

/// The limits of the gate are those of a look, and the command may clean up.
fn over_the_limits(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("tight", "image = \"base\"\n[gate]\nmax_entries = 50\n");
    let script = format!("mkdir d; for n in $(seq 60); do : > d/$n; done; {COUNT}");
    let (_, running) = counting(ctx, "tight", &script)?;
    ctx.fails("diff s")?.expect_text("limit.entries")?;
    goes_on(&running)?;
    running.signal(Signal::INT)?;
    running.wait()?.expect_code(130)?;
    let quarantine = fs::read_dir(ctx.state().join("sessions/s/views"));
    expect("no view is left", || {
        quarantine.map_or(true, |mut views| views.next().is_none())
    })?;
    ctx.ok("rm --force --no-capture s")?;
    Ok(())
}

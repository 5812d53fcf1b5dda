//! A session that fills its volume: paused, said, and then let go on or stopped (CON-28).

use serde_json::Value;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Running;
use crate::watch::SOON;

scenarios! {
    "limits/disk-is-paused-and-goes-on" => bytes;
    "limits/disk-counts-every-volume" => every_volume;
    "limits/inodes-are-paused-and-stopped" => inodes;
    "limits/a-paused-session-whose-keeper-is-killed" => killed;
}

const PROFILE: &str = "image = \"base\"\n[limits]\ndisk = \"64m\"\ninodes = 1000\n";

/// Starts a command in session `s` that fills its volume by `fill`, and then counts.
fn filling(ctx: &Ctx, fill: &str) -> Result<Running, String> {
    ctx.workspace("project", "f a \"a\\n\"");
    ctx.profile("small", PROFILE);
    let script = format!("{fill}; i=0; while :; do i=$((i+1)); echo \"tick $i\"; sleep 0.05; done");
    let run = "run small -w project --name s --apply never --timeout 10m";
    let running = ctx.script(run, &script).start()?;
    // It may be paused before it counts.
    running.wait_until("the session is reached", SOON, || {
        ctx.lazaret("limits s")
            .is_ok_and(|ended| ended.output().code == 0)
    })?;
    ctx.ok("wait s --for disk --timeout 60s")?
        .expect_text("holds more than its limits allow")?;
    Ok(running)
}

/// Copy, kept home, volume and data of a service: none of them is too large by itself.
fn every_volume(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let service = "[services.db]\nimage = \"base\"\ndata = \"/data\"\n\
                   command = [\"sh\", \"-c\", \"head -c 30m /dev/zero > /data/big; exec sleep 600\"]\n";
    let volume = "[[volumes]]\nname = \"v\"\ntarget = \"/v\"\n";
    let profile = "image = \"base\"\nhome.keep = \"session\"\nlimits.disk = \"100m\"\n";
    ctx.profile("small", &format!("{profile}{volume}{service}"));
    let script =
        "echo begun; for at in . ~ /v; do head -c 30m /dev/zero > $at/big; done; sleep 600";
    let run = "run small -w project --name s --apply never --timeout 10m";
    let running = ctx.script(run, script).start()?;
    running.until_said("begun\n")?;
    ctx.ok("wait s --for disk --timeout 60s")?
        .expect_text("holds more than its limits allow")?;
    ctx.ok("limits s --disk 1g")?;
    ctx.ok("stop s")?;
    drop(running.wait()?);
    ctx.ok("discard s --yes")?;
    ctx.ok("rm s").map(drop)
}

fn state(ctx: &Ctx) -> Result<String, String> {
    let sessions = ctx.run_json("ls --json")?;
    let state = sessions[0]["keeper"]["state"].as_str().map(str::to_owned);
    state.ok_or_else(|| format!("no state of a live session: {sessions:#}"))
}

/// The events of one kind.
fn events(ctx: &Ctx, kind: &str) -> Result<Vec<Value>, String> {
    let said = ctx.ok("events s --json")?.stdout;
    let parse = |line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}"));
    let events: Vec<Value> = said.lines().map(parse).collect::<Result<_, _>>()?;
    Ok(events
        .into_iter()
        .filter(|event| event["kind"] == kind)
        .collect())
}

/// A look and a process beside it leave it paused; more room lets it go on.
fn bytes(ctx: &Ctx) -> Result<(), String> {
    let running = filling(ctx, "head -c 100m /dev/zero > big; sync big")?;
    expect_eq("its state", &state(ctx)?, "paused")?;
    let ticks = running.stdout_so_far().lines().count();
    ctx.lazaret("exec s -- true")?
        .expect_code(122)?
        .expect_text("lazaret limits s")?;
    ctx.ok("diff s")?.expect_text("big")?;
    ctx.ok("limits s")?.expect_text("64.0 MiB (holds 100")?;
    expect_eq(
        "what was printed meanwhile",
        &running.stdout_so_far().lines().count(),
        &ticks,
    )?;
    let full = events(ctx, "disk")?;
    expect_eq("times that it was full", &full.len(), &1)?;
    expect_eq("by what", &full[0]["by"], "bytes")?;

    ctx.ok("limits s --disk 1g")?;
    running.wait_until("the command goes on", SOON, || {
        running.stdout_so_far().lines().count() > ticks + 2
    })?;
    expect_eq("its state", &state(ctx)?, "running")?;
    ctx.ok("exec s -- true")?;
    ctx.ok("stop s")?;
    let ended = running.wait()?.output();
    expect("the front was told", || {
        ended.stderr.contains("paused: the session holds 100")
    })?;
    ctx.ok("rm --force s").map(drop)
}

/// Nothing that it made is lost.
fn inodes(ctx: &Ctx) -> Result<(), String> {
    let fill = "mkdir many; cd many; i=0; while [ $i -lt 1500 ]; do : > $i; i=$((i+1)); done";
    let running = filling(ctx, fill)?;
    expect_eq("by what", &events(ctx, "disk")?[0]["by"], "inodes")?;
    ctx.ok("stop s")?;
    running.wait()?.expect_code(130)?;
    let report = ctx.run_json("diff s --json")?;
    let added = report["changes"]["added"].as_array().map_or(0, Vec::len);
    expect_eq("the directory and its files wait", &added, &1501)?;
    ctx.ok("rm --force s").map(drop)
}

/// A paused PID 1 hears nothing of that: `recover` lets go.
fn killed(ctx: &Ctx) -> Result<(), String> {
    let running = filling(ctx, "head -c 100m /dev/zero > big; sync big")?;
    ctx.kill_keeper("s")?;
    let _how = running.wait()?;
    ctx.ok("recover s")?;
    let report = ctx.run_json("diff s --json")?;
    expect_eq("what waits", &report["changes"]["added"][0], "big")?;
    ctx.ok("rm --force s").map(drop)
}

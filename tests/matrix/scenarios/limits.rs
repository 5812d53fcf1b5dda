//! Limits: time, memory, processes, space, and what the gate lets through.

use std::time::{Duration, Instant};

use lazaret_tests::tree_text;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::engine::EngineName;

scenarios! {
    "limits/timeout" => timeout;
    "limits/timeout-against-a-deaf-command" => deaf;
    "limits/memory" => memory;
    "limits/processes" => processes;
    "limits/tmp" => tmp;
    "limits/entries" => entries;
    "limits/file-bytes" => file_bytes;
    "limits/left-behind-daemon" => daemon;
}

const TREE: &str = "f a \"a\\n\"";

fn timeout(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "echo before >> a; sleep 600; echo after >> a";
    let output = ctx.exits(
        124,
        "run base -w project --name s --timeout 2s --apply auto --json",
        script,
    )?;
    let report = output.json()?;
    expect_eq("timed_out", &report["timed_out"].as_bool(), &Some(true))?;
    ctx.tree_is(&workspace, "f a \"a\\nbefore\\n\"\n")
}

/// Ignores SIGTERM: ended by SIGKILL after the grace (FLT-15).
fn deaf(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let started = Instant::now();
    let script = "trap '' TERM; echo x > a; while :; do sleep 1; done";
    ctx.exits(124, "run base -w project --timeout 2s --apply auto", script)?;
    expect("it got its grace of 15 s", || {
        started.elapsed() >= Duration::from_secs(17)
    })
}

/// Rootless Podman on cgroup v1 has no limit for a container's memory; each process has one.
fn memory(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("small", "image = \"base\"\n[limits]\nmemory = \"64m\"\n");
    // tail keeps what it has not seen the end of: an endless line fills its memory.
    let script = "head -c 1000000000 /dev/zero | tail > /dev/null && echo b > not-stopped; echo c > still-there";
    let output = ctx
        .script("run small -w project --name s --apply never --json", script)
        .run()?;
    let report = output.json()?;
    let added = report["changes"]["added"].to_string();
    expect("it was stopped", || !added.contains("not-stopped"))?;
    expect("its container lived on", || added.contains("still-there"))?;
    if ctx.engine() != EngineName::PodmanRootless {
        expect_eq("oom_killed", &report["oom_killed"].as_bool(), &Some(true))?;
    }
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn processes(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("few", "image = \"base\"\n[limits]\npids = 32\n");
    let script = "i=0; while [ $i -lt 64 ]; do sleep 60 & i=$((i+1)); done; echo not stopped";
    let output = ctx
        .script("run few -w project --apply auto", script)
        .run()?;
    expect("the shell could not fork", || {
        output.code != 0 && !output.stdout.contains("not stopped")
    })
}

fn tmp(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("tight", "image = \"base\"\n[limits]\ntmp = \"8m\"\n");
    let script = "for d in /tmp /home/agent /dev/shm; do head -c 80000000 /dev/zero > $d/x && exit 1; rm -f $d/x; done; cp /bin/true /tmp/t && /tmp/t && exit 2; exit 0";
    ctx.exits(0, "run tight -w project --apply auto", script)?;
    Ok(())
}

fn entries(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    ctx.profile("few", "image = \"base\"\n[gate]\nmax_entries = 50\n");
    let script = "i=0; while [ $i -lt 100 ]; do : > f$i; i=$((i+1)); done";
    let output = ctx.exits(
        121,
        "run few -w project --name s --apply auto --json",
        script,
    )?;
    let report = output.json()?;
    expect_eq(
        "the finding",
        &report["findings"][0]["code"],
        "limit.entries",
    )?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\n")?;
    let kept = ctx.objects()?;
    expect("the volume is kept", || kept.len() == 1)?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn file_bytes(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile(
        "few",
        "image = \"base\"\n[gate]\nmax_file_bytes = \"1m\"\nmax_bytes = \"1g\"\n",
    );
    let script = "truncate -s 500M sparse";
    let output = ctx.exits(
        121,
        "run few -w project --name s --apply auto --json",
        script,
    )?;
    let report = output.json()?;
    expect_eq(
        "the finding",
        &report["findings"][0]["code"],
        "limit.file_bytes",
    )?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

/// A daemon that outlives the command writes on; nothing of it is left when files are read (FLT-16).
fn daemon(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "(setsid sh -c 'while :; do echo x >> a; sleep 0.01; done' >/dev/null 2>&1 &); until grep -q x a; do sleep 0.05; done";
    ctx.exits(0, "run base -w project --apply auto", script)?;
    let applied = tree_text::dump(&workspace);
    expect("it had written", || applied.contains("x\\n"))
}

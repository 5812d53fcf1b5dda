//! A `run` without a terminal: who can reach it, what it reads, and what ends it.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::keeper::{at_rest, state};
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "keeper/a-run-ends-with-its-front" => ends_with_its_front;
    "keeper/a-run-is-reached-beside" => run_is_reached;
    "keeper/a-run-stands-in-a-pipe" => in_a_pipe;
    "keeper/each-run-is-listed" => each_run;
}

const TREE: &str = "f a \"a\\n\"\n";

/// A `run` without a terminal, as in CI, leaves no keeper behind, and nothing is lost.
fn ends_with_its_front(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "trap 'echo told > told; exit 3' TERM; echo work >> a; echo here; \
        while :; do sleep 0.1; done";
    let run = "run base -w project --name s --apply auto";
    let running = ctx.script(run, script).start()?;
    running.until_said("here\n")?;
    running.signal(Signal::KILL)?;
    running.wait()?.expect_code(137)?;
    at_rest(ctx, "s")?;
    expect_eq("its state", &state(ctx, "s")?, "kept")?;
    ctx.tree_is(&workspace, TREE)?;
    ctx.ok("diff s")?
        .expect_text("+work")?
        .expect_text("+++ told (new)")?;
    ctx.ok("rm --force --no-capture s").map(drop)
}

/// Other clients come to a `run` without a terminal.
fn run_is_reached(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script =
        "echo first; until test -e /tmp/go; do sleep 0.05; done; echo last; echo new > new";
    let run = "run base -w project --name s --apply auto --json";
    let running = ctx.script(run, script).start()?;
    running.wait_until("it runs", Duration::from_secs(60), || {
        running.output_so_far().contains("first\n")
    })?;
    ctx.ok(&["exec", "s", "--", "cat", "a"])?
        .expect_text("a\n")?;
    let looking = ctx.call("attach s --read-only").start()?;
    looking.until_said("first\n")?;
    ctx.tell("go")?;
    looking.wait()?.expect_code(0)?.expect_text("last\n")?;
    let ended = running.wait()?.expect_code(0)?;
    let report = ended.json()?;
    expect_eq("the report", &report["outcome"], &Value::from("applied"))?;
    expect("it was applied", || workspace.join("new").exists())?;
    ctx.ok("rm s").map(drop)
}

/// Each run has a summary, and what it was sent if that is wanted.
fn each_run(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let run = |more: &[&str], script: &str| {
        let line = [
            "run", "base", "-w", "project", "--name", "s", "--keep", "-i",
        ];
        let command = ["--", "sh", "-c", script];
        let call = ctx.call(&[&line[..], more, &command].concat());
        call.behind(
            ["sh", "-c", "printf 'two\nlines\n' | \"$@\"", "sh"]
                .map(str::to_owned)
                .to_vec(),
        )
    };
    run(&[], "wc -c").run()?.expect_code(0)?.expect_text("10")?;
    run(&["--log-level", "debug"], "cat; exit 3")
        .run()?
        .expect_code(3)?;
    let listed = ctx.run_json("logs s --list --json")?;
    for (run, exit_code) in [(0, 0), (1, 3)] {
        let run = &listed["runs"][run];
        expect_eq(
            "the exit code",
            &run["end"]["exit_code"],
            &Value::from(exit_code),
        )?;
        expect_eq("the input", &run["input_bytes"], &Value::from(10))?;
        expect_eq("the profile", &run["profile"], &Value::from("base"))?;
        expect_eq(
            "a mount",
            &run["mounts"][0]["target"],
            &Value::from("/workspace"),
        )?;
    }
    ctx.ok("logs s --list")?
        .expect_text("sh -c 'cat; exit 3'")?;
    expect_eq(
        "what it was sent",
        &ctx.ok("logs s --input")?.stdout,
        "two\nlines\n",
    )?;
    ctx.fails("logs s --input --run 1")?
        .expect_text("has not kept what its command was sent")?;
    ctx.ok("rm s").map(drop)
}

/// `-i` passes stdin on, each byte, to its end.
fn in_a_pipe(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let run = [
        "run",
        "base",
        "-w",
        "project",
        "--name",
        "s",
        "-i",
        "--",
        "sha256sum",
    ];
    let bytes = "yes 0123456789abcdef | head -c 5000000";
    let behind = |input: &str| {
        let script = format!("{input} | \"$@\"");
        ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
    };
    let sum = duct::cmd!("sh", "-c", format!("{bytes} | sha256sum"));
    let sum = sum.read().map_err(|error| error.to_string())?;
    let summed = ctx.call(&run).behind(behind(bytes)).run()?.expect_code(0)?;
    expect_eq("the sum", summed.stdout.trim_end(), &*sum)?;
    ctx.ok("rm s")?;
    // Without it there is nothing to read.
    let run = [
        "run", "base", "-w", "project", "--name", "s", "--", "wc", "-c",
    ];
    let counted = ctx.call(&run).behind(behind(bytes)).run()?.expect_code(0)?;
    expect_eq("nothing", &counted.stdout, "0\n")?;
    ctx.ok("rm s")?;
    // A command that does not read ends all the same.
    let run = [
        "run", "base", "-w", "project", "--name", "s", "-i", "--", "true",
    ];
    let call = ctx.call(&run).behind(behind("cat /dev/zero"));
    call.run()?.expect_code(0)?;
    ctx.ok("rm s").map(drop)
}

//! What starts lazaret's processes in a container: its PID 1 or the engine.

use std::fs;

use serde_json::json;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Call;

scenarios! {
    "starter/pid-1" => |ctx| works(ctx, |call| call, 2);
    "starter/the-engine" => |ctx| works(ctx, |call| call.env("LAZARET_STARTER", "engine"), 0);
    "starter/the-engine-without-ptrace" => without_the_right;
    "starter/what-is-left-behind-holds-nothing-up" => left_behind;
}

/// What `--verbose` says of a process that PID 1 has started.
const PAST: &str = "go past the engine";

/// More than any pipe holds, on both streams; then an exit code.
const SCRIPT: &str =
    "cat text; cat text >&2; rm text; echo $((n + 1)) > count; pwd > where; exit 7";

/// A copy goes in, output and changes come out, and edits go in again; of the runs `past` processes
/// each were started past the engine.
fn works(ctx: &Ctx, way: fn(Call) -> Call, past: usize) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f count \"0\\n\"\nd empty");
    let line = "a line, with one # in it, of a text that is longer than any pipe\n";
    let text = line.repeat((3 << 20) / line.len());
    let start = ["--verbose", "run", "base", "-w", "project", "--name", "s"];
    let rest = [
        "--keep", "--apply", "auto", "--json", "--", "sh", "-c", SCRIPT,
    ];
    let arguments = [start.as_slice(), rest.as_slice()].concat();
    for kept in [false, true] {
        fs::write(workspace.join("text"), &text).map_err(|error| error.to_string())?;
        let ran = way(ctx.call(&arguments)).run()?.expect_code(7)?;
        // Both streams are shown on one: pieces of lines meet there.
        let twice = ran.stderr.matches('#').count();
        expect_eq("lines of output", &twice, &(2 * (text.len() / line.len())))?;
        let found = ran.stderr.matches(PAST).count();
        expect_eq("processes past the engine", &found, &past)?;
        let report = ran.json()?;
        expect_eq("the exit code", &report["exit_code"], &7)?;
        let changed = &report["changes"];
        expect_eq("what is gone", &changed["deleted"], &json!(["text"]))?;
        let (added, modified) = match kept {
            false => (json!(["where"]), json!(["count"])),
            true => (json!([]), json!([])),
        };
        expect_eq("what is new", &changed["added"], &added)?;
        expect_eq("what is other", &changed["modified"], &modified)?;
    }
    let place = fs::read_to_string(workspace.join("where")).map_err(|error| error.to_string())?;
    expect_eq("where it ran", &place.as_str(), &"/workspace\n")?;
    ctx.ok("rm --force s")?;
    Ok(())
}

/// The command's PID 1 is another user's; without CAP_SYS_PTRACE no process may look into it.
fn without_the_right(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let without = [
        "setpriv",
        "--bounding-set",
        "-sys_ptrace",
        "--inh-caps",
        "-sys_ptrace",
    ];
    let prefix = without.map(str::to_owned).to_vec();
    let arguments = [
        "--verbose",
        "run",
        "base",
        "-w",
        "project",
        "--apply",
        "auto",
    ];
    let command = ["--", "sh", "-c", "echo b > a; echo said"];
    let ran = ctx.call(&[arguments.as_slice(), command.as_slice()].concat());
    let ran = ran
        .behind(prefix)
        .run()?
        .expect_code(0)?
        .expect_text("said")?;
    let past = ran.stderr.lines().filter(|line| line.contains(PAST));
    let mut agents = past.filter(|line| line.contains("-agent"));
    expect("the engine has started the command", || {
        agents.next().is_none()
    })
}

/// A command that ends while something it has started still has its output.
fn left_behind(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let arguments = ["run", "base", "-w", "project", "--apply", "auto", "--json"];
    let command = ["--", "sh", "-c", "sleep 1000 & echo b > a; echo said"];
    let ran = ctx.lazaret(&[arguments.as_slice(), command.as_slice()].concat())?;
    let ran = ran.expect_code(0)?.expect_text("said")?;
    expect_eq(
        "what is other",
        &ran.json()?["changes"]["modified"],
        &json!(["a"]),
    )
}

//! `run --each`: a session for each line.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    any engine;
    "each/every-task-waits-at-its-own-gate" => gates;
    "each/an-interrupt-ends-all-in-good-order" => interrupted;
}

const TASKS: &str = "# what is to be done\none\n\ntwo words\nfail\n";

fn file_of(ctx: &Ctx, tasks: &str) -> Result<String, String> {
    let file = ctx.home().join("tasks");
    fs::write(&file, tasks).map_err(|error| error.to_string())?;
    Ok(file.display().to_string())
}

fn gates(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let tasks = file_of(ctx, TASKS)?;
    let script = "test \"$1\" != fail || exit 3; echo \"$1\" > done";
    let run = [
        "run",
        "base",
        "-w",
        "project",
        "--each",
        &tasks,
        "--at-once",
        "2",
    ];
    let rest = [
        "--name", "t", "--json", "--", "sh", "-c", script, "sh", "{}",
    ];
    let report = ctx
        .lazaret(&[run.as_slice(), &rest].concat())?
        .expect_code(1)?
        .json()?;
    let told: Vec<_> = report["tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|task| json!([task["task"], task["session"], task["code"], task["error"]]))
        .collect();
    let expected = [
        json!(["one", "t-1", 120, null]),
        json!(["two words", "t-2", 120, null]),
        json!(["fail", "t-3", 3, null]),
    ];
    expect_eq("what became of the tasks", &told, &expected.to_vec())?;
    expect_eq("not begun", &report["not_begun"], &json!(0))?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\n")?;
    ctx.ok("apply t-2 --yes")?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\nf done \"two words\\n\"\n")?;
    ctx.ok("discard t-1 --yes")?;

    let none = [
        "run",
        "base",
        "-w",
        "project",
        "--each",
        "/dev/null",
        "--",
        "true",
    ];
    ctx.lazaret(&none)?
        .expect_code(2)?
        .expect_text("has no tasks")?;
    Ok(())
}

fn interrupted(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let tasks = file_of(ctx, "1\n2\n3\n")?;
    let work = "echo begun > \"$1\"; touch /tmp/begun; trap 'exit 0' TERM; \
                while :; do sleep 0.1; done";
    let run = [
        "run",
        "base",
        "-w",
        "project",
        "--each",
        &tasks,
        "--at-once",
        "2",
    ];
    let rest = ["--name", "t", "--json", "--", "sh", "-c", work, "sh"];
    let running = ctx.spawn(&[run.as_slice(), &rest].concat())?;
    while !both_begun(ctx) {
        expect("it runs until it is told to end", || running.is_running())?;
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    running.signal(Signal::TERM)?;
    let report = running.wait()?.expect_code(130)?.json()?;
    expect_eq("not begun", &report["not_begun"], &json!(1))?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\n")?;
    for session in ["t-1", "t-2"] {
        ctx.ok(&["discard", session, "--yes"])?;
    }
    Ok(())
}

/// Whether two commands have begun. A container that is not there yet has not.
fn both_begun(ctx: &Ctx) -> bool {
    let agents = ctx.objects().unwrap_or_default();
    let agents = agents
        .iter()
        .filter(|one| one.to_string().ends_with("-agent"));
    agents.count() == 2 && ctx.asks(&["test", "-e", "/tmp/begun"]).unwrap_or(false)
}

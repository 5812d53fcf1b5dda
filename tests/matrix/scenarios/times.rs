//! Times of files: what a build inside makes of them, and directories that an agent closed.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Ended;

scenarios! {
    "times/to-the-nanosecond" => exact;
    "times/make-sees-edits-while-it-runs" => live;
    "times/make-sees-edits-between-runs" => kept;
    "times/flt-28-closed-directories" => |ctx| closed(ctx, "x/g x/sub x d");
    "times/flt-28-a-closed-workspace" => |ctx| closed(ctx, ".");
}

const TREE: &str =
    "f Makefile \"out: src.c\\n\\t@cp src.c out; echo built `cat out`\\n\"\nf src.c one\n";

fn run(ctx: &Ctx, script: &str) -> Result<Ended, String> {
    ctx.script("run base -w project --name s --keep --apply never", script)
        .run()
}

fn failed(error: std::io::Error) -> String {
    error.to_string()
}

/// Writes a file, and says that it is so old.
fn write(workspace: &Path, name: &str, text: &str, age: Option<Duration>) -> Result<(), String> {
    let path = workspace.join(name);
    fs::write(&path, text).map_err(failed)?;
    match age {
        None => Ok(()),
        Some(age) => {
            let file = File::open(&path).map_err(failed)?;
            file.set_modified(SystemTime::now() - age).map_err(failed)
        }
    }
}

fn gone(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("rm --force s")?;
    Ok(())
}

fn exact(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let time = |name: &str| {
        let metadata = fs::metadata(workspace.join(name)).map_err(failed)?;
        Ok::<_, String>(format!("{}.{:09}", metadata.mtime(), metadata.mtime_nsec()))
    };
    run(ctx, "date -r src.c +%s.%N; date -r Makefile +%s.%N")?
        .output()
        .expect_text(&time("src.c")?)?
        .expect_text(&time("Makefile")?)?;
    gone(ctx)
}

/// How a source changes between two builds.
const EDITS: [(&str, Option<Duration>); 4] = [
    // In the second of the build.
    ("two", None),
    // Before it, and sent after it.
    ("three", Some(Duration::from_millis(900))),
    ("four", Some(Duration::from_secs(30))),
    // By an old file: `cp -p`, `tar -x`, `mv`.
    ("five", Some(Duration::from_secs(20 * 365 * 86_400))),
];

fn live(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "make; for word in two three four five; do \
        until grep -q $word src.c; do sleep 0.02; done; make; done; echo over";
    let running = ctx
        .script("run base -w project --name s --keep --apply never", script)
        .start()?;
    running.until_said("built one")?;
    for (word, age) in EDITS {
        write(&workspace, "src.c", word, age)?;
        ctx.ok("sync s")?;
        running.until_said(&format!("built {word}"))?;
    }
    running.until_said("over")?;
    running.wait()?.expect_code(120)?;
    gone(ctx)
}

fn kept(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "make; make")?.output().expect_text("built one")?;
    for (word, age) in EDITS {
        write(&workspace, "src.c", word, age)?;
        run(ctx, "make")?
            .output()
            .expect_text(&format!("built {word}"))?;
        // By `sync`, at rest.
        let again = format!("{word} again");
        write(&workspace, "src.c", &again, age)?;
        ctx.ok("sync s")?;
        run(ctx, "make")?
            .output()
            .expect_text(&format!("built {again}"))?;
    }
    // What is as it was is not built again.
    let output = run(ctx, "make")?.output().expect_text("is up to date")?;
    expect("nothing is built", || !output.stdout.contains("built"))?;
    gone(ctx)
}

/// FLT-28: what the agent has closed is surveyed, updated and collected as if it had not.
fn closed(ctx: &Ctx, closes: &str) -> Result<(), String> {
    let tree = "f a \"a\\n\"\nf d/b \"b\\n\"\nf d/c \"c\\n\"\nf e \"e\\n\"\n";
    let workspace = ctx.workspace("project", tree);
    let script = format!(
        "mkdir -p x/sub; echo 1 > x/sub/f; echo 2 > x/g; echo theirs > d/b; chmod 000 {closes}"
    );
    run(ctx, &script)?.expect_code(120)?;
    write(&workspace, "a", "mine\n", None)?;
    run(ctx, "cat a")?.expect_code(120)?.expect_text("mine")?;
    write(&workspace, "d/c", "mine\n", None)?;
    let synced = ctx.run_json("sync s --json")?;
    expect_eq("one file is sent", &synced["sent"], &1)?;
    let running = ctx
        .script(
            "run base -w project --name s --keep --apply never",
            "echo up; sleep 600",
        )
        .start()?;
    running.until_said("up")?;
    write(&workspace, "e", "mine\n", None)?;
    let synced = ctx.run_json("sync s --json")?;
    expect_eq("one file goes in beside it", &synced["sent"], &1)?;
    running.signal_keeper(Signal::KILL)?;
    running.ends()?;
    ctx.ok("recover")?;
    let report = ctx.run_json("diff s --json")?;
    expect_eq(
        "what the agent did",
        &report["changes"],
        &json!({
            "added": ["x", "x/g", "x/sub", "x/sub/f"],
            "modified": ["d/b"],
            "deleted": [],
        }),
    )?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(
        &workspace,
        "f a \"mine\\n\"\nf d/b \"theirs\\n\"\nf d/c \"mine\\n\"\nf e \"mine\\n\"\n\
          f x/g \"2\\n\"\nf x/sub/f \"1\\n\"\n",
    )?;
    gone(ctx)
}

//! Sessions that are kept: a second run sends what changed, `sync` reaches a command that
//! runs, and whatever breaks off, the volume is sound.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Ended;
use crate::watch::{SOON, phase, sparse};

scenarios! {
    "kept/a-second-run-sends-what-changed" => incremental;
    "kept/both-sides-changed" => conflict;
    "kept/pending-changes-stay-pending" => pending;
    "kept/discarded-and-run-again" => discarded;
    "kept/what-was-applied-is-in-common" => applied;
    "kept/killed-while-syncing" => |ctx| cut_short(ctx, Signal::KILL);
    "kept/interrupted-while-syncing" => |ctx| cut_short(ctx, Signal::INT);
    "kept/the-volume-is-gone" => volume_gone;
    "kept/not-a-session-to-go-on-with" => refused;
    "kept/sync-at-rest-and-into-a-running-command" => sync;
    "kept/a-file-that-changes-while-it-is-read" => changing;
    "kept/another-profile" => another_profile;
    "kept/prune-and-recover-leave-the-volume" => swept;
}

const TREE: &str = "f a \"a\\n\"\nf d/b \"b\\n\"\nf d/c \"c\\n\"\nf e \"e\\n\"\n";

/// Runs a script in session `s`, which is kept; `apply` is the mode of the gate.
fn run(ctx: &Ctx, apply: &str, script: &str) -> Result<Ended, String> {
    ctx.script(
        &format!("run base -w project --name s --keep --json --apply {apply}"),
        script,
    )
    .run()
}

fn write(workspace: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(workspace.join(name), text).map_err(|error| format!("{name}: {error}"))
}

/// What a run sent in before its command started.
fn sync_of(report: &Value) -> Value {
    let sync = &report["sync"];
    json!([sync["sent"], sync["removed"], sync["adopted"]])
}

fn gone(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("rm --force s")?;
    Ok(())
}

fn incremental(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let first = run(
        ctx,
        "auto",
        "mkdir -p target && : > Cargo.toml && \
        printf 'Signature: 8a477f597d28d172789f06886806bc55' > target/CACHEDIR.TAG && \
        echo built > target/built; rm Cargo.toml",
    )?
    .expect_code(0)?
    .json()?;
    expect_eq("nothing was there before", &first["sync"], &Value::Null)?;
    let shown = ctx.run_json("ls --json")?;
    expect("it says that the volume is kept", || {
        shown[0]["volume"]
            .as_str()
            .is_some_and(|name| name.ends_with("-workspace"))
    })?;
    write(&workspace, "a", "mine\n")?;
    write(&workspace, "new", "new\n")?;
    fs::remove_file(workspace.join("e")).map_err(|error| error.to_string())?;
    let planned = ctx.run_json("run base -w project --name s --dry-run --json")?;
    expect_eq("what would be sent", &planned["sent"], &json!(["a", "new"]))?;
    expect_eq("what would go", &planned["removed"], &json!(["e"]))?;
    let script = "cat a new; ls; cat target/built; echo agent > d/b";
    let second = run(ctx, "auto", script)?
        .expect_code(0)?
        .expect_text("built")?
        .expect_text("mine")?
        .json()?;
    expect_eq(
        "two files, and one that went",
        &sync_of(&second),
        &json!([2, 1, 0]),
    )?;
    for phase in ["sync_in_ms", "scan_ms", "reconcile_ms"] {
        expect("it was timed", || second["phases"][phase].is_u64())?;
    }
    expect_eq(
        "only the command's own change comes back",
        &second["changes"],
        &json!({ "added": [], "modified": ["d/b"], "deleted": [] }),
    )?;
    ctx.tree_is(
        &workspace,
        "f a \"mine\\n\"\nf d/b \"agent\\n\"\nf d/c \"c\\n\"\nf new \"new\\n\"\n",
    )?;
    let third = run(ctx, "auto", "true")?.expect_code(0)?.json()?;
    expect_eq("nothing is sent", &third["sync"]["sent"], &0)?;
    ctx.ok("undo s")?;
    expect_eq(
        "undone after a later sync",
        &fs::read_to_string(workspace.join("d/b")).ok(),
        &Some("b\n".to_owned()),
    )?;
    gone(ctx)
}

fn conflict(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "never", "echo agent > a; echo agent > e")?.expect_code(120)?;
    write(&workspace, "a", "mine\n")?;
    write(&workspace, "e", "agent\n")?;
    let second = run(ctx, "never", "cat a")?
        .expect_code(120)?
        .expect_text("agent")?
        .json()?;
    expect_eq(
        "one the same on both sides",
        &sync_of(&second),
        &json!([0, 0, 1]),
    )?;
    expect_eq(
        "the conflict is named",
        &second["sync"]["conflicts"][0]["path"],
        "a",
    )?;
    expect_eq("and the gate sees it", &second["conflicts"][0]["path"], "a")?;
    let synced = ctx.fails("sync s --json")?.json()?;
    expect_eq("sync says so too", &synced["conflicts"][0]["path"], "a")?;
    ctx.ok("apply s --yes --theirs a")?;
    let third = run(ctx, "never", "true")?.expect_code(0)?.json()?;
    expect_eq(
        "no conflict is left",
        &third["sync"]["conflicts"],
        &json!([]),
    )?;
    gone(ctx)
}

fn pending(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "never", "echo one > one; echo x >> a")?.expect_code(120)?;
    write(&workspace, "e", "mine\n")?;
    let second = run(ctx, "never", "cat one e; echo two > two")?
        .expect_code(120)?
        .json()?;
    expect_eq(
        "only the host's edit goes in",
        &sync_of(&second),
        &json!([1, 0, 0]),
    )?;
    expect_eq(
        "both runs' changes wait",
        &second["changes"],
        &json!({ "added": ["one", "two"], "modified": ["a"], "deleted": [] }),
    )?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&workspace, "f a \"a\\nx\\n\"\nf d/b \"b\\n\"\nf d/c \"c\\n\"\nf e \"mine\\n\"\nf one \"one\\n\"\nf two \"two\\n\"\n"
            )?;
    gone(ctx)
}

/// What the command did is undone in the copy, and what it built survives.
fn discarded(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let script = "echo bad > a; rm e; echo junk > junk; mkdir -p node_modules/x .venv; \
        echo built > node_modules/x/y; : > .venv/pyvenv.cfg; : > .venv/built";
    run(ctx, "never", script)?.expect_code(120)?;
    ctx.ok("discard s --yes")?;
    let second = run(ctx, "never", "cat a e; ls; [ ! -e junk ]; ls .venv/built")?
        .expect_code(0)?
        .json()?;
    expect_eq(
        "nothing of it is left",
        &second["changes"],
        &json!({ "added": [], "modified": [], "deleted": [] }),
    )?;
    gone(ctx)
}

/// What was merged and applied is no conflict later, whatever the user does to it then.
fn applied(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"1\\n2\\n3\\n4\\n\"");
    run(ctx, "never", "echo 5 >> a")?.expect_code(120)?;
    write(&workspace, "a", "one\n2\n3\n4\n")?;
    ctx.ok("apply s --yes")?;
    write(&workspace, "a", "one\n2\n3\n4\n5\n6\n")?;
    let second = run(ctx, "never", "cat a")?
        .expect_code(0)?
        .expect_text("one")?
        .json()?;
    expect_eq("it is sent", &sync_of(&second), &json!([1, 0, 0]))?;
    expect_eq("no conflict", &second["sync"]["conflicts"], &json!([]))?;
    gone(ctx)
}

/// Much goes in, the launcher ends in the midst of it, and the next run goes on.
fn cut_short(ctx: &Ctx, signal: Signal) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "never", "echo agent > agent")?.expect_code(120)?;
    big(&workspace)?;
    write(&workspace, "a", "mine\n")?;
    let running = ctx.spawn("run base -w project --name s --json --apply never -- true")?;
    let intent = ctx.state().join("sessions/s/intent");
    running.wait_until("the update is under way", SOON, || intent.exists())?;
    expect_eq("the phase", &phase(ctx).as_deref(), &Some("syncing"))?;
    match signal {
        Signal::KILL => {
            running.signal_keeper(signal)?;
            running
                .wait()?
                .expect_code(125)?
                .expect_text("the session's keeper was killed")?;
            run(ctx, "never", "true")?.expect_code(1)?;
            ctx.ok("recover")?.expect_text("is kept")?;
        }
        _ => {
            running.signal(signal)?;
            running.wait()?.expect_code(130)?;
        }
    }
    expect_eq("as before", &phase(ctx).as_deref(), &Some("collected"))?;
    let second = run(ctx, "never", "cat a agent; cat big/* | wc -c; ls -a")?
        .expect_code(120)?
        .expect_text("mine")?
        .json()?;
    expect_eq(
        "the host's edits are no change of the session",
        &second["changes"],
        &json!({ "added": ["agent"], "modified": [], "deleted": [] }),
    )?;
    expect_eq("no conflict", &second["sync"]["conflicts"], &json!([]))?;
    gone(ctx)
}

/// Files enough that sending them takes a while.
fn big(workspace: &Path) -> Result<(), String> {
    let folder = workspace.join("big");
    fs::create_dir(&folder).map_err(|error| error.to_string())?;
    for number in 0..2000 {
        let text = format!("{number} ").repeat(20_000);
        write(&folder, &number.to_string(), &text)?;
    }
    Ok(())
}

fn volume_gone(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "auto", "echo agent > a")?.expect_code(0)?;
    remove_volume(ctx)?;
    let second = run(ctx, "auto", "cat a; echo more >> a")?
        .expect_code(0)?
        .expect_text("all of the workspace goes in")?
        .json()?;
    expect_eq(
        "nothing was brought up to date",
        &second["sync"],
        &Value::Null,
    )?;
    let listed = ctx.run_json("undo --list s --json")?;
    expect_eq(
        "its history is kept",
        &listed.as_array().map(Vec::len),
        &Some(2),
    )?;
    run(ctx, "never", "echo x > x")?.expect_code(120)?;
    remove_volume(ctx)?;
    run(ctx, "never", "true")?
        .expect_code(1)?
        .expect_text("changes that wait")?;
    ctx.ok("apply s --yes")?;
    expect("what waited was not lost", || workspace.join("x").exists())?;
    gone(ctx)
}

fn remove_volume(ctx: &Ctx) -> Result<(), String> {
    for object in ctx.objects()? {
        crate::api::remove(&ctx.engine().socket(), &object)?;
    }
    Ok(())
}

fn refused(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let other = ctx.workspace("other", TREE);
    run(ctx, "auto", "true")?.expect_code(0)?;
    ctx.fails("run base -w other --name s -- true")?
        .expect_text("is one of another workspace")?;
    // A directory of the same name is not the same directory.
    let place = other.with_file_name("project");
    fs::rename(&place, other.with_file_name("moved")).map_err(|error| error.to_string())?;
    fs::rename(&other, &place).map_err(|error| error.to_string())?;
    run(ctx, "auto", "true")?
        .expect_code(1)?
        .expect_text("another directory now")?;
    let running = ctx
        .script(
            "run base -w project --name t --apply never",
            "echo up; sleep 600",
        )
        .start()?;
    running.until_said("up")?;
    ctx.fails("run base -w project --name t -- true")?
        .expect_text("lazaret sync t")?;
    running.signal(Signal::INT)?;
    running.wait()?.expect_code(130)?;
    ctx.ok("rm --force t")?;
    gone(ctx)
}

fn sync(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "auto", "true")?.expect_code(0)?;
    write(&workspace, "a", "at rest\n")?;
    let planned = ctx.run_json("sync s --dry-run --json")?;
    expect_eq("what would be sent", &planned["sent"], &json!(["a"]))?;
    let synced = ctx.run_json("sync s --json")?;
    expect_eq("one file", &synced["sent"], &1)?;
    let script = "cat a; echo up; until [ -e word ]; do sleep 0.05; done; cat word; \
        echo agent > e; until [ ! -e word ]; do sleep 0.05; done; echo gone";
    let running = ctx
        .script("run base -w project --name s --apply never", script)
        .start()?;
    running.until_said("at rest\nup")?;
    let watch = ctx.spawn("watch s --interval 1s --json")?;
    watch.wait_until("a look", SOON, || !watch.stdout_so_far().is_empty())?;
    write(&workspace, "word", "into the running one\n")?;
    let live = ctx.run_json("sync s --json")?;
    expect_eq("one file went in", &live["sent"], &1)?;
    expect("the pause is shown", || live["live"]["paused_ms"].is_u64())?;
    running.until_said("into the running one")?;
    watch.wait_until("the command's change is seen", SOON, || {
        watch.stdout_so_far().contains("\"e\"")
    })?;
    fs::remove_file(workspace.join("word")).map_err(|error| error.to_string())?;
    ctx.ok("sync s")?;
    running.until_said("gone")?;
    running.wait()?.expect_code(120)?;
    let watched = watch.wait()?.expect_code(0)?;
    expect("what the host sent is no change of the session", || {
        !watched.stdout.contains("word")
    })?;
    let report = ctx.run_json("diff s --json")?;
    expect_eq(
        "only the command's change",
        &report["changes"],
        &json!({ "added": [], "modified": ["e"], "deleted": [] }),
    )?;
    ctx.fails("sync missing")?;
    gone(ctx)
}

/// FLT-04: another process writes to a file all the time. It is named, and nothing goes in; once he
/// has ended, all of it does.
fn changing(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    run(ctx, "never", "echo agent > agent")?.expect_code(120)?;
    write(&workspace, "a", "mine\n")?;
    let busy = workspace.join("busy");
    sparse(&busy, 1 << 30)?;
    let over = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut length = 1 << 30;
            while !over.load(Ordering::Relaxed) {
                length += 1;
                drop(sparse(&busy, length));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let refused = run(ctx, "never", "true");
        over.store(true, Ordering::Relaxed);
        refused
    })?;
    refused.expect_code(125)?.expect_text("busy")?;
    expect_eq("as before", &phase(ctx).as_deref(), &Some("collected"))?;
    sparse(&busy, 5)?;
    let second = run(ctx, "never", "cat a agent; wc -c busy")?
        .expect_code(120)?
        .expect_text("mine")?
        .expect_text("5 busy")?
        .json()?;
    expect_eq("all goes in", &second["sync"]["sent"], &2)?;
    expect_eq(
        "and is no change of the session",
        &second["changes"]["added"],
        &json!(["agent"]),
    )?;
    gone(ctx)
}

/// What a profile leaves out neither goes in nor is missed in the copy.
fn another_profile(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    ctx.profile(
        "less",
        "image = \"base\"\n[workspace]\nexclude = [\"d/\"]\n",
    );
    run(ctx, "auto", "true")?.expect_code(0)?;
    write(&workspace, "d/b", "mine\n")?;
    write(&workspace, "a", "mine\n")?;
    let second = ctx
        .ok("run less -w project --name s --json --apply auto -- cat a d/b")?
        .expect_text("mine\nb\n")?
        .json()?;
    expect_eq("only what takes part", &sync_of(&second), &json!([1, 0, 0]))?;
    expect_eq(
        "nothing is missed",
        &second["changes"]["deleted"],
        &json!([]),
    )?;
    let third = run(ctx, "auto", "cat d/b")?
        .expect_code(0)?
        .expect_text("mine")?
        .json()?;
    expect_eq("and now it goes in", &sync_of(&third), &json!([1, 0, 0]))?;
    gone(ctx)
}

fn swept(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    run(
        ctx,
        "auto",
        "echo agent > a; mkdir -p .venv; : > .venv/pyvenv.cfg",
    )?
    .expect_code(0)?;
    ctx.ok("prune --yes")?;
    ctx.ok("recover s")?;
    let second = run(ctx, "auto", "ls -a; [ -e .venv ]")?
        .expect_code(0)?
        .json()?;
    expect_eq("nothing is sent", &second["sync"]["sent"], &0)?;
    let left = ctx.objects()?;
    expect_eq("the volume and nothing else", &left.len(), &1)?;
    gone(ctx)
}

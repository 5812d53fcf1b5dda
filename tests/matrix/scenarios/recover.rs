//! A launcher that is killed, at each phase, and what `recover` makes of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lazaret_tests::tree_text;
use rustix::process::Signal;

use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::{sparse, stamp};

scenarios! {
    "recover/killed-while-creating" => while_creating;
    "recover/killed-while-the-engine-creates" => creation_in_flight;
    "recover/killed-while-copying-in" => while_copying_in;
    "recover/killed-while-the-command-runs" => while_running;
    "recover/killed-while-collecting" => while_collecting;
    "recover/killed-while-undoing" => while_undoing;
    "recover/nothing-to-do" => nothing;
    "sweep/orphans-go-live-and-foreign-stay" => sweep;
}

const TREE: &str = "f a \"a\\n\"";

fn while_creating(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = ctx.spawn("run base -w project --name s -- true")?;
    lazaret.until_creating(ctx)?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    ctx.ok("recover")?;
    let listed = ctx.run_json("ls --json")?;
    expect("nothing of it is left", || {
        listed.as_array().is_some_and(Vec::is_empty)
    })
}

/// Killed at many moments of the creation, so that some of them meet the engine in the
/// middle of it: what it finishes after a `recover` carries labels, and is swept.
fn creation_in_flight(ctx: &Ctx) -> Result<(), String> {
    const KILLS: u64 = 8;
    const LOOKS: usize = 60;
    ctx.workspace("project", TREE);
    for kill in 0..KILLS {
        let name = format!("s{kill}");
        let lazaret = ctx.spawn(&format!("run base -w project --name {name} -- true"))?;
        let record = ctx
            .state()
            .join("sessions")
            .join(&name)
            .join("session.json");
        lazaret.wait_until("its record", Duration::from_secs(120), || record.exists())?;
        // A fault at some moment, not a wait for one: whichever it is, nothing may stay.
        std::thread::sleep(Duration::from_millis(kill * 15));
        // One that was quicker than this has ended, and settled everything by itself.
        drop(lazaret.signal_keeper(Signal::KILL));
        lazaret.ends()?;
        ctx.ok("recover")?;
        if record.exists() {
            // Its command had run, or might have: that is kept, with its volume.
            ctx.ok(&format!("rm --force {name}"))?;
        }
    }
    // By name as well: what an engine makes by itself may carry no label.
    let store: String = ctx.store_id().chars().take(6).collect();
    let socket = ctx.engine().socket();
    let left = || -> Result<Vec<String>, String> {
        let mut left: Vec<String> = ctx.objects()?.iter().map(ToString::to_string).collect();
        for kill in 0..KILLS {
            let volume = format!("lazaret-s{kill}-{store}-workspace");
            if api::has_volume(&socket, &volume)? {
                left.push(volume);
            }
        }
        Ok(left)
    };
    let mut clean = 0;
    for _ in 0..LOOKS {
        ctx.ok("prune --yes")?;
        clean = match left()?.is_empty() {
            true => clean + 1,
            false => 0,
        };
        // Twice, with time for an engine to finish what it was asked for.
        if clean == 2 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(format!("left on the engine: {}", left()?.join(", ")))
}

fn while_copying_in(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "");
    sparse(&workspace.join("big"), 1 << 30)?;
    let before = stamp(&workspace);
    let lazaret = ctx.spawn("run base -w project --name s -- true")?;
    lazaret.until_copying_in(ctx)?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    ctx.ok("recover")?;
    let left = ctx.objects()?;
    expect("nothing is left on the engine", || left.is_empty())?;
    expect_eq("the workspace", &stamp(&workspace), &before)
}

fn while_running(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "echo work >> a; echo hello; sleep 600";
    let lazaret = ctx.script("run base -w project --name s", script).start()?;
    lazaret.until_said("hello")?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    ctx.ok("recover")?;
    ctx.ok("diff s")?.expect_text("+work")?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&workspace, "f a \"a\\nwork\\n\"\n")
}

fn while_collecting(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "head -c 500000000 /dev/zero > big; echo work >> a";
    let lazaret = ctx.script("run base -w project --name s", script).start()?;
    lazaret.until_collecting(ctx)?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    ctx.ok("recover s")?;
    ctx.ok("apply s a --yes")?;
    ctx.tree_is(&workspace, "f a \"a\\nwork\\n\"\n")?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn nothing(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("recover")?.expect_text("nothing to recover")?;
    ctx.fails("recover missing")?;
    Ok(())
}

/// `prune` takes what a lost state left behind, and nothing that lives or is another's.
fn sweep(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = ctx
        .script(
            "run base -w project --name live --apply auto",
            "echo hello; until test -e /tmp/end; do sleep 0.1; done",
        )
        .start()?;
    lazaret.until_said("hello")?;
    ctx.exits(
        120,
        "run base -w project --name lost --apply never",
        "echo x > b",
    )?;
    std::fs::remove_dir_all(ctx.state().join("sessions/lost"))
        .map_err(|error| error.to_string())?;
    let foreign = ctx.foreign_volume()?;
    let dry = ctx.run_json("prune --dry-run --json")?;
    expect("one volume", || {
        dry["volumes"][0]
            .as_str()
            .is_some_and(|name| name.starts_with("lazaret-lost-"))
    })?;
    let pruned = ctx.run_json("prune --yes --json")?;
    expect_eq(
        "only that",
        &pruned["volumes"].as_array().map(Vec::len),
        &Some(1),
    )?;
    expect_eq(
        "no container",
        &pruned["containers"].as_array().map(Vec::len),
        &Some(0),
    )?;
    ctx.tell("end")?;
    lazaret.wait()?.expect_code(0)?;
    foreign.check_and_remove()
}

/// How many files the killed undo and redo are about.
const MANY: usize = 3_000;

/// An undo, and then a redo, of 3,000 files is killed between two of its moves (APP-26, APP-30).
fn while_undoing(ctx: &Ctx) -> Result<(), String> {
    let file = |n: usize, text: &str| format!("f d/{n:04} \"{text}\\n\"\n");
    let tree = |text: &str| (0..MANY).map(|n| file(n, text)).collect::<String>();
    let workspace = ctx.workspace("project", &tree("user"));
    let script = "for file in d/*; do echo agent > $file; done";
    ctx.exits(120, "run base -w project --name s --apply never", script)?;
    let before = tree_text::dump(&workspace);
    ctx.ok("apply s --yes")?;
    let after = tree_text::dump(&workspace);
    expect("the apply changed the files", || before != after)?;

    killed_turn(ctx, &workspace, Turn::Undo)?;
    refused(ctx, &workspace, "undo")?;
    let recovered = ctx.ok("recover")?;
    match recovered
        .stderr
        .contains("the workspace is as the apply left it")
    {
        true => ctx.tree_is(&workspace, &after)?,
        false => {
            recovered.expect_text("the workspace is as it was before the apply")?;
            ctx.tree_is(&workspace, &before)?;
        }
    }
    ctx.ok("recover")?.expect_text("nothing to recover")?;
    if tree_text::dump(&workspace) == after {
        ctx.ok("undo s")?;
    }
    ctx.tree_is(&workspace, &before)?;

    // The agent's work is in the session alone now, and no prune takes it.
    let pruned = ctx.run_json("prune --yes --older-than 0s --json")?;
    expect_eq(
        "pruned",
        &pruned["sessions"].as_array().map(Vec::len),
        &Some(0),
    )?;

    killed_turn(ctx, &workspace, Turn::Redo)?;
    refused(ctx, &workspace, "redo")?;
    let recovered = ctx.ok("recover s")?;
    match recovered
        .stderr
        .contains("the workspace is as the apply left it")
    {
        true => ctx.tree_is(&workspace, &after)?,
        false => {
            recovered.expect_text("the workspace is as it was before the apply")?;
            ctx.tree_is(&workspace, &before)?;
            ctx.ok("undo --redo s")?;
        }
    }
    ctx.tree_is(&workspace, &after)?;
    asked(ctx)
}

/// Applied a moment ago, it stays; told to, `prune` takes it, but not without a yes.
fn asked(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("prune")?.expect_text("nothing to prune")?;
    ctx.ok("prune --older-than 0s --dry-run")?
        .expect_text("would remove session s")?;
    ctx.fails("prune --older-than 0s")?
        .expect_text("prune --yes")?;
    ctx.ok("show s")?;
    ctx.ok("prune --older-than 0s --yes")?
        .expect_text("removed session s")?;
    ctx.fails("show s")?;
    Ok(())
}

/// Which way a turn goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Undo,
    Redo,
}

/// Kills an undo, or a redo, after its first move and before its last. One that is quicker
/// than the look at it is turned back, and tried again.
fn killed_turn(ctx: &Ctx, workspace: &Path, turn: Turn) -> Result<(), String> {
    let (does, undoes): (&[&str], &[&str]) = match turn {
        Turn::Undo => (&["undo", "s"], &["undo", "--redo", "s"]),
        Turn::Redo => (&["undo", "--redo", "s"], &["undo", "s"]),
    };
    let text = |name: &str| fs::read_to_string(workspace.join(name)).unwrap_or_default();
    let last = format!("d/{:04}", MANY - 1);
    for _ in 0..20 {
        let (first, end) = (text("d/0000"), text(&last));
        let running = ctx.spawn(does)?;
        while running.is_running() && text("d/0000") == first {
            std::hint::spin_loop();
        }
        drop(running.signal(Signal::KILL));
        running.ends()?;
        if text("d/0000") != first && text(&last) == end {
            return Ok(());
        }
        ctx.ok("recover")?;
        if text("d/0000") != first {
            ctx.lazaret(undoes)?.expect_code(0)?;
        }
    }
    Err(format!("{does:?} was never met between two moves"))
}

/// Every verb that would read, change or remove says what to do first, and changes nothing.
fn refused(ctx: &Ctx, workspace: &Path, what: &str) -> Result<(), String> {
    let tree = stamp(workspace);
    let listed = ctx.run_json("ls --json")?;
    expect_eq("its state", &listed[0]["state"], "broken")?;
    expect_eq("why", &listed[0]["unfinished"].as_str(), &Some(what))?;
    let run = |name| ["run", "base", "-w", "project", "--name", name, "--", "true"];
    let verbs: [&[&str]; 10] = [
        &["prune", "--yes", "--older-than", "0s"],
        &["rm", "s"],
        &["rm", "--force", "s"],
        &["discard", "s", "--yes"],
        &["apply", "s", "--yes"],
        &["undo", "s"],
        &["undo", "--redo", "s"],
        &["sync", "s"],
        &run("s"),
        &run("other"),
    ];
    for verb in verbs {
        ctx.lazaret(verb)?
            .expect_code(1)?
            .expect_text("lazaret recover s")?;
        expect_eq(&format!("{verb:?}"), &stamp(workspace), &tree)?;
    }
    Ok(())
}

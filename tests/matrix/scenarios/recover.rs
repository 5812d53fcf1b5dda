//! A launcher that is killed, at each phase, and what `recover` makes of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lazaret_tests::tree_text;
use rustix::process::Signal;

use super::Scenario;
use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::{sparse, stamp};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "recover/killed-while-creating",
        run: while_creating,
    },
    Scenario {
        name: "recover/killed-while-the-engine-creates",
        run: creation_in_flight,
    },
    Scenario {
        name: "recover/killed-while-copying-in",
        run: while_copying_in,
    },
    Scenario {
        name: "recover/killed-while-the-command-runs",
        run: while_running,
    },
    Scenario {
        name: "recover/killed-while-collecting",
        run: while_collecting,
    },
    Scenario {
        name: "recover/killed-while-undoing",
        run: while_undoing,
    },
    Scenario {
        name: "recover/nothing-to-do",
        run: nothing,
    },
    Scenario {
        name: "sweep/orphans-go-live-and-foreign-stay",
        run: sweep,
    },
];

const TREE: &str = "f a \"a\\n\"";

fn while_creating(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = ctx.spawn(&["run", "base", "-w", "project", "--name", "s", "--", "true"])?;
    lazaret.until_creating(ctx)?;
    lazaret.signal(Signal::KILL)?;
    let _killed = lazaret.wait()?;
    let _recovered = ctx.lazaret(&["recover"])?.expect_code(0)?;
    let listed = ctx.told(&["ls", "--json"])?;
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
        let lazaret = ctx.spawn(&[
            "run", "base", "-w", "project", "--name", &name, "--", "true",
        ])?;
        let record = ctx
            .state()
            .join("sessions")
            .join(&name)
            .join("session.json");
        lazaret.wait_until("its record", Duration::from_secs(120), || record.exists())?;
        // A fault at some moment, not a wait for one: whichever it is, nothing may stay.
        std::thread::sleep(Duration::from_millis(kill * 15));
        // One that was quicker than this has ended, and settled everything by itself.
        drop(lazaret.signal(Signal::KILL));
        let _ended = lazaret.wait()?;
        let _recovered = ctx.lazaret(&["recover"])?.expect_code(0)?;
        if record.exists() {
            // Its command had run, or might have: that is kept, with its volume.
            let _removed = ctx.lazaret(&["rm", "--force", &name])?.expect_code(0)?;
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
        let _pruned = ctx.lazaret(&["prune", "--yes"])?.expect_code(0)?;
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
    let lazaret = ctx.spawn(&["run", "base", "-w", "project", "--name", "s", "--", "true"])?;
    lazaret.until_copying_in(ctx)?;
    lazaret.signal(Signal::KILL)?;
    let _killed = lazaret.wait()?;
    let _recovered = ctx.lazaret(&["recover"])?.expect_code(0)?;
    let left = ctx.objects()?;
    expect("nothing is left on the engine", || left.is_empty())?;
    expect_eq("the workspace", &stamp(&workspace), &before)
}

fn while_running(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "echo work >> a; echo hello; sleep 600";
    let lazaret = ctx.spawn(&[
        "run", "base", "-w", "project", "--name", "s", "--", "sh", "-c", script,
    ])?;
    lazaret.until_said("hello")?;
    lazaret.signal(Signal::KILL)?;
    let _killed = lazaret.wait()?;
    let _recovered = ctx.lazaret(&["recover"])?.expect_code(0)?;
    let _diff = ctx
        .lazaret(&["diff", "s"])?
        .expect_code(0)?
        .expect_text("+work")?;
    let _applied = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    expect_eq(
        "its work",
        &tree_text::dump(&workspace),
        &"f a \"a\\nwork\\n\"\n".to_owned(),
    )
}

fn while_collecting(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "head -c 500000000 /dev/zero > big; echo work >> a";
    let lazaret = ctx.spawn(&[
        "run", "base", "-w", "project", "--name", "s", "--", "sh", "-c", script,
    ])?;
    lazaret.until_collecting(ctx)?;
    lazaret.signal(Signal::KILL)?;
    let _killed = lazaret.wait()?;
    let _recovered = ctx.lazaret(&["recover", "s"])?.expect_code(0)?;
    let _applied = ctx.lazaret(&["apply", "s", "a", "--yes"])?.expect_code(0)?;
    expect_eq(
        "its work",
        &tree_text::dump(&workspace),
        &"f a \"a\\nwork\\n\"\n".to_owned(),
    )?;
    let _gone = ctx.lazaret(&["discard", "s", "--yes"])?.expect_code(0)?;
    Ok(())
}

fn nothing(ctx: &Ctx) -> Result<(), String> {
    let _recovered = ctx
        .lazaret(&["recover"])?
        .expect_code(0)?
        .expect_text("nothing to recover")?;
    let _unknown = ctx.lazaret(&["recover", "missing"])?.expect_code(1)?;
    Ok(())
}

/// `prune` takes what a lost state left behind, and nothing that lives or is another's.
fn sweep(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let lazaret = ctx.spawn(&[
        "run",
        "base",
        "-w",
        "project",
        "--name",
        "live",
        "--apply",
        "auto",
        "--",
        "sh",
        "-c",
        "echo hello; until test -e /tmp/end; do sleep 0.1; done",
    ])?;
    lazaret.until_said("hello")?;
    let _lost = ctx
        .lazaret(&[
            "run",
            "base",
            "-w",
            "project",
            "--name",
            "lost",
            "--apply",
            "never",
            "--",
            "sh",
            "-c",
            "echo x > b",
        ])?
        .expect_code(120)?;
    std::fs::remove_dir_all(ctx.state().join("sessions/lost"))
        .map_err(|error| error.to_string())?;
    let foreign = ctx.foreign_volume()?;
    let dry = ctx.told(&["prune", "--dry-run", "--json"])?;
    expect("one volume", || {
        dry["volumes"][0]
            .as_str()
            .is_some_and(|name| name.starts_with("lazaret-lost-"))
    })?;
    let pruned = ctx.told(&["prune", "--yes", "--json"])?;
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
    let _live = lazaret.wait()?.expect_code(0)?;
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
    let _kept = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--name", "s", "--apply", "never", "--", "sh", "-c",
            script,
        ])?
        .expect_code(120)?;
    let before = tree_text::dump(&workspace);
    let _applied = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    let after = tree_text::dump(&workspace);
    expect("the apply changed the files", || before != after)?;

    killed_turn(ctx, &workspace, Turn::Undo)?;
    refused(ctx, &workspace, "undo")?;
    let recovered = ctx.lazaret(&["recover"])?.expect_code(0)?;
    match recovered
        .stderr
        .contains("the workspace is as the apply left it")
    {
        true => expect_eq("the tree", &tree_text::dump(&workspace), &after)?,
        false => {
            let _said = recovered.expect_text("the workspace is as it was before the apply")?;
            expect_eq("the tree", &tree_text::dump(&workspace), &before)?;
        }
    }
    let _nothing = ctx
        .lazaret(&["recover"])?
        .expect_code(0)?
        .expect_text("nothing to recover")?;
    if tree_text::dump(&workspace) == after {
        let _undone = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    }
    expect_eq("undone", &tree_text::dump(&workspace), &before)?;

    // The agent's work is in the session alone now, and no prune takes it.
    let pruned = ctx.told(&["prune", "--yes", "--older-than", "0s", "--json"])?;
    expect_eq(
        "pruned",
        &pruned["sessions"].as_array().map(Vec::len),
        &Some(0),
    )?;

    killed_turn(ctx, &workspace, Turn::Redo)?;
    refused(ctx, &workspace, "redo")?;
    let recovered = ctx.lazaret(&["recover", "s"])?.expect_code(0)?;
    match recovered
        .stderr
        .contains("the workspace is as the apply left it")
    {
        true => expect_eq("the tree", &tree_text::dump(&workspace), &after)?,
        false => {
            let _said = recovered.expect_text("the workspace is as it was before the apply")?;
            expect_eq("the tree", &tree_text::dump(&workspace), &before)?;
            let _again = ctx.lazaret(&["undo", "--redo", "s"])?.expect_code(0)?;
        }
    }
    expect_eq("done again", &tree_text::dump(&workspace), &after)?;
    asked(ctx)
}

/// Applied a moment ago, it stays; told to, `prune` takes it, but not without a yes.
fn asked(ctx: &Ctx) -> Result<(), String> {
    let _young = ctx
        .lazaret(&["prune"])?
        .expect_code(0)?
        .expect_text("nothing to prune")?;
    let _dry = ctx
        .lazaret(&["prune", "--older-than", "0s", "--dry-run"])?
        .expect_code(0)?
        .expect_text("would remove session s")?;
    let _unasked = ctx
        .lazaret(&["prune", "--older-than", "0s"])?
        .expect_code(1)?
        .expect_text("prune --yes")?;
    let _shown = ctx.lazaret(&["show", "s"])?.expect_code(0)?;
    let _gone = ctx
        .lazaret(&["prune", "--older-than", "0s", "--yes"])?
        .expect_code(0)?
        .expect_text("removed session s")?;
    let _nothing = ctx.lazaret(&["show", "s"])?.expect_code(1)?;
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
        let _ended = running.wait()?;
        if text("d/0000") != first && text(&last) == end {
            return Ok(());
        }
        let _recovered = ctx.lazaret(&["recover"])?.expect_code(0)?;
        if text("d/0000") != first {
            let _back = ctx.lazaret(undoes)?.expect_code(0)?;
        }
    }
    Err(format!("{does:?} was never met between two moves"))
}

/// Every verb that would read, change or remove says what to do first, and changes nothing.
fn refused(ctx: &Ctx, workspace: &Path, what: &str) -> Result<(), String> {
    let tree = stamp(workspace);
    let listed = ctx.told(&["ls", "--json"])?;
    expect_eq("its state", &listed[0]["state"].as_str(), &Some("broken"))?;
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
        let _refused = ctx
            .lazaret(verb)?
            .expect_code(1)?
            .expect_text("lazaret recover s")?;
        expect_eq(&format!("{verb:?}"), &stamp(workspace), &tree)?;
    }
    Ok(())
}

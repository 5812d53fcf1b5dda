//! A launcher that is killed, at each phase, and what `recover` makes of it.

use lazaret_tests::tree_text;
use rustix::process::Signal;

use super::Scenario;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::{sparse, stamp};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "recover/killed-while-creating",
        run: while_creating,
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
    let listed = ctx.lazaret(&["ls", "--json"])?.expect_code(0)?.json()?;
    expect("nothing of it is left", || {
        listed.as_array().is_some_and(Vec::is_empty)
    })
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
    let _unknown = ctx.lazaret(&["recover", "nobody"])?.expect_code(1)?;
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
        "echo hello; sleep 8",
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
    let dry = ctx
        .lazaret(&["prune", "--dry-run", "--json"])?
        .expect_code(0)?
        .json()?;
    expect("one volume", || {
        dry["volumes"][0]
            .as_str()
            .is_some_and(|name| name.starts_with("lazaret-lost-"))
    })?;
    let pruned = ctx.lazaret(&["prune", "--json"])?.expect_code(0)?.json()?;
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
    let _live = lazaret.wait()?.expect_code(0)?;
    foreign.check_and_remove()
}

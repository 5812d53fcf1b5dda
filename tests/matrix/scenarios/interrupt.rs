//! Ctrl-C once and twice at each phase, and the signals of a terminal that went away.
//!
//! The phases of the gate are not here: without a terminal there is no review, and an apply
//! is too short to be hit from outside; its steps are enumerated where it is tested.

use rustix::process::Signal;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Running;
use crate::watch::{sparse, stamp};

scenarios! {
    "interrupt/once-while-creating" => |ctx| before_the_command(ctx, SMALL, Running::until_creating, Signals::Once);
    "interrupt/twice-while-creating" => |ctx| before_the_command(ctx, SMALL, Running::until_creating, Signals::Twice);
    "interrupt/once-while-copying-in" => |ctx| before_the_command(ctx, BIG, Running::until_copying_in, Signals::Once);
    "interrupt/twice-while-copying-in" => |ctx| before_the_command(ctx, BIG, Running::until_copying_in, Signals::Twice);
    "interrupt/once-while-the-command-runs" => |ctx| while_running(ctx, Signal::INT);
    "interrupt/sigterm-while-the-command-runs" => |ctx| while_running(ctx, Signal::TERM);
    "interrupt/sighup-while-the-command-runs" => |ctx| while_running(ctx, Signal::HUP);
    "interrupt/twice-against-a-deaf-command" => twice_against_a_deaf_command;
    "interrupt/once-while-collecting" => |ctx| while_collecting(ctx, Signals::Once);
    "interrupt/twice-while-collecting" => |ctx| while_collecting(ctx, Signals::Twice);
}

const SMALL: u64 = 1000;
const BIG: u64 = 1 << 30;

/// What a command writes that writes ten times a second, at most, in the 15 s from SIGTERM to
/// SIGKILL. It counts by itself: on a busy machine it writes less, and never more.
const TICKS_OF_GRACE: usize = 150;

#[derive(Clone, Copy)]
enum Signals {
    Once,
    Twice,
}

impl Signals {
    fn send(self, to: &Running) -> Result<(), String> {
        to.signal(Signal::INT)?;
        if let Self::Twice = self {
            // Two at the same moment are one. A process that has ended has no first either.
            drop(to.until_delivered(Signal::INT));
            // It may have ended by the first already, which is all that was asked of it.
            drop(to.signal(Signal::INT));
        }
        Ok(())
    }
}

/// Nothing of value exists yet: everything is removed, whatever the hurry.
fn before_the_command(
    ctx: &Ctx,
    size: u64,
    until: fn(&Running, &Ctx) -> Result<(), String>,
    signals: Signals,
) -> Result<(), String> {
    let workspace = ctx.workspace("project", "");
    sparse(&workspace.join("file"), size)?;
    let before = stamp(&workspace);
    let lazaret = ctx.spawn("run base -w project --name s --apply auto -- sleep 600")?;
    until(&lazaret, ctx)?;
    signals.send(&lazaret)?;
    lazaret.wait()?.expect_code(130)?;
    nothing_is_left(ctx)?;
    expect_eq("the workspace", &stamp(&workspace), &before)
}

/// The command is ended in good order, and what it did is kept and never applied.
fn while_running(ctx: &Ctx, signal: Signal) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let before = stamp(&workspace);
    let script = "trap 'echo last words > b; exit 3' TERM; echo b > a; echo up and running; while :; do sleep 0.1; done";
    let lazaret = ctx
        .script("run base -w project --name s --apply auto", script)
        .start()?;
    lazaret.until_said("up and running")?;
    lazaret.signal(signal)?;
    lazaret.wait()?.expect_code(130)?;
    expect_eq("the workspace", &stamp(&workspace), &before)?;
    ctx.ok("diff s")?.expect_text("+last words")?;
    settled_by_rm(ctx)?;
    expect_eq("the workspace, still", &stamp(&workspace), &before)
}

/// The second Ctrl-C does not wait for the grace.
fn twice_against_a_deaf_command(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let before = stamp(&workspace);
    let script = "trap '' INT HUP; trap 'told=yes; echo told' TERM; echo work >> a; echo up and running; \
        while :; do sleep 0.1; test -z \"$told\" || echo tick >> ticks; done";
    let lazaret = ctx
        .script("run base -w project --name s --apply auto", script)
        .start()?;
    lazaret.until_said("up and running")?;
    lazaret.signal(Signal::INT)?;
    lazaret.until_said("told")?;
    lazaret.signal(Signal::INT)?;
    lazaret.wait()?.expect_code(130)?;
    expect_eq("the workspace", &stamp(&workspace), &before)?;
    ctx.ok("recover s")?;
    let ticks = ctx.ok("diff s ticks")?;
    expect("it did not get its grace", || {
        ticks.stdout.matches("+tick").count() < TICKS_OF_GRACE
    })?;
    recovered_work(ctx, "+work")?;
    expect_eq("the workspace, still", &stamp(&workspace), &before)
}

/// The changes are in the volume only: they stay there, and can be had later.
fn while_collecting(ctx: &Ctx, signals: Signals) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let before = stamp(&workspace);
    ctx.profile(
        "roomy",
        "image = \"base\"\n[gate]\nmax_file_bytes = \"2g\"\n",
    );
    let script = "head -c 700000000 /dev/zero > big; echo work >> a";
    let lazaret = ctx
        .script("run roomy -w project --name s --apply auto", script)
        .start()?;
    lazaret.until_collecting(ctx)?;
    signals.send(&lazaret)?;
    lazaret.wait()?.expect_code(130)?;
    expect_eq("the workspace", &stamp(&workspace), &before)?;
    recovered_work(ctx, "+work")?;
    expect_eq("the workspace, still", &stamp(&workspace), &before)
}

/// `recover` brings the session before the gate, whatever it was interrupted in.
fn recovered_work(ctx: &Ctx, needle: &str) -> Result<(), String> {
    ctx.ok("recover s")?;
    ctx.ok("diff s a")?.expect_text(needle)?;
    settled_by_rm(ctx)
}

fn settled_by_rm(ctx: &Ctx) -> Result<(), String> {
    ctx.fails("rm s")?;
    ctx.ok("rm --force s")?;
    nothing_is_left(ctx)
}

fn nothing_is_left(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("recover")?.expect_text("nothing to recover")?;
    let listed = ctx.run_json("ls --json")?;
    expect_eq("sessions", &listed.as_array().map(Vec::len), &Some(0))?;
    let objects = ctx.objects()?;
    let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
    expect(&format!("nothing on the engine, of {names:?}"), || {
        names.is_empty()
    })
}

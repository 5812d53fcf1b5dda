//! What becomes of a session whose keeper or whose container is killed.

use super::keeper::{at_rest, state};
use crate::api;
use crate::ctx::{Ctx, expect_eq};
use crate::watch::wait_until;

scenarios! {
    "keeper/killed-while-the-command-runs" => killed;
    "keeper/its-container-is-killed" => container_killed;
}

const TREE: &str = "f a \"a\\n\"\n";

fn killed(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let script = "i=0; while :; do i=$((i+1)); echo tick $i; echo $i > count; sleep 0.05; done";
    ctx.exits(0, "start base -w project --name s", script)?;
    let attached = ctx.call("attach s").start()?;
    attached.until_said("tick 5\n")?;
    ctx.kill_keeper("s")?;
    attached
        .wait()?
        .expect_code(125)?
        .expect_text("lost its keeper")?
        .expect_text("lazaret recover s")?;
    wait_until("the session is broken", || Ok(state(ctx, "s")? == "broken"))?;
    ctx.ok("recover s")?.expect_text("collected")?;
    ctx.ok("logs s")?.expect_text("tick 5\n")?;
    ctx.ok("diff s")?.expect_text("count")?;
    ctx.ok("discard s --yes").map(drop)
}

/// While the command runs, and when it has ended and its container stays.
fn container_killed(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    for (start, script) in [
        (
            "start base -w project --name s",
            "echo work > made; echo here; exec sleep 600",
        ),
        (
            "start base -w project --name s --stay",
            "echo work > made; echo here",
        ),
    ] {
        ctx.exits(0, start, script)?;
        wait_until("it has written", || {
            Ok(ctx.lazaret("logs s")?.output().stdout == "here\n")
        })?;
        let objects = ctx.objects()?;
        let is_agent = |object: &&api::Object| object.to_string().ends_with("-agent");
        let agent = objects.iter().find(is_agent).ok_or("no container")?;
        api::kill(&ctx.engine().socket(), agent)?;
        at_rest(ctx, "s")?;
        expect_eq("its state", &state(ctx, "s")?, "kept")?;
        ctx.ok("diff s")?.expect_text("made")?;
        ctx.ok("discard s --yes")?;
        ctx.ok("rm s")?;
    }
    Ok(())
}

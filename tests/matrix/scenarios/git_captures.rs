//! What waits in a session that is discarded or removed can be brought back.

use lazaret_tests::git_world::World;
use rustix::process::Signal;
use serde_json::Value;

use super::git::profile;
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    any engine;
    "git/what-is-discarded-is-captured" => captured;
    "git/broken-and-rejected-sessions-are-captured" => uncollected;
    "git/commits-of-submodules-are-landed" => submodules;
}

/// Commits on a branch, a commit that only the reflog holds, and a change that is not committed.
const SCRIPT: &str = "set -eu; git checkout -q -b fix; echo one > new; git add new; git commit -qm one; \
    git commit -q --allow-empty -m lost; git reset -q --hard HEAD~1; echo two > open";

/// Returns the name of the only capture, which has to be that of a session.
fn only_capture(ctx: &Ctx, of: &str) -> Result<String, String> {
    let listed = ctx.run_json("recover --captures --json")?;
    let rows = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    let [row] = rows else {
        return Err(format!("{of}: one capture was wanted: {listed}"));
    };
    expect_eq("the session", &row["session"], &Value::from(of))?;
    Ok(row["capture"].as_str().unwrap_or_default().to_owned())
}

/// Makes the only capture a session, lands its commits, and removes it again for good.
fn land_from_capture(ctx: &Ctx, world: &World, of: &str) -> Result<(), String> {
    let capture = only_capture(ctx, of)?;
    ctx.ok(&format!("recover --captures {capture}"))?;
    ctx.lazaret(&format!("commits land {capture} fix --yes"))?
        .expect_code(120)?;
    let fix = format!("lazaret/{capture}/fix");
    let subject = world.git("main", &["log", "-1", "--format=%s", &fix]);
    expect_eq("the branch", &subject, &"one\n".to_owned())?;
    ctx.ok(&format!("rm --force --no-capture {capture}"))?;
    Ok(())
}

fn captured(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let work = || {
        let run = format!("run full -w {dir} --name s --apply never");
        ctx.exits(120, &run, SCRIPT)
    };
    let only_capture = |of: &str| only_capture(ctx, of);
    work()?;
    let discarded = ctx.run_json("discard s --yes --json")?;
    let capture = only_capture("s")?;
    expect_eq(
        "what discard says",
        &discarded["captured"],
        &Value::from(&*capture),
    )?;
    ctx.ok("rm s")?;
    ctx.ok(&format!("recover --captures {capture}"))?
        .expect_text("commits land")?;
    ctx.fails(&format!("recover --captures {capture}"))?
        .expect_text("no capture named")?;
    world.sign_with_a_new_key("main");
    ctx.lazaret(&format!("commits land {capture} --lost --sign --yes"))?
        .expect_code(0)?;
    let subject = world.git(
        "main",
        &[
            "log",
            "-1",
            "--format=%G? %cn %an %s",
            &format!("lazaret/{capture}/fix"),
        ],
    );
    expect_eq(
        "the branch",
        &subject,
        &"G User lazaret agent one\n".to_owned(),
    )?;
    let lost = format!("refs/heads/lazaret/{capture}/lost-*");
    let lost = world.git("main", &["for-each-ref", "--format=%(subject)", &lost]);
    expect_eq("what only the reflog held", &lost, &"lost\n".to_owned())?;
    ctx.ok(&format!("apply {capture} --yes"))?;
    expect("the files are there", || world.path("main/open").exists())?;
    ctx.ok(&format!("rm {capture}"))?;
    work()?;
    ctx.fails("rm s")?
        .expect_text("keeps what waits as a capture")?;
    ctx.ok("rm s --force")?;
    let capture = only_capture("s")?;
    ctx.ok("prune --yes")?;
    only_capture("s")?;
    ctx.ok("prune --yes --captures-older-than 0s")?
        .expect_text(&format!("removed capture {capture}"))?;
    work()?;
    ctx.ok("discard s --yes --no-capture")?;
    let listed = ctx.run_json("recover --captures --json")?;
    expect_eq(
        "the captures at the end",
        &listed,
        &Value::Array(Vec::new()),
    )
}

/// A launcher that was killed, and files that break a limit of the gate.
fn uncollected(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let small = "image = \"base\"\n[workspace]\ngit = \"full\"\n[gate]\nmax_file_bytes = \"1m\"\n\
        max_bytes = \"1m\"\n";
    ctx.profile("small", small);
    let dir = world.path("main").display().to_string();

    let script = format!("{SCRIPT}; echo committed; exec sleep 600");
    let run = format!("run full -w {dir} --name killed");
    let lazaret = ctx.script(&run, &script).start()?;
    lazaret.until_said("committed")?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    ctx.fails("rm killed")?;
    ctx.ok("rm killed --force")?
        .expect_text("collecting session killed")?
        .expect_text("removed killed, and with it branch fix: 1 commit")?;
    let capture = only_capture(ctx, "killed")?;
    ctx.ok(&format!("recover --captures {capture}"))?;
    ctx.lazaret(&format!("apply {capture} --yes"))?
        .expect_code(0)?;
    expect("the files are there", || world.path("main/open").exists())?;
    ctx.ok(&format!("rm --force {capture}"))?;
    land_from_capture(ctx, &world, &capture)?;

    let large = "for name in x y z; do head -c 900000 /dev/urandom > $name; done";
    let script = format!("{SCRIPT}; {large}");
    let run = |name: &str, script: &str| {
        ctx.exits(
            121,
            &format!("run small -w {dir} --name {name} --apply never"),
            script,
        )
    };
    for (name, verb) in [("one", "discard one --yes"), ("two", "rm two --force")] {
        run(name, &script)?;
        ctx.ok(verb)?
            .expect_text("are not kept; what it committed is: branch fix")?
            .expect_text("What waited is kept for 30 days")?;
        let capture = only_capture(ctx, name)?;
        ctx.ok("recover --captures")?.expect_text("without files")?;
        ctx.ok(&format!("recover --captures {capture}"))?
            .expect_text("its files are not in the capture")?;
        ctx.ok(&format!("diff {capture}"))?;
        ctx.lazaret(&format!("commits land {capture} --lost --yes"))?
            .expect_code(0)?;
        ctx.ok(&format!("rm {capture}"))?;
    }
    run("three", large)?;
    ctx.fails("discard three")?
        .expect_text("nothing of it can be kept")?;
    ctx.ok("discard three --yes")?
        .expect_text("nothing of it can be kept")?;
    for name in ["one", "three"] {
        ctx.ok(&format!("rm {name}"))?;
    }
    let listed = ctx.run_json("recover --captures --json")?;
    expect_eq("the captures", &listed, &Value::Array(Vec::new()))
}

fn submodules(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "other"]);
    world.git("main", &["submodule", "--quiet", "add", "../other", "sub"]);
    world.git("main", &["commit", "-qm", "sub"]);
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let script = "set -eu; cd sub; git checkout -q -b fix; echo one > new; git add new; \
        git commit -qm one; git checkout -q -; cd ..; echo open > open";
    let work = || {
        let run = format!("run full -w {dir} --name s --apply never");
        ctx.exits(120, &run, script)
    };
    work()?.expect_text("branch fix in .git/modules/sub: 1 commit")?;
    ctx.ok("commits s")?
        .expect_text("branch sub:fix -> lazaret/s/fix in submodule sub")?;
    let before = world.git("main/sub", &["status", "--porcelain=2", "--branch"]);
    ctx.ok("commits land s --yes")?
        .expect_text("landed sub:fix as lazaret/s/fix in submodule sub")?;
    let subject = |name: &str| world.git("main/sub", &["log", "-1", "--format=%s", name]);
    expect_eq("the branch", &subject("lazaret/s/fix"), &"one\n".to_owned())?;
    let after = world.git("main/sub", &["status", "--porcelain=2", "--branch"]);
    expect_eq("what is checked out", &after, &before)?;
    ctx.ok("apply s --yes")?;
    ctx.ok("rm s")?;

    world.git("main", &["clean", "-fdq"]);
    work()?;
    ctx.ok("discard s --yes")?;
    let capture = only_capture(ctx, "s")?;
    ctx.ok(&format!("recover --captures {capture}"))?;
    ctx.ok(&format!("commits land {capture} sub:fix --yes"))?;
    let name = format!("lazaret/{capture}/fix");
    expect_eq("the captured branch", &subject(&name), &"one\n".to_owned())?;
    for session in ["s", &capture] {
        ctx.ok(&format!("rm --force --no-capture {session}"))?;
    }
    Ok(())
}

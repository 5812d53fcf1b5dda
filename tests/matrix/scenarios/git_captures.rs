//! What waits in a session that is discarded or removed can be brought back.

use lazaret_tests::git_world::World;
use serde_json::Value;

use super::git::profile;
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "git/what-is-discarded-is-captured" => captured;
}

/// Commits on a branch, a commit that only the reflog holds, and a change that is not committed.
const SCRIPT: &str = "set -eu; git checkout -q -b fix; echo one > new; git add new; git commit -qm one; \
    git commit -q --allow-empty -m lost; git reset -q --hard HEAD~1; echo two > open";

fn captured(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let work = || {
        let run = format!("run full -w {dir} --name s --apply never");
        ctx.exits(120, &run, SCRIPT)
    };
    let only_capture = |of: &str| -> Result<String, String> {
        let listed = ctx.run_json("recover --captures --json")?;
        let rows = listed.as_array().map(Vec::as_slice).unwrap_or_default();
        let [row] = rows else {
            return Err(format!("{of}: one capture was wanted: {listed}"));
        };
        expect_eq("the session", &row["session"], &Value::from(of))?;
        Ok(row["capture"].as_str().unwrap_or_default().to_owned())
    };
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

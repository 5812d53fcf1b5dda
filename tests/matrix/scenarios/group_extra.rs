//! `group`: directories of the host beside a group's project, which it can only read.

use std::fs;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::scenarios::group::{asked, end, project, said};

scenarios! {
    "group/extra-directories" => extra_directories;
}

/// Each is tried inside, and says "no" if it is refused.
const DENIED: [&str; 8] = [
    "touch /workspace/extra/webapp/new",
    "touch /workspace/extra/new",
    "cp /bin/true /workspace/extra/webapp/index.html",
    "rm -r /workspace/extra/webapp/src",
    "mv /workspace/extra /workspace/mine",
    "rmdir /workspace/extra",
    "chmod 777 /workspace/extra",
    "mkdir -p /workspace/extra/other",
];

fn extra_directories(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    let webapp = ctx.workspace(
        "webapp",
        "f index.html \"hi\"\nf src/main.js \"1\"\nx run.sh \"#!/bin/sh\\necho ran\\n\"\n\
         f .env \"KEY=s\"\nf .git/HEAD \"ref: refs/heads/main\\n\"\nl link -> src/main.js\n",
    );
    let extra = format!("webapp={}", webapp.display());
    let set = ["group", "set", "a", "--extra", &extra];
    // Only a list outside of every workspace lets it in.
    let refused = ctx.lazaret(&set)?.output();
    expect_eq("it is refused", &refused.code, &1)?;
    refused.expect_text("is not allowed")?;
    let list = format!("[extra]\nroots = [{:?}]\n", webapp.display().to_string());
    fs::write(ctx.config().join("config.toml"), list).map_err(|error| error.to_string())?;
    ctx.ok(&set)?;
    ctx.ok(&["group", "set", "boss", "--extra", &extra])?;

    let found = "cd $LAZARET_EXTRA; pwd; find . | sort; cat index.html link; echo; ./run.sh";
    let expected =
        "/workspace/extra/webapp;.;./index.html;./link;./run.sh;./src;./src/main.js;hi1;ran;";
    let denied = DENIED.map(|line| format!("{line} || echo no")).join("; ");
    // The root of a member's copy is root's; that of main's is the agent's.
    for group in ["a", "boss"] {
        expect_eq(group, &said(ctx, group, found)?.as_str(), &expected)?;
        let printed = said(ctx, group, &denied)?;
        expect_eq(
            "what is refused",
            &printed.matches("no;").count(),
            &DENIED.len(),
        )?;
    }
    let none = said(
        ctx,
        "b",
        "ls /workspace/extra || echo none; echo [$LAZARET_EXTRA]",
    )?;
    expect("another group has none of it", || {
        none.ends_with("none;[];")
    })?;

    // It is no part of what the agent made, for git as for the gate.
    let status = "export GIT_DIR=/tmp/g GIT_WORK_TREE=/workspace; git init -q; cd /workspace; \
                  git status --porcelain | tr -d '?'; echo made > made";
    expect_eq(
        "what git sees",
        &said(ctx, "boss", status)?.as_str(),
        &" groups/; secret;",
    )?;

    // A session sees one state until its next start.
    fs::write(webapp.join("index.html"), "new").map_err(|error| error.to_string())?;
    let read = "cat $LAZARET_EXTRA/index.html; ls /workspace";
    expect_eq(
        "while it is up",
        &said(ctx, "boss", read)?.as_str(),
        &"hiextra;groups;made;secret;",
    )?;
    let stopped = ctx.lazaret(&["stop", "group-boss"])?.output();
    expect("it stops", || [0, 120].contains(&stopped.code))?;
    let changed = ctx.lazaret(&["diff", "group-boss"])?.output();
    expect("one file is new", || !changed.stdout.contains("extra"))?;
    changed.expect_text("made")?;
    for _again in 0..2 {
        expect_eq(
            "after the next start",
            &said(ctx, "boss", read)?.as_str(),
            &"newextra;groups;made;secret;",
        )?;
        ctx.lazaret(&["stop", "group-boss"])?.output();
    }
    ctx.ok(&["apply", "group-boss", "--yes"])?;
    let bot = ctx.work("bot");
    expect("the new file is there", || bot.join("made").exists())?;
    expect("and nothing else", || !bot.join("extra").exists())?;

    // What is taken from the list, or is gone, is refused at the next start.
    fs::remove_file(ctx.config().join("config.toml")).map_err(|error| error.to_string())?;
    let refused = asked(ctx, "boss", "true")?.output();
    expect_eq("it is refused again", &refused.code, &1)?;
    refused.expect_text("is not allowed")?;
    end(ctx, &["a", "b", "boss"])
}

//! What a command may only read: tried as an agent would, with the tools of an image.

use std::fs;

use serde_json::json;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Ended;

scenarios! {
    "protect/every-way-to-change-it-is-refused" => attacks;
    "protect/own-files-beside-it-come-back" => beside;
    "protect/what-would-be-protected-later-is-blocked" => later;
    "protect/a-kept-session-gets-the-hosts-version" => kept;
    "protect/nothing-of-it-is-sent-while-a-command-runs" => while_it_runs;
    "protect/what-an-earlier-command-changed-is-refused" => changed_before;
    "protect/a-link-to-what-is-not-protected-is-refused" => link;
    "protect/git-works-beside-it" => git;
}

const TREE: &str = "
    f AGENTS.md \"be kind\\n\"
    f .factory/mcp.json \"{}\\n\"
    x .factory/hooks/run \"#!/bin/sh\\n\"
    f a/b/rules \"r\\n\"
    f a/b/free \"f\\n\"
    f mine \"m\\n\"
";

const PROTECT: &str = "\"AGENTS.md\", \".factory/\", \"a/b/rules\"";

fn profile(ctx: &Ctx, protect: &str) {
    let text = format!("image = \"base\"\n[workspace]\nprotect = [{protect}]\n");
    ctx.profile("fenced", &text);
}

/// `no CMD…` ends the script unless the command fails: `set -e` never minds a line that
/// begins with `!`.
const NO: &str = r#"no() { if "$@" 2>/dev/null; then echo "not refused: $*" >&2; exit 9; fi; }"#;

fn run(ctx: &Ctx, more: &[&str], script: &str) -> Result<Ended, String> {
    let script = format!("set -eu\n{NO}\n{script}");
    let start = ["run", "fenced", "-w", "project", "--json"];
    let end = ["--", "sh", "-c", script.as_str()];
    ctx.lazaret(&[&start, more, &end].concat())
}

fn attacks(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    profile(ctx, PROTECT);
    let script = r#"
        broken=''
        try() { if "$@" >/dev/null 2>&1; then broken="$broken; $*"; fi; }
        sum() { find AGENTS.md .factory a/b/rules -type f -exec sha256sum {} + | sort; stat -c '%n %u %a' . a a/b a/b/rules AGENTS.md .factory .factory/*; }
        before=$(sum)
        test "$(cat AGENTS.md)" = 'be kind'
        test "$(id -u)" = 1000
        echo evil > /tmp/evil
        ln -s /tmp/evil evil
        for file in AGENTS.md .factory/mcp.json .factory/hooks/run a/b/rules; do
            try sh -c "echo x > $file"
            try sh -c "echo x >> $file"
            try sh -c "exec 3<> $file"
            try truncate -s 0 "$file"
            try dd if=/dev/zero of="$file" bs=1 count=1 conv=notrunc
            try rm -f "$file"
            try mv "$file" "$file.away"
            try mv -f /tmp/evil "$file"
            try cp --remove-destination mine "$file"
            try cp -f mine "$file"
            try ln -f mine "$file"
            try ln -sf /tmp/evil "$file"
            try chmod 666 "$file"
            try chown 1000:1000 "$file"
            try touch -d 2001-01-01 "$file"
            try sed -i s/e/x/ "$file"
            try tee "$file" < mine
            try install -m 644 mine "$file"
            try mkdir "$file"
            try git mv -f "$file" away
        done
        for dir in .factory .factory/hooks; do
            try touch "$dir/new"
            try mkdir "$dir/new"
            try ln -s x "$dir/new"
            try mknod "$dir/new" p
            try chmod 777 "$dir"
        done
        for dir in .factory a a/b; do
            try mv "$dir" away
            try rm -rf "$dir"
            try rmdir "$dir"
            try chmod 777 "$dir"
            try chown 1000:1000 "$dir"
        done
        try chmod 777 /workspace
        try chmod -t /workspace
        try mount --bind /tmp a
        try mount -t tmpfs none .factory
        try unshare -Ur sh -c 'echo x > AGENTS.md'
        test -z "$broken" || { echo "not refused$broken" >&2; exit 9; }
        test "$(sum)" = "$before"
        rm -f evil
    "#;
    let report = run(ctx, &["--apply", "auto"], script)?
        .expect_code(0)?
        .json()?;
    // `rm -rf a` took what was the command's own below it.
    expect_eq(
        "nothing that is protected changed",
        &report["changes"],
        &json!({ "added": [], "modified": [], "deleted": ["a/b/free"] }),
    )?;
    let text = fs::read_to_string(workspace.join("AGENTS.md")).map_err(|e| e.to_string())?;
    expect_eq("the file is as it was", &text, "be kind\n")
}

fn beside(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    profile(ctx, PROTECT);
    let script = r#"
        echo n > new; mkdir -p a/b/own/deep; echo d > a/b/own/deep/file
        echo changed > a/b/free; mv mine moved; rm -r a/b/own/deep/file; echo e > a/b/own/deep/else
        sh .factory/hooks/run
        cat .factory/mcp.json AGENTS.md
    "#;
    let report = run(ctx, &["--apply", "auto"], script)?
        .expect_code(0)?
        .json()?;
    expect_eq(
        "what is the command's own",
        &report["changes"],
        &json!({ "added": ["a/b/own", "a/b/own/deep", "a/b/own/deep/else", "moved", "new"],
            "modified": ["a/b/free"], "deleted": ["mine"] }),
    )?;
    expect("it was applied", || {
        workspace.join("a/b/own/deep/else").exists()
    })?;
    expect("it was timed", || report["phases"]["protect_ms"].is_u64())
}

/// What does not go in can't be protected; the command may make it, and the gate says no.
fn later(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f mine \"m\\n\"");
    profile(ctx, "\"AGENTS.md\", \".factory\"");
    let script = "echo evil > AGENTS.md; mkdir .factory; echo evil > .factory/x; echo n > agents.MD; echo ok > fine";
    let output = run(ctx, &["--name", "s", "--apply", "auto"], script)?
        .expect_code(120)?
        .expect_text("nothing to protect at AGENTS.md")?
        .expect_text("nothing to protect at .factory")?;
    let report = output.json()?;
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let protected: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["code"] == "path.protected")
        .filter_map(|finding| finding["path"].as_str())
        .collect();
    expect_eq(
        "all of it is blocked, in any case",
        &protected,
        &vec![".factory", ".factory/x", "AGENTS.md", "agents.MD"],
    )?;
    ctx.lazaret("apply s --allow AGENTS.md --yes")?
        .output()
        .expect_text("AGENTS.md")?;
    expect("it was not applied", || {
        !workspace.join("AGENTS.md").exists()
    })?;
    ctx.ok("rm --force s")?;
    Ok(())
}

fn kept(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    profile(ctx, PROTECT);
    let keep = ["--name", "s", "--keep", "--apply", "auto"];
    run(ctx, &keep, "echo one > one; no rm -f AGENTS.md")?.expect_code(0)?;
    let write = |name: &str, text: &str| {
        fs::write(workspace.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    write("AGENTS.md", "be kinder\n")?;
    write(".factory/more", "more\n")?;
    fs::remove_file(workspace.join(".factory/mcp.json")).map_err(|e| e.to_string())?;
    let script = "test \"$(cat AGENTS.md .factory/more)\" = \"$(printf 'be kinder\\nmore')\"
        no test -e .factory/mcp.json; no rm -f AGENTS.md; no touch .factory/x; echo two > two";
    run(ctx, &keep, script)?.expect_code(0)?;
    // At rest, `sync` writes to it as to everything else.
    write("AGENTS.md", "be kindest\n")?;
    let synced = ctx.run_json("sync s --json")?;
    expect_eq("it is sent", &synced["sent"], &1)?;
    let script = "grep -q kindest AGENTS.md; no sh -c 'echo x >> AGENTS.md'";
    run(ctx, &keep, script)?.expect_code(0)?;
    // A profile that protects nothing any more gives everything back.
    profile(ctx, "");
    // What steers agents is looked at by a person first.
    let script = "echo mine > AGENTS.md; rm -r .factory/more";
    run(ctx, &keep, script)?.expect_code(120)?;
    ctx.ok("apply s --yes")?;
    let text = fs::read_to_string(workspace.join("AGENTS.md")).map_err(|e| e.to_string())?;
    expect_eq("it is the command's to change", &text, "mine\n")?;
    ctx.ok("rm --force s")?;
    Ok(())
}

/// While a command runs nothing is given back, so nothing that is protected can be sent.
fn while_it_runs(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    profile(ctx, PROTECT);
    let script = "echo ready; until test -e go; do sleep 0.1; done; cat AGENTS.md";
    let running = ctx
        .script("run fenced -w project --name s", script)
        .start()?;
    let limit = std::time::Duration::from_secs(120);
    running.wait_until("it runs", limit, || {
        running.stdout_so_far().contains("ready")
    })?;
    let write = |name: &str, text: &str| {
        fs::write(workspace.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    write("AGENTS.md", "be evil\n")?;
    write("mine", "changed\n")?;
    ctx.fails("sync s")?.expect_text("AGENTS.md")?;
    // Not even what is not protected went: a `sync` is done whole or not at all.
    write("AGENTS.md", "be kind\n")?;
    write("go", "")?;
    let synced = ctx.run_json("sync s --json")?;
    expect_eq("what is sent then", &synced["sent"], &2)?;
    let output = running.wait()?.expect_code(0)?;
    expect("the command read what went in", || {
        output.stdout.contains("be kind") && !output.stdout.contains("evil")
    })
}

fn changed_before(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    profile(ctx, "");
    let keep = ["--name", "s", "--keep", "--apply", "never"];
    run(ctx, &keep, "echo evil > AGENTS.md")?.expect_code(120)?;
    profile(ctx, PROTECT);
    run(ctx, &keep, "true")?
        .expect_code(1)?
        .expect_text("AGENTS.md is protected, and session s has changed it")?;
    ctx.ok("discard s --yes")?;
    run(ctx, &keep, "grep -q kind AGENTS.md; no rm -f AGENTS.md")?.expect_code(0)?;
    ctx.ok("rm --force s")?;
    Ok(())
}

fn link(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f real \"r\\n\"\nl AGENTS.md -> real");
    profile(ctx, "\"AGENTS.md\"");
    run(ctx, &[], "echo x > ran")?
        .expect_code(1)?
        .expect_text("leads to real, which is not protected")?;
    profile(ctx, "\"AGENTS.md\", \"real\"");
    let script = "no sh -c 'echo x > AGENTS.md'; no rm -f AGENTS.md; test \"$(cat AGENTS.md)\" = r";
    run(ctx, &[], script)?.expect_code(0)?;
    Ok(())
}

fn git(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let make = "git init -q -b main . && git add -A && \
        git -c user.name=u -c user.email=u@example.org commit -qm one";
    duct::cmd!("sh", "-c", make)
        .dir(&workspace)
        .env("HOME", ctx.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .run()
        .map_err(|error| error.to_string())?;
    profile(ctx, PROTECT);
    let script = "git status --porcelain; echo x > new; git add new; git commit -qm two
        git log --format=%an%ae -1; no git rm -q AGENTS.md; git stash list; rm -f .git/index.lock
        git checkout -q HEAD -- a/b/free";
    let more = ["--name", "s", "--apply", "auto"];
    run(ctx, &more, script)?.expect_code(120)?;
    ctx.ok("rm --force s")?;
    Ok(())
}

//! The gate: who says yes, what a conflict does, what is kept.

use std::fs;
use std::path::Path;

use lazaret_tests::tree_text;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::SOON;

scenarios! {
    any engine;
    "gate/no-terminal-is-no-yes" => no_terminal;
    "gate/apply-never-then-diff-apply-and-undo" => never_then_apply;
    "gate/discard" => discard;
    "gate/users-edit-is-a-conflict" => conflict;
    "gate/same-edit-on-both-sides" => same_edit;
    "gate/edits-on-both-sides-are-merged" => merged;
    "gate/allow-by-name-and-for-good" => allowed;
    "gate/a-mode-alone-is-applied" => mode_alone;
    "gate/pick-paths" => pick;
    "gate/what-waits-is-counted-and-completed" => counted;
    "gate/rm-refuses-unseen-changes" => rm_refuses;
    "gate/excluded-is-not-deleted" => excluded;
    "gate/new-caches-stay-in-the-copy" => caches;
    "gate/what-git-ignores-stays-in-the-copy" => ignored;
    "gate/secrets-stay-out" => secrets;
    "gate/parallel-runs-on-one-workspace" => parallel;
}

const TREE: &str = "f a \"a\\n\"\nf dir/b \"b\\n\"";
const EDIT: &str = "echo more >> a; echo c > dir/c; rm dir/b";
const EDITED: &str = "f a \"a\\nmore\\n\"\nf dir/c \"c\\n\"\n";

/// Runs [`EDIT`] as session `s` and keeps the changes.
fn kept(ctx: &Ctx) -> Result<std::path::PathBuf, String> {
    let workspace = ctx.workspace("project", TREE);
    ctx.exits(120, "run base -w project --name s --apply never", EDIT)?;
    Ok(workspace)
}

fn no_terminal(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let before = tree_text::dump(&workspace);
    ctx.exits(120, "run base -w project --name s", EDIT)?
        .expect_text("lazaret apply s")?;
    ctx.tree_is(&workspace, &before)?;
    ctx.ok("rm --force s")?;
    Ok(())
}

fn never_then_apply(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    ctx.ok("diff s")?
        .expect_text("+more")?
        .expect_text("dir/b (deleted)")?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&workspace, EDITED)?;
    ctx.fails("apply s --yes")?;
    ctx.ok("undo s")?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\nf dir/b \"b\\n\"\n")?;
    ctx.fails("undo s")?;
    Ok(())
}

/// Contents that did not change are needed all the same: the file is written anew.
fn mode_alone(ctx: &Ctx) -> Result<(), String> {
    let before = "f edited \"1\\n\"\nx tool \"t\\n\"\nf script \"s\\n\"\n";
    let workspace = ctx.workspace("project", before);
    ctx.exits(
        120,
        "run base -w project --name s --apply never",
        "chmod +x script edited; chmod -x tool",
    )?;
    fs::write(workspace.join("edited"), "2\n").map_err(|error| error.to_string())?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(
        &workspace,
        "x edited \"2\\n\"\nx script \"s\\n\"\nf tool \"t\\n\"\n",
    )?;
    ctx.ok("undo s")?;
    ctx.tree_is(
        &workspace,
        "f edited \"2\\n\"\nf script \"s\\n\"\nx tool \"t\\n\"\n",
    )
}

fn discard(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    ctx.fails("discard s")?;
    ctx.ok("discard s --yes")?;
    let shown = tree_text::dump(&workspace);
    expect_eq("the workspace", &shown, "f a \"a\\n\"\nf dir/b \"b\\n\"\n")
}

fn conflict(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    fs::write(workspace.join("a"), "mine\n").map_err(|error| error.to_string())?;
    ctx.fails("apply s --yes")?;
    ctx.tree_is(&workspace, "f a \"mine\\n\"\nf dir/b \"b\\n\"\n")?;
    let report = ctx.run_json("diff s --json")?;
    expect_eq("the conflict", &report["conflicts"][0]["path"], "a")?;
    ctx.ok("apply s dir --yes")?;
    ctx.tree_is(&workspace, "f a \"mine\\n\"\nf dir/c \"c\\n\"\n")?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn same_edit(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    fs::write(workspace.join("a"), "a\nmore\n").map_err(|error| error.to_string())?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&workspace, EDITED)
}

/// Whether an index in the directory of a blob store has more than its eight bytes of version.
fn has_records(store: &Path) -> bool {
    let files = fs::read_dir(store).into_iter().flatten().flatten();
    let mut indexes =
        files.filter(|file| file.file_name().as_encoded_bytes().starts_with(b"index-"));
    indexes.any(|index| index.metadata().is_ok_and(|metadata| metadata.len() > 8))
}

/// The user edits the head of a file while the command edits its end.
fn merged(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"1\\n2\\n3\\n4\\n\"\nf b \"1\\n\"");
    let script = "echo 5 >> a; chmod +x a; echo 2 >> b; echo up; \
        until test -e /tmp/end; do sleep 0.1; done";
    let running = ctx
        .script("run base -w project --name s --apply never", script)
        .start()?;
    running.until_said("up")?;
    // What it started from is kept while it runs.
    let texts = ctx.state().join("sessions/s/merge-bases");
    running.wait_until("the texts are kept", SOON, || has_records(&texts))?;
    fs::write(workspace.join("a"), "one\n2\n3\n4\n").map_err(|error| error.to_string())?;
    fs::write(workspace.join("b"), "one\n").map_err(|error| error.to_string())?;
    ctx.tell("end")?;
    running.wait()?.expect_code(120)?;
    ctx.fails("apply s --yes")?;
    ctx.ok("apply s --yes --on-conflict keep-both")?
        .expect_text("merged with your edit")?;
    ctx.tree_is(
        &workspace,
        "x a \"one\\n2\\n3\\n4\\n5\\n\"\nf b \"one\\n\"\n",
    )?;
    ctx.ok("apply s --yes --theirs b")?;
    expect_eq(
        "the session's version of b",
        &fs::read_to_string(workspace.join("b")).ok(),
        &Some("1\n2\n".to_owned()),
    )?;
    ctx.ok("undo s")?;
    ctx.ok("undo s")?;
    ctx.tree_is(&workspace, "f a \"one\\n2\\n3\\n4\\n\"\nf b \"one\\n\"\n")
}

/// An editor task is held back, until the user allows it by name.
fn allowed(ctx: &Ctx) -> Result<(), String> {
    let script = "mkdir .vscode && echo '{}' > .vscode/tasks.json && echo more >> a";
    let run = |name: &str, mode: &str, code: i32| {
        let line = [
            "run", "base", "-w", "project", "--name", name, "--apply", mode, "--", "sh", "-c",
            script,
        ];
        ctx.lazaret(&line)?.expect_code(code)
    };
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    run("s", "auto", 120)?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&workspace, "f a \"a\\nmore\\n\"\n")?;
    let path = ".vscode/tasks.json";
    ctx.lazaret(&["apply", "s", "--allow", path])?
        .expect_code(1)?;
    ctx.lazaret(&["apply", "s", "--yes", "--allow", path, "--remember"])?
        .expect_code(0)?;
    let applied = "f .vscode/tasks.json \"{}\\n\"\nf a \"a\\nmore\\n\"\n".to_owned();
    ctx.tree_is(&workspace, &applied)?;
    // From now on it passes, also without a question.
    ctx.ok("undo s")?;
    ctx.ok("undo s")?;
    run("t", "auto", 0)?;
    ctx.tree_is(&workspace, &applied)
}

fn pick(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    ctx.fails("apply s nowhere --yes")?;
    ctx.ok("apply s dir/ --yes")?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\nf dir/c \"c\\n\"\n")?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn counted(ctx: &Ctx) -> Result<(), String> {
    kept(ctx)?;
    ctx.ok("ls")?.expect_text("  +1 ~1 -1  ")?;
    let shell = ctx
        .call(&["--", "lazaret", "rm", ""])
        .env("LAZARET_COMPLETE", "fish");
    let completed = shell.run()?.expect_code(0)?.stdout;
    let sessions: Vec<_> = completed
        .lines()
        .filter(|line| line.contains('\t'))
        .collect();
    expect("the session is completed", || sessions.contains(&"s\tkept"))?;
    ctx.ok("apply s a --yes")?;
    ctx.ok("ls")?.expect_text("  +1 -1  ")?;
    let listed = ctx.run_json("ls --json")?;
    let left = serde_json::json!({ "added": 1, "modified": 0, "deleted": 1, "blocked": 0 });
    expect_eq("what waits", &listed[0]["waiting"], &left)?;
    // It is not known any more once that is taken back.
    ctx.ok("undo s")?;
    let listed = ctx.run_json("ls --json")?;
    expect_eq(
        "after an undo",
        &listed[0]["waiting"],
        &serde_json::Value::Null,
    )?;
    ctx.ok("undo s --redo")?;
    ctx.ok("apply s --yes")?;
    let listed = ctx.run_json("ls --json")?;
    expect_eq(
        "nothing waits",
        &listed[0]["waiting"],
        &serde_json::Value::Null,
    )
}

fn rm_refuses(ctx: &Ctx) -> Result<(), String> {
    kept(ctx)?;
    ctx.fails("rm s")?.expect_text("--force")?;
    let listed = ctx.run_json("ls --json")?;
    expect_eq("still there", &listed[0]["state"], "kept")?;
    ctx.ok("rm s --force")?;
    ctx.fails("show s")?;
    Ok(())
}

fn excluded(ctx: &Ctx) -> Result<(), String> {
    let tree = "f .gitignore \"*.log\\n\"\nf a \"a\\n\"\nf noise.log \"mine\\n\"\nf node_modules/x/y \"y\"\nf package.json \"{}\"";
    let workspace = ctx.workspace("project", tree);
    let script = "ls -A; test ! -e noise.log && test ! -e node_modules && echo more >> a";
    ctx.exits(0, "run base -w project --apply auto", script)?;
    ctx.tree_is(&workspace, "f .gitignore \"*.log\\n\"\nf a \"a\\nmore\\n\"\nf node_modules/x/y \"y\"\nf noise.log \"mine\\n\"\nf package.json \"{}\"\n")
}

fn caches(ctx: &Ctx) -> Result<(), String> {
    let tree = "f a \"a\\n\"\nf package.json \"{}\"";
    let workspace = ctx.workspace("project", tree);
    let script = "mkdir -p node_modules/x && echo y > node_modules/x/y && echo more >> a";
    let output = ctx.exits(0, "run base -w project --apply auto --json", script)?;
    let report = output.json()?;
    expect_eq("left out", &report["left_out"][0], "node_modules")?;
    ctx.tree_is(&workspace, "f a \"a\\nmore\\n\"\nf package.json \"{}\"\n")
}

fn ignored(ctx: &Ctx) -> Result<(), String> {
    let before = "f .gitignore \"dist/\\n\"\nf a \"a\\n\"\n";
    let workspace = ctx.workspace("project", before);
    let script = "mkdir dist && echo 1 > dist/1.js && echo more >> a";
    let output = ctx.exits(0, "run base -w project --apply auto --json", script)?;
    expect_eq("left out", &output.json()?["left_out"][0], "dist")?;
    let applied = "f .gitignore \"dist/\\n\"\nf a \"a\\nmore\\n\"\n";
    ctx.tree_is(&workspace, applied)?;
    let script = "mkdir dist && echo 1 > dist/1.js";
    ctx.exits(0, "run base -w project --apply auto --with-ignored", script)?;
    ctx.tree_is(&workspace, &format!("{applied}f dist/1.js \"1\\n\"\n"))
}

fn secrets(ctx: &Ctx) -> Result<(), String> {
    let canary = "canary-5f1d9c";
    let tree = format!(
        "f .env \"KEY={canary}\"\nf id_rsa \"{canary}\"\nf a \"a\"\nf .git/config \"[remote \\\"o\\\"]\\n\\turl = https://u:{canary}@h/\\n\"\nf .git/HEAD \"ref: refs/heads/main\\n\"\nd .git/objects\nd .git/refs"
    );
    ctx.workspace("project", &tree);
    let script = format!(
        "! grep -r {canary} / --include='*' -s -l -D skip --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev"
    );
    let output = ctx.exits(0, "run base -w project --name s --json", &script)?;
    output.json()?;
    let logs = ctx.lazaret("logs s")?.output().stdout;
    expect("the secret is nowhere inside", || {
        !logs.contains("/workspace")
    })
}

fn parallel(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let start = |name: &str| {
        let script =
            format!("echo {name} > {name}; echo up; until test -e /tmp/end; do sleep 0.1; done");
        ctx.script(
            &format!("run base -w project --name {name} --apply auto"),
            &script,
        )
        .start()
    };
    let (one, two) = (start("one")?, start("two")?);
    one.until_said("up")?;
    two.until_said("up")?;
    ctx.tell("end")?;
    one.wait()?.expect_code(0)?;
    two.wait()?.expect_code(0)?;
    ctx.tree_is(
        &workspace,
        "f a \"a\\n\"\nf dir/b \"b\\n\"\nf one \"one\\n\"\nf two \"two\\n\"\n",
    )
}

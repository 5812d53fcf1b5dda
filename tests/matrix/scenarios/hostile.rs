//! What an agent may leave behind, one thing per scenario: held back, and the rest applied.

use lazaret_tests::tree_text;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "hostile/git-hook" => git_hook;
    "hostile/git-config" => git_config;
    "hostile/git-redirected" => git_redirected;
    "hostile/absolute-link" => absolute_link;
    "hostile/escaping-link" => escaping_link;
    "hostile/fifo-and-socket" => fifo_and_socket;
    "hostile/setuid" => setuid;
    "hostile/editor-task" => editor_task;
    "hostile/escape-sequence-in-a-name" => escape_in_name;
    "hostile/name-that-is-no-text" => name_no_text;
    "hostile/write-through-a-link" => write_through_link;
    "hostile/hard-links" => hard_links;
    "hostile/unreadable-files" => unreadable;
    "hostile/deep-and-long-paths" => deep;
    "hostile/escape-sequences-in-the-output" => output;
}

const TREE: &str = "f a \"a\\n\"\nf dir/b \"b\\n\"";
const REPOSITORY: &str = "\nf .git/HEAD \"ref: refs/heads/main\\n\"\nd .git/objects/\nd .git/refs/";

/// Runs `script`, expects the finding `code`, and that only `good` of it can be applied.
fn held_back(ctx: &Ctx, script: &str, code: &str) -> Result<(), String> {
    held_back_but(ctx, script, code, None)
}

/// As [`held_back`], but for a directory that is harmless.
fn held_back_but(
    ctx: &Ctx,
    script: &str,
    code: &str,
    harmless: Option<&str>,
) -> Result<(), String> {
    let workspace = ctx.workspace("project", &format!("{TREE}{REPOSITORY}"));
    let before = tree_text::dump(&workspace);
    let script = format!("{script}\necho good > good");
    let output = ctx.exits(
        120,
        "run base -w project --name s --apply auto --json",
        &script,
    )?;
    let report = output.json()?;
    expect_eq("outcome", &report["outcome"], "kept")?;
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding| finding["code"].as_str())
        .collect();
    expect(&format!("{code} is among {codes:?}"), || {
        codes.contains(&code)
    })?;
    ctx.tree_is(&workspace, &before)?;
    ctx.ok("apply s --yes")?;
    let mut expected: Vec<&str> = before.lines().collect();
    expected.push("f good \"good\\n\"");
    expected.extend(harmless);
    expected.sort_unstable();
    let after = tree_text::dump(&workspace);
    let mut found: Vec<&str> = after.lines().collect();
    found.sort_unstable();
    expect_eq("after the decision", &found, &expected)
}

fn git_hook(ctx: &Ctx) -> Result<(), String> {
    let script = "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit";
    held_back(ctx, script, "git.hook")
}

fn git_config(ctx: &Ctx) -> Result<(), String> {
    held_back(
        ctx,
        "mkdir -p .git && printf '[core]\\nfsmonitor=evil\\n' > .git/config",
        "git.config",
    )
}

fn git_redirected(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", &format!("{TREE}{REPOSITORY}"));
    let before = tree_text::dump(&workspace);
    let script = "rm -r .git; echo 'gitdir: /outside' > .git; echo good > good";
    let output = ctx.exits(
        121,
        "run base -w project --name s --apply auto --json",
        script,
    )?;
    expect_eq("outcome", &output.json()?["outcome"], "rejected")?;
    ctx.tree_is(&workspace, &before)?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn absolute_link(ctx: &Ctx) -> Result<(), String> {
    held_back(ctx, "ln -s /etc/passwd passwd", "link.absolute")
}

fn escaping_link(ctx: &Ctx) -> Result<(), String> {
    held_back(ctx, "ln -s ../../etc dir/out", "link.escape")
}

fn fifo_and_socket(ctx: &Ctx) -> Result<(), String> {
    held_back(ctx, "mkfifo pipe", "type.fifo")
}

fn setuid(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "cp a s && chmod 4755 s && chmod 0666 a && mkdir -m 1777 d && echo x > d/x";
    let output = ctx.exits(
        120,
        "run base -w project --name s --apply never --json",
        script,
    )?;
    let text = output.stdout.clone();
    expect("the dropped bits are noted", || {
        text.contains("mode.special")
    })?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(
        &workspace,
        "f a \"a\\n\"\nf d/x \"x\\n\"\nf dir/b \"b\\n\"\nx s \"a\\n\"\n",
    )
}

fn editor_task(ctx: &Ctx) -> Result<(), String> {
    held_back(
        ctx,
        "mkdir .vscode && echo '{}' > .vscode/tasks.json",
        "suspect.vscode",
    )
}

fn escape_in_name(ctx: &Ctx) -> Result<(), String> {
    held_back(ctx, "touch \"$(printf 'a\\033[2Jb')\"", "name.control")
}

fn name_no_text(ctx: &Ctx) -> Result<(), String> {
    held_back(ctx, "touch \"$(printf 'bad\\377\\376')\"", "name.encoding")
}

/// A directory of the workspace becomes a link to the host's `/tmp`, and files "in it" are new.
fn write_through_link(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let before = tree_text::dump(&workspace);
    let script = "rm -r dir && ln -s /tmp dir && echo x > /tmp/lazaret-was-here";
    ctx.exits(120, "run base -w project --name s --apply auto", script)?;
    ctx.tree_is(&workspace, &before)?;
    expect("nothing in the host's /tmp", || {
        !std::path::Path::new("/tmp/lazaret-was-here").exists()
    })?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

fn hard_links(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "ln a one && ln a two && echo more >> one";
    ctx.exits(0, "run base -w project --apply auto", script)?;
    ctx.tree_is(
        &workspace,
        "f a \"a\\nmore\\n\"\nf dir/b \"b\\n\"\nf one \"a\\nmore\\n\"\nf two \"a\\nmore\\n\"\n",
    )
}

/// The exporter reads what the agent made unreadable; nothing is taken for deleted.
fn unreadable(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "echo secret > s && chmod 000 s && chmod 000 dir";
    ctx.exits(0, "run base -w project --apply auto", script)?;
    ctx.tree_is(
        &workspace,
        "f a \"a\\n\"\nf dir/b \"b\\n\"\nf s \"secret\\n\"\n",
    )
}

fn deep(ctx: &Ctx) -> Result<(), String> {
    let script = "i=0; while [ $i -lt 80 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done; touch x; cd /workspace";
    let deepest = format!("d {}", "d/".repeat(64));
    held_back_but(ctx, script, "path.too_deep", Some(&deepest))
}

fn output(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let script = "printf 'a\\033]52;c;aGk=\\007b'; head -c 20000000 /dev/zero";
    let output = ctx.exits(0, "run base -w project --name s --json", script)?;
    output.json()?;
    let logs = ctx.ok("logs s --json")?;
    let text = logs.stdout;
    expect("the log is escaped in JSON", || !text.contains('\u{1b}'))?;
    expect("the log is capped", || text.len() < 60_000_000)
}

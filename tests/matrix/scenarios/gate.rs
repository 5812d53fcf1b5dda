//! The gate: who says yes, what a conflict does, what is kept.

use std::fs;

use lazaret_tests::tree_text;

use super::Scenario;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::SOON;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "gate/no-terminal-is-no-yes",
        run: no_terminal,
    },
    Scenario {
        name: "gate/apply-never-then-diff-apply-and-undo",
        run: never_then_apply,
    },
    Scenario {
        name: "gate/discard",
        run: discard,
    },
    Scenario {
        name: "gate/users-edit-is-a-conflict",
        run: conflict,
    },
    Scenario {
        name: "gate/same-edit-on-both-sides",
        run: same_edit,
    },
    Scenario {
        name: "gate/edits-on-both-sides-are-merged",
        run: merged,
    },
    Scenario {
        name: "gate/allow-by-name-and-for-good",
        run: allowed,
    },
    Scenario {
        name: "gate/a-mode-alone-is-applied",
        run: mode_alone,
    },
    Scenario {
        name: "gate/pick-paths",
        run: pick,
    },
    Scenario {
        name: "gate/rm-refuses-unseen-changes",
        run: rm_refuses,
    },
    Scenario {
        name: "gate/excluded-is-not-deleted",
        run: excluded,
    },
    Scenario {
        name: "gate/new-caches-stay-in-the-copy",
        run: caches,
    },
    Scenario {
        name: "gate/secrets-stay-out",
        run: secrets,
    },
    Scenario {
        name: "gate/parallel-runs-on-one-workspace",
        run: parallel,
    },
];

const TREE: &str = "f a \"a\\n\"\nf dir/b \"b\\n\"";
const EDIT: &str = "echo more >> a; echo c > dir/c; rm dir/b";
const EDITED: &str = "f a \"a\\nmore\\n\"\nf dir/c \"c\\n\"\n";

/// Runs [`EDIT`] as session `s` and keeps the changes.
fn kept(ctx: &Ctx) -> Result<std::path::PathBuf, String> {
    let workspace = ctx.workspace("project", TREE);
    let _output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--name", "s", "--apply", "never", "--", "sh", "-c",
            EDIT,
        ])?
        .expect_code(120)?;
    Ok(workspace)
}

fn no_terminal(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let before = tree_text::dump(&workspace);
    let _output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--name", "s", "--", "sh", "-c", EDIT,
        ])?
        .expect_code(120)?
        .expect_text("lazaret apply s")?;
    expect_eq("the workspace", &tree_text::dump(&workspace), &before)?;
    let _gone = ctx.lazaret(&["rm", "--force", "s"])?.expect_code(0)?;
    Ok(())
}

fn never_then_apply(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    let _diff = ctx
        .lazaret(&["diff", "s"])?
        .expect_code(0)?
        .expect_text("+more")?
        .expect_text("dir/b (deleted)")?;
    let _applied = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    expect_eq(
        "the workspace",
        &tree_text::dump(&workspace),
        &EDITED.to_owned(),
    )?;
    let _again = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(1)?;
    let _undone = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    expect_eq(
        "the workspace after undo",
        &tree_text::dump(&workspace),
        &"f a \"a\\n\"\nf dir/b \"b\\n\"\n".to_owned(),
    )?;
    let _twice = ctx.lazaret(&["undo", "s"])?.expect_code(1)?;
    Ok(())
}

/// Contents that did not change are needed all the same: the file is written anew.
fn mode_alone(ctx: &Ctx) -> Result<(), String> {
    let before = "f edited \"1\\n\"\nx tool \"t\\n\"\nf script \"s\\n\"\n";
    let workspace = ctx.workspace("project", before);
    let _output = ctx
        .lazaret(&[
            "run",
            "base",
            "-w",
            "project",
            "--name",
            "s",
            "--apply",
            "never",
            "--",
            "sh",
            "-c",
            "chmod +x script edited; chmod -x tool",
        ])?
        .expect_code(120)?;
    fs::write(workspace.join("edited"), "2\n").map_err(|error| error.to_string())?;
    let _applied = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    expect_eq(
        "the workspace",
        &tree_text::dump(&workspace),
        &"x edited \"2\\n\"\nx script \"s\\n\"\nf tool \"t\\n\"\n".to_owned(),
    )?;
    let _undone = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    expect_eq(
        "the workspace after undo",
        &tree_text::dump(&workspace),
        &"f edited \"2\\n\"\nf script \"s\\n\"\nx tool \"t\\n\"\n".to_owned(),
    )
}

fn discard(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    let _refused = ctx.lazaret(&["discard", "s"])?.expect_code(1)?;
    let _gone = ctx.lazaret(&["discard", "s", "--yes"])?.expect_code(0)?;
    let shown = tree_text::dump(&workspace);
    expect_eq(
        "the workspace",
        &shown,
        &"f a \"a\\n\"\nf dir/b \"b\\n\"\n".to_owned(),
    )
}

fn conflict(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    fs::write(workspace.join("a"), "mine\n").map_err(|error| error.to_string())?;
    let _refused = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(1)?;
    expect_eq(
        "the user's edit, and nothing else applied",
        &tree_text::dump(&workspace),
        &"f a \"mine\\n\"\nf dir/b \"b\\n\"\n".to_owned(),
    )?;
    let report = ctx.told(&["diff", "s", "--json"])?;
    expect_eq(
        "the conflict",
        &report["conflicts"][0]["path"].as_str(),
        &Some("a"),
    )?;
    let _rest = ctx
        .lazaret(&["apply", "s", "dir", "--yes"])?
        .expect_code(0)?;
    expect_eq(
        "the rest",
        &tree_text::dump(&workspace),
        &"f a \"mine\\n\"\nf dir/c \"c\\n\"\n".to_owned(),
    )?;
    let _gone = ctx.lazaret(&["discard", "s", "--yes"])?.expect_code(0)?;
    Ok(())
}

fn same_edit(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    fs::write(workspace.join("a"), "a\nmore\n").map_err(|error| error.to_string())?;
    let _applied = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    expect_eq(
        "the workspace",
        &tree_text::dump(&workspace),
        &EDITED.to_owned(),
    )
}

/// The user edits the head of a file while the command edits its end.
fn merged(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"1\\n2\\n3\\n4\\n\"\nf b \"1\\n\"");
    let script = "echo 5 >> a; chmod +x a; echo 2 >> b; echo up; \
        until test -e /tmp/end; do sleep 0.1; done";
    let running = ctx.spawn(&[
        "run", "base", "-w", "project", "--name", "s", "--apply", "never", "--", "sh", "-c", script,
    ])?;
    running.until_said("up")?;
    // What it started from is kept while it runs.
    let texts = ctx.state().join("sessions/s/base-index");
    running.wait_until("the texts are kept", SOON, || texts.exists())?;
    fs::write(workspace.join("a"), "one\n2\n3\n4\n").map_err(|error| error.to_string())?;
    fs::write(workspace.join("b"), "one\n").map_err(|error| error.to_string())?;
    ctx.tell("end")?;
    let _output = running.wait()?.expect_code(120)?;
    let _refused = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(1)?;
    let _rest = ctx
        .lazaret(&["apply", "s", "--yes", "--on-conflict", "keep-both"])?
        .expect_code(0)?
        .expect_text("merged with your edit")?;
    expect_eq(
        "both edits of a, and the user's of b",
        &tree_text::dump(&workspace),
        &"x a \"one\\n2\\n3\\n4\\n5\\n\"\nf b \"one\\n\"\n".to_owned(),
    )?;
    let _theirs = ctx
        .lazaret(&["apply", "s", "--yes", "--theirs", "b"])?
        .expect_code(0)?;
    expect_eq(
        "the session's version of b",
        &fs::read_to_string(workspace.join("b")).ok(),
        &Some("1\n2\n".to_owned()),
    )?;
    let _back = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    let _further = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    expect_eq(
        "what the user had",
        &tree_text::dump(&workspace),
        &"f a \"one\\n2\\n3\\n4\\n\"\nf b \"one\\n\"\n".to_owned(),
    )
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
    let _kept = run("s", "auto", 120)?;
    let _rest = ctx.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    expect_eq(
        "without what is blocked",
        &tree_text::dump(&workspace),
        &"f a \"a\\nmore\\n\"\n".to_owned(),
    )?;
    let path = ".vscode/tasks.json";
    let _unsaid = ctx
        .lazaret(&["apply", "s", "--allow", path])?
        .expect_code(1)?;
    let _allowed = ctx
        .lazaret(&["apply", "s", "--yes", "--allow", path, "--remember"])?
        .expect_code(0)?;
    let applied = "f .vscode/tasks.json \"{}\\n\"\nf a \"a\\nmore\\n\"\n".to_owned();
    expect_eq("with it", &tree_text::dump(&workspace), &applied)?;
    // From now on it passes, also without a question.
    let _back = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    let _back = ctx.lazaret(&["undo", "s"])?.expect_code(0)?;
    let _applied = run("t", "auto", 0)?;
    expect_eq("the second time", &tree_text::dump(&workspace), &applied)
}

fn pick(ctx: &Ctx) -> Result<(), String> {
    let workspace = kept(ctx)?;
    let _unknown = ctx
        .lazaret(&["apply", "s", "nowhere", "--yes"])?
        .expect_code(1)?;
    let _applied = ctx
        .lazaret(&["apply", "s", "dir/", "--yes"])?
        .expect_code(0)?;
    expect_eq(
        "only dir",
        &tree_text::dump(&workspace),
        &"f a \"a\\n\"\nf dir/c \"c\\n\"\n".to_owned(),
    )?;
    let _gone = ctx.lazaret(&["discard", "s", "--yes"])?.expect_code(0)?;
    Ok(())
}

fn rm_refuses(ctx: &Ctx) -> Result<(), String> {
    let _workspace = kept(ctx)?;
    let _refused = ctx
        .lazaret(&["rm", "s"])?
        .expect_code(1)?
        .expect_text("--force")?;
    let listed = ctx.told(&["ls", "--json"])?;
    expect_eq("still there", &listed[0]["state"].as_str(), &Some("kept"))?;
    let _gone = ctx.lazaret(&["rm", "s", "--force"])?.expect_code(0)?;
    let _nothing = ctx.lazaret(&["show", "s"])?.expect_code(1)?;
    Ok(())
}

fn excluded(ctx: &Ctx) -> Result<(), String> {
    let tree = "f .gitignore \"*.log\\n\"\nf a \"a\\n\"\nf noise.log \"mine\\n\"\nf node_modules/x/y \"y\"\nf package.json \"{}\"";
    let workspace = ctx.workspace("project", tree);
    let script = "ls -A; test ! -e noise.log && test ! -e node_modules && echo more >> a";
    let _output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--apply", "auto", "--", "sh", "-c", script,
        ])?
        .expect_code(0)?;
    expect_eq(
        "the workspace",
        &tree_text::dump(&workspace),
        &"f .gitignore \"*.log\\n\"\nf a \"a\\nmore\\n\"\nf node_modules/x/y \"y\"\nf noise.log \"mine\\n\"\nf package.json \"{}\"\n".to_owned(),
    )
}

fn caches(ctx: &Ctx) -> Result<(), String> {
    let tree = "f a \"a\\n\"\nf package.json \"{}\"";
    let workspace = ctx.workspace("project", tree);
    let script = "mkdir -p node_modules/x && echo y > node_modules/x/y && echo more >> a";
    let output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--apply", "auto", "--json", "--", "sh", "-c", script,
        ])?
        .expect_code(0)?;
    let report = output.json()?;
    expect_eq(
        "left out",
        &report["left_out"][0].as_str(),
        &Some("node_modules"),
    )?;
    expect_eq(
        "the workspace",
        &tree_text::dump(&workspace),
        &"f a \"a\\nmore\\n\"\nf package.json \"{}\"\n".to_owned(),
    )
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
    let output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--name", "s", "--json", "--", "sh", "-c", &script,
        ])?
        .expect_code(0)?;
    let _report = output.json()?;
    let logs = ctx.lazaret(&["logs", "s"])?.stdout;
    expect("the secret is nowhere inside", || {
        !logs.contains("/workspace")
    })
}

fn parallel(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let start = |name: &str| {
        let script =
            format!("echo {name} > {name}; echo up; until test -e /tmp/end; do sleep 0.1; done");
        ctx.spawn(&[
            "run", "base", "-w", "project", "--name", name, "--apply", "auto", "--", "sh", "-c",
            &script,
        ])
    };
    let (one, two) = (start("one")?, start("two")?);
    one.until_said("up")?;
    two.until_said("up")?;
    ctx.tell("end")?;
    let _one = one.wait()?.expect_code(0)?;
    let _two = two.wait()?.expect_code(0)?;
    expect_eq(
        "both changes",
        &tree_text::dump(&workspace),
        &"f a \"a\\n\"\nf dir/b \"b\\n\"\nf one \"one\\n\"\nf two \"two\\n\"\n".to_owned(),
    )
}

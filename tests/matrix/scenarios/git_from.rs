//! Clones of a branch inside: what goes in, what stays out, and what comes back.

use lazaret_tests::git_world::World;
use lazaret_tests::tree_text;

use super::git::{disturb, profile};
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    any engine;
    "git/from-a-branch" => from_a_branch;
    "git/both-sides-commit-on-a-branch" => both_sides;
    "git/a-commit-deletes-what-stayed-out" => left_out;
}

/// What a command finds in a clone of `main`, and leaves in it.
const ON_A_BRANCH: &str = r#"
    set -eu
    test "$(git symbolic-ref HEAD)" = refs/heads/td-13
    test "$(git for-each-ref --format='%(refname)')" = \
        "$(printf 'refs/heads/td-13\nrefs/remotes/host/main')"
    test -z "$(git status --porcelain)$(git remote)$(git stash list)"
    test "$(cat a)" = two
    test ! -e staged
    test ! -e new
    test ! -e .git/objects/info/alternates
    echo inside > b
    sed -i s/9/nine/ lines
    git commit -qam inside
    git fsck --full
"#;

/// A clean clone inside, and the user's files as they were but for what is applied.
fn from_a_branch(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    world.write("main/lines", lines);
    world.git("main", &["add", "lines"]);
    world.git("main", &["commit", "-qm", "lines"]);
    disturb(&world, "main");
    world.write("main/lines", &lines.replace('1', "one"));
    let repository = tree_text::dump(&world.path("main/.git"));
    let dir = world.path("main").display().to_string();
    let line = format!("run full -w {dir} --keep --apply auto");
    ctx.exits(
        120,
        &format!("{line} --from main --name td-13"),
        ON_A_BRANCH,
    )?
    .expect_text("kept as session td-13: branch td-13: 1 commit")?;
    let read = |name: &str| std::fs::read_to_string(world.path("main").join(name)).ok();
    // The base of the merge is the clone's text: the user's file never was that.
    let merged = lines.replace('1', "one").replace('9', "nine");
    for (name, expected) in [
        ("a", "three\n"),
        ("b", "inside\n"),
        ("lines", &merged),
        ("new", "n\n"),
        ("staged", "s\n"),
    ] {
        expect_eq(name, &read(name).as_deref(), &Some(expected))?;
    }
    ctx.tree_is(&world.path("main/.git"), &repository)?;
    ctx.ok("show td-13")?.expect_text("main at ")?;
    let listed = ctx.run_json("ls --json")?;
    expect_eq("the branch", &listed[0]["from"]["branch"], &"main")?;
    // A session stays on its branch.
    ctx.fails(&format!("{line} --from side --name td-13 -- true"))?
        .expect_text("is a clone of main")?;
    ctx.lazaret("commits land td-13 --yes")?.expect_code(0)?;
    let landed = ["log", "-2", "--format=%s", "lazaret/td-13/td-13"];
    let landed = world.git("main", &landed);
    expect_eq("the landed branch", &landed, &"inside\nlines\n".to_owned())?;
    ctx.ok("rm td-13")?;

    ctx.exits(
        0,
        &format!("{line} --from side --name s"),
        "test $(cat a) = one",
    )?;
    world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
    world.write("linked/c", "c\n");
    world.git("linked", &["add", "c"]);
    world.git("linked", &["commit", "-qm", "c"]);
    ctx.ok("sync s --dry-run")?.expect_text("  c\n")?;
    ctx.ok("sync s")?;
    let script = "test -z \"$(git status --porcelain)\" && test $(git rev-list --count HEAD) = 2 \
                  && test $(cat a)$(cat c) = onec";
    ctx.exits(0, &format!("{line} --name s"), script)?;
    expect("what the branch gained is no change", || {
        read("c").is_none()
    })?;
    ctx.ok("rm s")?;
    ctx.exits(0, &format!("{line} --name files"), "test $(cat a) = three")?;
    ctx.fails(&format!("{line} --from side --name files -- true"))?
        .expect_text("copies the files of the workspace")?;
    ctx.ok("rm files")?;
    Ok(())
}

/// A session of a branch and the user commit in turn: the branch goes in as `host/main`.
fn both_sides(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let run = format!("run full -w {dir} --from main --name td --keep --apply auto");
    let commit = |number: usize| {
        world.write(&format!("main/host-{number}"), "host\n");
        world.git("main", &["add", "-A"]);
        world.git("main", &["commit", "-qm", "outside"]);
        world.git("main", &["rev-parse", "main"]).trim().to_owned()
    };
    let inside = "echo in > inside; git add inside; git commit -qm inside";
    ctx.exits(120, &run, inside)?;
    let tip = commit(1);
    ctx.ok("sync td --dry-run")?.expect_text(
        "the copy would keep its own history; your new commits would go in as host/main",
    )?;
    ctx.ok("sync td")?
        .expect_text("the copy keeps its own history; your new commits are in it as host/main")?;
    let merged = format!(
        "set -eu; test $(git rev-parse host/main) = {tip}; git add -A; \
         git commit -qm files; git merge -q --no-edit host/main; git fsck --strict"
    );
    ctx.exits(120, &run, &merged)?;
    ctx.lazaret("commits land td --yes")?.expect_code(0)?;
    world.git("main", &["merge", "-q", "--no-edit", "lazaret/td/td"]);
    let tip = commit(2);
    ctx.ok("sync td --dry-run")?
        .expect_text("the copy would follow your repository again")?;
    let follows = format!(
        "test $(git rev-parse HEAD) = {tip} && test $(git symbolic-ref HEAD) = refs/heads/td"
    );
    ctx.exits(0, &run, &follows)?
        .expect_text("the copy follows your repository again")?;
    ctx.ok("rm td --force")?;
    Ok(())
}

/// For git inside, what stays out of the copy is deleted: a commit of that is told of.
fn left_out(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    world.write("main/vendored/one", "1\n");
    world.write("main/vendored/two", "2\n");
    world.git("main", &["add", "-A"]);
    world.git("main", &["commit", "-qm", "vendored"]);
    let text = "image = \"base\"\n[workspace]\ngit = \"full\"\nexclude = [\"vendored/\"]\n";
    ctx.profile("full", text);
    let dir = world.path("main").display().to_string();
    for (name, commit, is_told) in [("all", "-qam z", true), ("one", "-qm z a", false)] {
        let run = format!("run full -w {dir} --name {name} --apply never");
        ctx.exits(120, &run, &format!("echo z >> a; git commit {commit}"))?;
        let shown = ctx.ok(&format!("commits {name}"))?;
        let told = shown
            .stdout
            .contains("deleted.left_out vendored/one: 2 files are deleted");
        expect_eq(commit, &told, &is_told)?;
        ctx.ok(&format!("rm {name} --force"))?;
    }
    Ok(())
}

//! Repositories of every kind inside: git works there, and nothing of it comes back.

use lazaret_tests::git_world::World;
use lazaret_tests::tree_text;
use serde_json::Value;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    any engine;
    "git/full-copy" => full;
    "git/shallow-copy" => shallow;
    "git/linked-worktree" => linked;
    "git/shallow-copy-of-a-worktree" => shallow_linked;
    "git/submodules" => submodules;
    "git/hooks-of-a-submodule-stay-there" => hooks;
    "git/forged-pointer" => forged;
    "git/who-commits-and-what-runs-by-itself" => identity;
    "git/commits-are-named-and-kept" => commits;
    "git/commits-are-landed" => landed;
    "git/bad-commits-stay" => bad_commits;
    "git/both-sides-commit" => both_sides;
    "git/both-sides-commit-and-the-copy-is-shallow" => both_sides_shallow;
}

/// What an agent does: looks, commits, stashes. `$1` is the number of commits.
const WORK: &str = r#"
    set -eu
    work() {
        test "$(git rev-list --all HEAD --count)" = "$1"
        echo made > made-inside
        git add made-inside
        git -c user.name=A -c user.email=a@b commit -qm inside
        echo more >> made-inside
        git -c user.name=A -c user.email=a@b stash -q
        git stash pop -q
        git checkout -q made-inside
        git log --oneline | grep -q inside
        git fsck --full
    }
    git status --porcelain
    echo ---
"#;

pub(super) fn profile(ctx: &Ctx, git: &str) {
    let text = format!("image = \"base\"\n[workspace]\ngit = \"{git}\"\n");
    ctx.profile(git, &text);
}

/// Runs `script` after [`WORK`]; status inside has to be `status`, and what the script adds
/// to the workspace is all that comes back. What it commits is named.
fn run(ctx: &Ctx, world: &World, workspace: &str, git: &str, script: &str) -> Result<(), String> {
    profile(ctx, git);
    let commits = match workspace {
        "linked" => "kept as session s: branch side: 1 commit",
        _ => "kept as session s: branch main: 1 commit",
    };
    let status = world.git(workspace, &["status", "--porcelain"]);
    let repository = tree_text::dump(&world.path("main/.git"));
    let dir = world.path(workspace).display().to_string();
    let script = format!("{WORK}{script}");
    let output = ctx
        .exits(
            120,
            &format!("run {git} -w {dir} --name s --apply auto"),
            &script,
        )?
        .expect_text(commits)?;
    ctx.ok("rm --force s")?;
    let inside = output.stdout.split("---\n").next().unwrap_or_default();
    expect_eq("status inside", &inside.to_owned(), &status)?;
    ctx.tree_is(&world.path("main/.git"), &repository)?;
    let made = std::fs::read_to_string(world.path(workspace).join("made-inside"));
    expect_eq(
        "what was committed inside",
        &made.ok(),
        &Some("made\n".to_owned()),
    )
}

/// Something staged, something changed, something new.
fn disturbed() -> World {
    let world = World::new();
    disturb(&world, "main");
    world
}

pub(super) fn disturb(world: &World, dir: &str) {
    world.write(&format!("{dir}/a"), "three\n");
    world.write(&format!("{dir}/staged"), "s\n");
    world.git(dir, &["add", "staged"]);
    world.write(&format!("{dir}/new"), "n\n");
}

fn full(ctx: &Ctx) -> Result<(), String> {
    // Two commits, and the newest stash with its index: the other is known to the reflog only.
    run(
        ctx,
        &disturbed(),
        "main",
        "full",
        "git stash list | grep -c . | grep -qx 2; work 4",
    )
}

fn shallow(ctx: &Ctx) -> Result<(), String> {
    run(ctx, &disturbed(), "main", "shallow", "work 1")
}

fn with_worktree() -> World {
    let world = World::new();
    world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
    disturb(&world, "linked");
    world
}

fn linked(ctx: &Ctx) -> Result<(), String> {
    let script = "test -d .git; test \"$(git symbolic-ref HEAD)\" = refs/heads/side; work 4";
    run(ctx, &with_worktree(), "linked", "full", script)
}

fn shallow_linked(ctx: &Ctx) -> Result<(), String> {
    run(ctx, &with_worktree(), "linked", "shallow", "work 1")
}

fn with_submodule() -> World {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "other"]);
    world.git("main", &["submodule", "--quiet", "add", "../other", "sub"]);
    world.git("main", &["commit", "-qm", "sub"]);
    disturb(&world, "main");
    world
}

fn submodules(ctx: &Ctx) -> Result<(), String> {
    for (mode, commits, of_sub) in [("full", 5, 2), ("shallow", 1, 1)] {
        let world = with_submodule();
        let script = format!(
            "git submodule status | grep -q '^ .* sub'; work {commits}; cd sub; work {of_sub}; \
             cd ..; git status --porcelain | grep -qx ' M sub'"
        );
        run(ctx, &world, "main", mode, &script)?;
    }
    Ok(())
}

fn hooks(ctx: &Ctx) -> Result<(), String> {
    let world = with_submodule();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let script = "git -C sub status; echo x > .git/modules/sub/hooks; rm .git/modules/sub/hooks; \
                  mkdir .git/modules/sub/hooks; echo evil > .git/modules/sub/hooks/pre-commit; echo y > ok";
    let before = tree_text::dump(&world.path("main/.git"));
    let output = ctx.exits(
        120,
        &format!("run full -w {dir} --name s --apply never --json"),
        script,
    )?;
    let report = output.json()?;
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding: &Value| finding["code"].as_str())
        .collect();
    expect("the hook is found", || codes.contains(&"git.hook"))?;
    expect("and nothing else of git's", || {
        codes.iter().filter(|code| code.starts_with("git.")).count() == 1
    })?;
    ctx.ok("apply s --yes")?;
    ctx.tree_is(&world.path("main/.git"), &before)?;
    expect("the rest was applied", || world.path("main/ok").is_file())?;
    ctx.ok("rm --force s")?;
    Ok(())
}

fn forged(ctx: &Ctx) -> Result<(), String> {
    let world = with_worktree();
    profile(ctx, "full");
    profile(ctx, "shallow");
    world.write("hostile/a", "a\n");
    let target = world.path("main/.git/worktrees/linked");
    world.write("hostile/.git", &format!("gitdir: {}\n", target.display()));
    let dir = world.path("hostile").display().to_string();
    for mode in ["full", "shallow"] {
        ctx.exits(0, &format!("run {mode} -w {dir}"), "test ! -e .git")?
            .expect_text("names a repository that does not point back here")?;
    }
    Ok(())
}

/// The user's name by the environment, and neither hooks nor helpers inside.
fn identity(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let make = "git init -q -b main . && git add -A && \
        git -c user.name=u -c user.email=u@example.org commit -qm one";
    duct::cmd!("sh", "-c", make)
        .dir(&workspace)
        .env("HOME", ctx.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .run()
        .map_err(|error| error.to_string())?;
    let script = r#"
        set -eu
        mkdir -p .git/hooks
        printf '#!/bin/sh\ntouch /workspace/hooked\nexit 1\n' > .git/hooks/pre-commit
        chmod +x .git/hooks/pre-commit
        git config credential.helper '!touch /workspace/helped'
        echo b > b; git add b; git commit -qm two
        git log -1 --format='%an <%ae> %cn <%ce>'
        test ! -e hooked
        printf 'protocol=https\nhost=example.org\n\n' | git credential fill > /dev/null 2>&1 && exit 9
        test ! -e helped
        test "$GIT_TERMINAL_PROMPT" = 0
        rm .git/hooks/pre-commit; git config --unset credential.helper
    "#;
    let run = |name: &str| {
        ctx.script(
            &format!("run base -w project --name {name} --apply never"),
            script,
        )
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .run()?
        .expect_code(120)
    };
    let agent = "lazaret agent <agent@lazaret.invalid>";
    run("s1")?.expect_text(&format!("{agent} {agent}"))?;
    let config = "[user]\n name = Ship's Cook\n[include]\n path = ~/more\n";
    let write = |name: &str, text: &str| std::fs::write(ctx.home().join(name), text);
    write(".gitconfig", config).map_err(|error| error.to_string())?;
    write("more", "[user]\n email = cook@example.org\n").map_err(|error| error.to_string())?;
    let cook = "Ship's Cook <cook@example.org>";
    run("s2")?.expect_text(&format!("{cook} {cook}"))?;
    for name in ["s1", "s2"] {
        ctx.ok(&format!("rm --force {name}"))?;
    }
    Ok(())
}

/// What an agent does with git inside, and what a user is told of it (GIT-26).
const COMMITS: &[(&str, &str)] = &[
    ("git commit -q --allow-empty -m x", "branch main: 1 commit"),
    (
        "git checkout -q -b fix; git commit -q --allow-empty -m x; git checkout -q -; \
         echo x >> a; git stash -q",
        "branch fix: 1 commit, stash: 1",
    ),
    (
        "git commit -q --amend --allow-empty -m better",
        "branch main: 1 commit",
    ),
    ("git tag -a v1 -m v1", "tag v1"),
    (
        "git checkout -q --detach; git commit -q --allow-empty -m x",
        "detached HEAD: 1 commit",
    ),
    (
        "git worktree add -q -b away /tmp/away; cd /tmp/away; git commit -q --allow-empty -m x",
        "branch away: 1 commit",
    ),
    (
        "git commit -q --allow-empty -m x; git reset -q --hard HEAD~1",
        "1 commit only in the reflog",
    ),
    (
        "rm -rf .git; git init -q -b new .; git add a; git commit -qm x",
        "branch new: 1 commit",
    ),
    (
        "printf 'ref: \\033[2J' > .git/HEAD",
        "unreadable refs: .git/HEAD",
    ),
];

fn commits(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let run = |name: &str, script: &str| {
        let script = format!("set -eu; {script}");
        ctx.script(
            &format!("run full -w {dir} --name {name} --apply auto"),
            &script,
        )
        .run()
    };
    let nothing = "git checkout -q -b f; git tag v HEAD~1; git gc -q; git status";
    run("s", nothing)?
        .expect_code(0)?
        .expect_text("nothing to apply")?;
    for (index, (script, words)) in COMMITS.iter().enumerate() {
        let name = format!("s{index}");
        let kept = run(&name, script)?.expect_code(120)?.expect_text(words)?;
        expect("no escape sequence", || !kept.stderr.contains('\u{1b}'))?;
        expect("it is not called nothing", || {
            !kept.stderr.contains("nothing to apply")
        })?;
        ctx.ok("ls")?.expect_text(words)?;
        ctx.ok(&format!("show {name}"))?.expect_text("commits")?;
        ctx.fails(&format!("rm {name}"))?.expect_text(words)?;
        ctx.fails(&format!("discard {name}"))?;
        let gone = ctx.lazaret(&format!("discard {name} --yes"))?;
        gone.expect_code(0)?.expect_text(words)?;
    }
    // Files are applied, commits wait; the session goes on, and what the hint says is so.
    let commit = "echo new > a; git commit -qam 'Fix bug 42'";
    let kept = run("t", commit)?.expect_code(120)?;
    let hint = "`lazaret commits land t` brings them into your repository";
    kept.expect_text("applied 1 of 1")?
        .expect_text("kept as session t: branch main: 1 commit")?
        .expect_text(hint)?;
    let applied = std::fs::read_to_string(world.path("main/a"));
    expect_eq("the file", &applied.ok(), &Some("new\n".to_owned()))?;
    ctx.lazaret("apply t --yes")?.expect_code(120)?;
    let again = run("t", "git format-patch -q -1 -o patches main --")?;
    again
        .expect_code(120)?
        .expect_text("kept as session t: branch main: 1 commit")?;
    let patch = std::fs::read_to_string(world.path("main/patches/0001-Fix-bug-42.patch"));
    expect("the patch is out", || {
        patch.is_ok_and(|patch| patch.contains("+new"))
    })?;
    let removed = ctx.ok("rm --force t")?;
    removed.expect_text("branch main: 1 commit")?;
    Ok(())
}

/// What a repository says of itself that landing must not touch.
pub(super) fn surface(world: &World) -> Vec<Vec<u8>> {
    let names = [
        "HEAD",
        "index",
        "config",
        "packed-refs",
        "logs/HEAD",
        "logs/refs/heads/main",
    ];
    let read = |name| std::fs::read(world.path("main/.git").join(name)).unwrap_or_default();
    let mut surface: Vec<Vec<u8>> = names.into_iter().map(read).collect();
    let status = ["--no-optional-locks", "status", "--porcelain"];
    surface.push(world.git("main", &status).into_bytes());
    surface
}

/// Branches, stashes, tags and a detached head come home; `HEAD`, index and configuration stay.
fn landed(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    let text = "image = \"base\"\n[workspace]\ngit = \"full\"\n[pr]\nfile = \".pr.json\"\n";
    ctx.profile("full", text);
    let dir = world.path("main").display().to_string();
    let script = "set -eu; git checkout -q -b fix; echo x > gone; git add gone; git commit -qm x; \
        git rm -q gone; echo one > new; git add new; git commit -qm one; \
        echo two >> new; git commit -qam two; git tag -a -m note v9; \
        echo three >> new; git stash -q; git commit -q --allow-empty -m lost; \
        git reset -q --hard HEAD~1; git checkout -q --detach; \
        git commit -q --allow-empty -m alone; git checkout -q fix; \
        echo '{\"title\": \"From inside\", \"body\": \"\"}' > .pr.json";
    ctx.exits(
        120,
        &format!("run full -w {dir} --name s --apply never"),
        script,
    )?;
    let before = surface(&world);
    let shown = ctx.ok("commits s")?;
    expect("what a commit deletes is not lost", || {
        !shown.stdout.contains("uncommitted")
    })?;
    shown
        .expect_text("branch fix -> lazaret/s/fix")?
        .expect_text("stash stash-0 -> lazaret/s/stash-0")?
        .expect_text("tag v9 -> lazaret/s/v9")?;
    let report = ctx.ok("export s --json")?;
    let report: Value = serde_json::from_str(&report.stdout).map_err(|error| error.to_string())?;
    let tips = report["commits"]["tips"].as_array().cloned();
    let tips: Vec<Value> = tips.unwrap_or_default();
    let fix = tips.iter().find(|tip| tip["name"] == "fix");
    let subjects = fix.map(|tip| {
        let commits = tip["commits"].as_array().into_iter().flatten();
        commits.map(|commit| commit["subject"].clone()).collect()
    });
    let wanted: Vec<Value> = vec!["x".into(), "one".into(), "two".into()];
    expect_eq("the commits of the report", &subjects, &Some(wanted))?;
    expect_eq("refs after a look", &refs(&world), &String::new())?;
    ctx.fails("commits land s")?.expect_text("without a yes")?;
    ctx.fails("commits land s nothing --yes")?
        .expect_text("There are: fix")?;
    expect_eq("refs without a yes", &refs(&world), &String::new())?;
    ctx.lazaret("commits land s --yes")?
        .expect_code(120)?
        .expect_text("only in the reflog")?;
    ctx.lazaret("commits land s --lost --yes")?
        .expect_code(0)?
        .expect_text("lazaret/s/fix holds all changes of session s")?;
    expect_eq("the surface of the repository", &surface(&world), &before)?;
    let log = world.git("main", &["log", "--format=%s", "-2", "lazaret/s/fix"]);
    expect_eq("the branch", &log, &"two\none\n".to_owned())?;
    let stash = world.git("main", &["show", "lazaret/s/stash-0:new"]);
    expect_eq("the stash", &stash, &"one\ntwo\nthree\n".to_owned())?;
    expect("the tag is there", || {
        refs(&world).contains("refs/tags/lazaret/s/v9")
    })?;
    expect("the lost commits are there", || {
        refs(&world).contains("refs/heads/lazaret/s/lost-")
    })?;
    world.git("main", &["fsck", "--strict"]);
    ctx.ok("show s")?.expect_text("landed")?;
    requested(ctx, &world)?;
    ctx.ok("rm s")?;
    Ok(())
}

/// The landed branch is pushed, with the text that the command left.
fn requested(ctx: &Ctx, world: &World) -> Result<(), String> {
    world.git("", &["init", "-q", "--bare", "hub"]);
    world.git("main", &["remote", "add", "hub", "../hub"]);
    ctx.ok("pr s --remote hub --yes --with none")?
        .expect_text("title   From inside")?;
    let tip = |dir| world.git(dir, &["rev-parse", "refs/heads/lazaret/s/fix"]);
    expect_eq("the pushed branch", &tip("hub"), &tip("main"))?;
    expect("the text is not applied", || {
        !world.path("main/.pr.json").exists()
    })
}

pub(super) fn refs(world: &World) -> String {
    let patterns = ["refs/heads/lazaret", "refs/tags/lazaret", "refs/lazaret"];
    let arguments = [&["for-each-ref", "--format=%(refname)"], &patterns[..]].concat();
    world.git("main", &arguments)
}

/// A branch with a bad tree in the middle stays, and the one beside it comes home. Nothing that
/// the copy's repository configures is run.
fn bad_commits(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let script = r#"set -eu
        git checkout -q -b good; echo one > new; git add new
        git commit -qm $'one \e[2J \u202e two' --author $'E\e[2J <e@example.org>'
        blob=$(git rev-parse HEAD:new)
        below=$(printf '100644 blob %s\thooks\n' "$blob" | git mktree)
        bad=$(printf '40000 .GIT\0%s' "" | cat - <(printf "$(echo "$below" | sed 's/../\\x&/g')") \
            | git hash-object -t tree -w --literally --stdin)
        middle=$(echo evil | git commit-tree "$bad" -p main)
        tip=$(echo clean | git commit-tree 'main^{tree}' -p "$middle")
        git update-ref refs/heads/evil "$tip"
        git config core.fsmonitor 'touch /workspace/canary'
        git config uploadpack.packObjectsHook 'touch /workspace/canary'
    "#;
    let run = format!("run full -w {dir} --name s --apply never -- bash -c");
    ctx.exits(120, &run, script)?;
    let text = ctx
        .ok("commits s")?
        .expect_text("one \\u{1b}[2J \\u{202e} two")?;
    let shown = ctx.ok("commits s --json")?;
    let page = ctx.ok("export s --html -")?.expect_text("commit.name")?;
    for said in [&text.stdout, &shown.stdout, &page.stdout] {
        expect("what the agent wrote is escaped", || {
            !said.contains(['\u{1b}', '\u{202e}'])
        })?;
    }
    let shown: Value = serde_json::from_str(&shown.stdout).map_err(|error| error.to_string())?;
    let tips = shown["tips"].as_array().cloned().unwrap_or_default();
    let state = |name: &str| {
        let tip = tips.iter().find(|tip| tip["name"] == name);
        tip.map(|tip| (tip["state"].clone(), tip["refusal"]["code"].clone()))
    };
    let refused = Some(("refused".into(), "commit.name".into()));
    expect_eq("the bad branch", &state("evil"), &refused)?;
    expect_eq(
        "the good branch",
        &state("good"),
        &Some(("good".into(), Value::Null)),
    )?;
    ctx.lazaret("commits land s --yes")?
        .expect_code(120)?
        .expect_text("evil stays")?;
    expect_eq(
        "refs",
        &refs(&world),
        &"refs/heads/lazaret/s/good\n".to_owned(),
    )?;
    ctx.ok("discard s --yes")?;
    Ok(())
}

/// A kept session and its workspace go on for rounds: each round's commits come home, the host's
/// go in, and the copy follows the host when all of it is merged (GIT-28).
fn both_sides(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let round = |number: usize, script: &str| {
        let tip = world.git("main", &["rev-parse", "main"]);
        let script = format!(
            "set -eu; tip={tip}; {script}; echo {number} > made-{number}; git add -A; \
             git commit -qm 'inside {number}'; git fsck --strict"
        )
        .replace('\n', "");
        let run = format!("run full -w {dir} --name s --keep --apply auto");
        let ran = ctx.exits(120, &run, &script)?;
        ctx.lazaret("commits land s --yes")?.expect_code(0)?;
        world.write(&format!("main/host-{number}"), "host\n");
        world.git("main", &["add", "-A"]);
        world.git("main", &["commit", "-qm", "outside"]);
        Ok::<_, String>(ran)
    };
    round(0, "git checkout -q -b work")?.expect_text("branch work: 1 commit")?;
    let has = "the copy keeps its own history; your new commits are in it as host/main";
    // The files of the host's commits are there, and committed before its history is merged.
    let merge = "test $(git rev-parse host/main) = $tip; test $(git rev-parse host/HEAD) = $tip; \
        git add -A; git commit -qm files; git merge -q --no-edit host/main";
    round(1, merge)?
        .expect_text(has)?
        .expect_text("branch work: ")?;
    world.git("main", &["merge", "-q", "--no-edit", "lazaret/s/work"]);
    let follows = "test $(git rev-parse HEAD) = $tip; test -z \"$(git status --porcelain)\"; \
        test $(git symbolic-ref HEAD) = refs/heads/main; git checkout -q -b again";
    round(2, follows)?
        .expect_text("the copy follows your repository again")?
        .expect_text("branch again: 1 commit")?;
    let surface_before = surface(&world);
    ctx.ok("sync s")?.expect_text(has)?;
    expect_eq(
        "the surface of the repository",
        &surface(&world),
        &surface_before,
    )?;
    // What went in counts as nothing that was made inside.
    round(3, "test $(git rev-parse host/main) = $tip")?.expect_text("branch again: 1 commit")?;
    let log = world.git("main", &["log", "--format=%s", "lazaret/s/again", "main"]);
    for number in 0..4 {
        let subject = format!("inside {number}");
        expect("each commit came home", || {
            log.lines().any(|line| line == subject)
        })?;
    }
    world.git("main", &["fsck", "--strict"]);
    ctx.ok("rm s")?;
    Ok(())
}

/// A copy of one commit keeps its repository, and gets the files of the user's commits.
fn both_sides_shallow(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    profile(ctx, "shallow");
    let dir = world.path("main").display().to_string();
    let run = format!("run shallow -w {dir} --name s --keep --apply auto");
    ctx.exits(
        120,
        &run,
        "echo in > inside; git add inside; git commit -qm inside",
    )?;
    world.write("main/outside", "host\n");
    world.git("main", &["add", "outside"]);
    world.git("main", &["commit", "-qm", "outside"]);
    let why = "the copy has one commit only";
    ctx.ok("sync s --dry-run")?.expect_text(why)?;
    ctx.fails("sync s")?.expect_text(why)?;
    let script = "test -e outside; git log -1 --format=%s; test ! -e .git/refs/remotes/host";
    ctx.exits(120, &run, script)?.expect_text("inside")?;
    ctx.lazaret("commits land s --yes")?.expect_code(0)?;
    // The file was applied as well.
    world.git("main", &["clean", "-fdq"]);
    world.git("main", &["merge", "-q", "--no-edit", "lazaret/s/main"]);
    world.git("main", &["fsck", "--strict"]);
    ctx.ok("sync s --dry-run")?
        .expect_text("the copy would follow your repository again")?;
    ctx.ok("sync s")?
        .expect_text("the copy follows your repository again")?;
    ctx.exits(0, &run, "git log -1 --format=%s; git fsck")?
        .expect_text("Merge")?;
    ctx.ok("rm s --force")?;
    Ok(())
}

//! A containerised development loop: one task from its clone to its pull request, beside another.
//!
//! docs/how-to/devloop.md tells the same for users.

use lazaret_tests::git_world::World;

use super::git::surface;
use super::keeper::state;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::terminal::Person;

scenarios! {
    any engine;
    "seed/devloop" => devloop;
}

/// An interactive shell stands for the agent.
const PROFILE: &str = r#"
image = "postgres"
command = ["bash", "--norc", "-i"]
terminal = true
env = { PS1 = "inside> ", MASTER_KEY = "of-the-tests" }
workspace = { git = "full" }
session = { stay = true }
home = { keep = "session" }
volumes = [{ cache = "cargo", scope = "shared" }]
services = { db = { image = "postgres" } }
setup = [{ run = ["psql", "-h", "localhost", "-v", "ON_ERROR_STOP=1", "-f", "migrations/1.sql"] }]
pr = { file = ".devloop-pr.json" }
gate = { apply = "never" }
"#;

/// Builds, and tests against the database. It leaves a row and what it built.
const TESTS: &str = r#"
set -e
grep -qx downloaded "$CARGO_HOME/registry/crate"
mkdir -p target
printf 'Signature: 8a477f597d28d172789f06886806bc55' > target/CACHEDIR.TAG
echo built > target/built
psql -h localhost -v ON_ERROR_STOP=1 -qc 'insert into rooms values (1)'
"#;

const CANARY: &str = "canary-of-the-host";

fn devloop(ctx: &Ctx) -> Result<(), String> {
    let world = repository();
    credentials(ctx)?;
    ctx.profile("devloop", PROFILE);
    ctx.profile("bare", "image = \"base\"\n");
    let dir = world.path("main").display().to_string();
    let fetch = "mkdir $CARGO_HOME/registry; echo downloaded > $CARGO_HOME/registry/crate";
    let fill = format!("volume fill cargo --from bare -w {dir}");
    ctx.exits(0, &fill, fetch)?;
    let before = surface(&world);

    in_the_terminal(ctx, &dir)?;
    another_task_beside(ctx, &dir)?;
    no_credentials(ctx)?;
    finish_the_task(ctx)?;
    re_enter(ctx)?;
    land_and_request(ctx, &world)?;

    expect_eq("the surface of the repository", &surface(&world), &before)?;
    let open = std::fs::read_to_string(world.path("main/a"));
    expect_eq(
        "open work of the user",
        &open.ok().as_deref(),
        &Some("open\n"),
    )?;
    ctx.ok("rm td-13")?;
    ctx.ok("rm --force td-14")?;
    ctx.ok("volume rm cargo").map(drop)
}

/// A project with a migration and tests; the user has open work in it, and a hub to push to.
fn repository() -> World {
    let world = World::new();
    world.write("main/.gitignore", "target/\n.devloop-pr.json\n");
    world.write("main/migrations/1.sql", "create table rooms (n int);\n");
    world.write("main/test.sh", TESTS);
    world.git("main", &["add", "."]);
    world.git("main", &["commit", "-qm", "base"]);
    world.git("", &["init", "-q", "--bare", "hub"]);
    world.git("main", &["remote", "add", "hub", "../hub"]);
    world.write("main/a", "open\n");
    world
}

/// What a host has that no container may see, and the name that commits get.
fn credentials(ctx: &Ctx) -> Result<(), String> {
    let files = [
        (".ssh/id_ed25519", CANARY),
        (".aws/credentials", CANARY),
        (".config/gh/hosts.yml", CANARY),
        (
            ".gitconfig",
            "[user]\n name = Cook\n email = cook@example.org\n",
        ),
    ];
    for (path, text) in files {
        let path = ctx.home().join(path);
        let parent = path.parent().ok_or("a file has a directory")?;
        std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Attaches, leaves, comes back, and ends the agent with Ctrl-D, which ends nothing else.
fn in_the_terminal(ctx: &Ctx, dir: &str) -> Result<(), String> {
    let person = Person::sit_down(100, 30)?;
    let start = format!("start devloop -w {dir} --from main --name td-13 --attach");
    let start = ctx.call(&start).env("GITHUB_TOKEN", CANARY);
    let started = start.on_terminal(person.terminal()?).start()?;
    person.waits_for("inside> ")?;
    person.types("sh test.sh && echo tests-pa''ssed\r")?;
    person.waits_for("tests-passed")?;
    person.types("\x1dd")?;
    started.wait()?.expect_code(0)?;
    expect_eq("it goes on", &state(ctx, "td-13")?, "running")?;
    let again = Person::sit_down(100, 30)?;
    let attach = ctx.call("attach td-13").on_terminal(again.terminal()?);
    let attached = attach.start()?;
    again.waits_for("tests-passed")?;
    again.types("\x04")?;
    attached.wait()?.expect_code(0)?;
    ctx.ok("wait td-13 --for idle")?;
    expect_eq("rows", &rows(ctx, "td-13")?, "1\n")?;
    ctx.ok("exec td-13 -- cat target/built").map(drop)
}

fn rows(ctx: &Ctx, session: &str) -> Result<String, String> {
    let count = "select count(*) from rooms";
    let psql = [
        "exec",
        session,
        "--",
        "psql",
        "-h",
        "localhost",
        "-Atqc",
        count,
    ];
    Ok(ctx.ok(&psql)?.stdout)
}

/// A second task has a clone, a database and a build directory of its own.
fn another_task_beside(ctx: &Ctx, dir: &str) -> Result<(), String> {
    let start = format!("start devloop -w {dir} --from main --name td-14");
    let script =
        "test ! -e target && sh test.sh && sh test.sh && git commit -q --allow-empty -m 14";
    ctx.exits(0, &start, script)?;
    ctx.ok("wait td-14 --for idle")?;
    expect_eq("the rows of the other", &rows(ctx, "td-14")?, "2\n")?;
    expect_eq("rows", &rows(ctx, "td-13")?, "1\n")?;
    ctx.ok("stop td-14").map(drop)
}

/// The tests' key is there, the host's are not.
fn no_credentials(ctx: &Ctx) -> Result<(), String> {
    let look = format!(
        "echo $MASTER_KEY; for file in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $file; done \
         2>/dev/null | grep -c '{0}[-]of'; ls -A ~/.ssh ~/.aws ~/.config/gh 2>/dev/null; \
         grep -rlsI '{0}[-]of' ~ /workspace /tmp /etc /run; test ! -e /mnt/c",
        CANARY.trim_end_matches("-of-the-host")
    );
    let seen = ctx.ok(&["exec", "td-13", "--", "sh", "-c", &look])?;
    expect_eq("what is in sight", &seen.stdout, "of-the-tests\n0\n")
}

/// Commits, and the text of the pull request, which the agent knows best.
fn finish_the_task(ctx: &Ctx) -> Result<(), String> {
    let work = "set -e; echo 'alter table rooms add at date;' > migrations/2.sql; \
        psql -h localhost -v ON_ERROR_STOP=1 -qf migrations/2.sql; git add -A; \
        git commit -qm 'Note the day'; test -z \"$(git status --porcelain)\"; touch ~/remembered; \
        echo '{\"title\": \"Note the day (TD-13)\", \"body\": \"All reviewers agree.\"}' \
        > .devloop-pr.json";
    ctx.ok(&["exec", "td-13", "--", "sh", "-c", work]).map(drop)
}

/// Code, database, home and what was built outlive a stop.
fn re_enter(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("stop td-13")?;
    ctx.ok("start td-13")?;
    let look = "set -e; git log --format=%s -1; cat target/built; ls ~/remembered; \
        psql -h localhost -Atqc 'select count(at) from rooms'";
    let seen = ctx.ok(&["exec", "td-13", "--", "sh", "-c", look])?;
    let expected = "Note the day\nbuilt\n/home/agent/remembered\n0\n";
    expect_eq("what was there before", &seen.stdout, expected)?;
    ctx.ok("stop td-13").map(drop)
}

/// The user's own git pushes the landed branch, with the agent's text.
fn land_and_request(ctx: &Ctx, world: &World) -> Result<(), String> {
    ctx.ok("commits td-13")?
        .expect_text("branch td-13 -> lazaret/td-13/td-13")?;
    ctx.lazaret("commits land td-13 --yes")?.expect_code(0)?;
    let log = ["log", "-2", "--format=%s %an <%ae>", "lazaret/td-13/td-13"];
    let expected = "Note the day Cook <cook@example.org>\nbase A <a@example.org>\n";
    expect_eq("the landed branch", &world.git("main", &log), expected)?;
    ctx.ok("pr td-13 --remote hub --yes --with none")?
        .expect_text("title   Note the day (TD-13)")?;
    let tip = |dir| world.git(dir, &["rev-parse", "refs/heads/lazaret/td-13/td-13"]);
    expect_eq("the pushed branch", &tip("hub"), &tip("main"))?;
    expect("the text of the request stays out", || {
        !world.path("main/.devloop-pr.json").exists()
    })
}

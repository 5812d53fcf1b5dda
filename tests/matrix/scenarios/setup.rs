//! Steps before a command: `[[setup]]`.

use rustix::process::Signal;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::{SOON, until_taken_back};

scenarios! {
    "setup/runs-once" => once;
    "setup/fails" => fails;
    "setup/is-interrupted" => interrupted;
    "setup/fills-the-disk" => fills_the_disk;
}

const TREE: &str = "f a \"a\\n\"";

/// Each of the first two makes a table, and fails if it runs twice.
const STEPS: &str = r#"
[[setup]]
run = ["psql", "-h", "localhost", "-v", "ON_ERROR_STOP=1", "-f", "schema.sql"]

[[setup]]
run = ["psql", "-h", "localhost", "-c", "create table inside ()"]
in = "db"

[[setup]]
run = ["sh", "-c", "echo $WORD >> seen"]
always = true
"#;

const TABLES: &str = "select string_agg(relname, ' ' order by relname) from pg_class \
                      where relnamespace = 'public'::regnamespace";

/// Starts the session again, and waits until its command has ended.
fn start_again(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("start s --stay")?;
    ctx.ok("wait s --for idle").map(drop)
}

fn tables(ctx: &Ctx) -> Result<String, String> {
    let psql = [
        "exec",
        "s",
        "--",
        "psql",
        "-h",
        "localhost",
        "-Atqc",
        TABLES,
    ];
    Ok(ctx.ok(&psql)?.stdout)
}

fn once(ctx: &Ctx) -> Result<(), String> {
    let shop = "image = \"postgres\"\nenv.WORD = \"set-up\"\nservices.db.image = \"postgres\"\n";
    ctx.profile("shop", &format!("{shop}{STEPS}"));
    ctx.workspace("project", "f schema.sql \"create table t (n int);\\n\"");
    ctx.ok("run shop -w project --dry-run")?
        .expect_text("  db       image postgres")?
        .expect_text("  db       psql -h localhost -c 'create table inside ()'")?
        .expect_text("sh -c 'echo $WORD >> seen', before each command")?;
    ctx.exits(0, "start shop -w project --name s --stay", "true")?;
    ctx.ok("wait s --for idle")?;
    ctx.ok("logs s --setup 1")?.expect_text("CREATE TABLE")?;
    expect_eq("tables", &tables(ctx)?, &"inside t\n".to_owned())?;
    ctx.ok("stop s")?;
    start_again(ctx)?;
    let seen = ctx.ok(&["exec", "s", "--", "cat", "seen"])?;
    expect_eq("seen", &seen.stdout, "set-up\nset-up\n")?;
    ctx.ok("stop s")?;
    // A step that is another one is due.
    let steps = STEPS.replace("inside", "more");
    ctx.profile("shop", &format!("{shop}{steps}"));
    start_again(ctx)?;
    expect_eq("tables", &tables(ctx)?, &"inside more t\n".to_owned())?;
    ctx.fails("logs s --setup 9")?
        .expect_text("session s has no log of a setup step 9")?;
    ctx.ok("stop s")?;
    // The copy goes, the database stays: so does what was done in it.
    ctx.ok("discard s --yes")?;
    ctx.profile("shop", &format!("{shop}{}", in_db(&steps)));
    ctx.exits(0, "start shop -w project --name s --stay", "true")?;
    ctx.ok("wait s --for idle")?;
    expect_eq("tables", &tables(ctx)?, &"inside more t\n".to_owned())?;
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

/// Takes the steps of the database alone.
fn in_db(steps: &str) -> String {
    let steps = steps
        .split("[[setup]]")
        .filter(|step| step.contains("in = \"db\""));
    steps.map(|step| format!("[[setup]]{step}")).collect()
}

/// A profile with one step.
fn profile(ctx: &Ctx, script: &str, more: &str) {
    let text = format!("image = \"base\"\n[[setup]]\nrun = [\"sh\", \"-c\", \"{script}\"]\n{more}");
    ctx.profile("stepped", &text);
}

fn fails(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    profile(ctx, "seq 100; echo no such table; exit 3", "");
    let ended = ctx
        .exits(125, "run stepped -w project --name s", "echo it ran")?
        .expect_text("setup step 1 ended with exit code 3: sh -c ")?
        .expect_text("82\n")?
        .expect_text("no such table")?;
    expect("twenty lines and no more", || {
        !ended.stderr.contains("81\n")
    })?;
    expect("the command did not start", || {
        !ended.stdout.contains("it ran")
    })?;
    expect_eq("what is left", &ctx.objects()?.len(), &0)?;
    profile(ctx, "exec sleep 600", "within = \"2s\"\n");
    ctx.exits(125, "run stepped -w project --name s", "echo it ran")?
        .expect_text("setup step 1 took longer than 2 s: sh -c 'exec sleep 600'")?;
    expect_eq("what is left", &ctx.objects()?.len(), &0)?;
    // What a kept session holds is not touched by a step that fails later.
    let work = "run stepped -w project --name s --keep --apply never";
    profile(ctx, "true", "");
    ctx.exits(120, work, "echo work > made")?;
    profile(ctx, "exit 4", "");
    ctx.exits(125, work, "echo it ran")?
        .expect_text("setup step 1 ended with exit code 4")?
        .expect_text("it printed nothing")?;
    ctx.ok("diff s")?.expect_text("made")?;
    profile(ctx, "true", "");
    ctx.exits(120, work, "cat made")?.expect_text("work")?;
    ctx.ok("discard s --yes")?;
    ctx.ok("rm s").map(drop)
}

/// A step that fills the copy, and one that fills the data of a service.
fn fills_the_disk(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let small = "[limits]\ndisk = \"64m\"\ninodes = 2000\n";
    let service =
        "[services.db]\nimage = \"base\"\ndata = \"/data\"\ncommand = [\"sleep\", \"600\"]\n";
    for (fill, place, word) in [
        (
            "head -c 100m /dev/zero > big",
            "command",
            "`limits.disk` allows 64.0 MiB",
        ),
        (
            "head -c 100m /dev/zero > /data/big",
            "db",
            "`limits.disk` allows 64.0 MiB",
        ),
        (
            "for i in $(seq 4000); do : > $i; done",
            "command",
            "`limits.inodes` allows 2,000 files",
        ),
    ] {
        let script = format!("{fill}; exec sleep 600");
        profile(ctx, &script, &format!("in = \"{place}\"\n{small}{service}"));
        let ended = ctx
            .exits(125, "run stepped -w project --name s", "echo it ran")?
            .expect_text("setup step 1 was ended: the session holds ")?
            .expect_text(word)?;
        expect("the command did not start", || {
            !ended.stdout.contains("it ran")
        })?;
        expect_eq("what is left", &ctx.objects()?.len(), &0)?;
    }
    Ok(())
}

/// By the user, and by the end of either process.
fn interrupted(ctx: &Ctx) -> Result<(), String> {
    profile(ctx, "echo begun; exec sleep 600", "");
    ctx.workspace("project", TREE);
    for ending in ["interrupt", "kill", "kill the keeper"] {
        let run = ctx.script("run stepped -w project --name s", "echo it ran");
        let running = run.start()?;
        running.wait_until("the step has begun", SOON, || {
            let log = ctx.lazaret("logs s --setup 1");
            log.is_ok_and(|log| log.output().stdout == "begun\n")
        })?;
        match ending {
            "interrupt" => {
                // A session that starts is not at rest.
                let wait = "wait s --for ready --timeout 1s";
                ctx.lazaret(wait)?.expect_code(124)?;
                running.signal(Signal::INT)?;
                running.wait()?.expect_code(130)?;
            }
            "kill" => {
                running.signal(Signal::KILL)?;
                running.ends()?;
            }
            _ => {
                running.signal_keeper(Signal::KILL)?;
                running.ends()?;
                ctx.ok("recover")?;
            }
        }
        until_taken_back(ctx)?;
    }
    Ok(())
}

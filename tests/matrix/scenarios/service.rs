//! Servers beside a command: `[services]`, `lazaret services`, and what becomes of them.

use serde_json::Value;

use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::wait_until;

scenarios! {
    "service/postgres-in-two-sessions" => two_sessions;
    "service/held-as-the-command-is" => held;
    "service/stops-by-its-signal" => stops;
    "service/dies-and-is-restarted" => dies;
    "service/not-ready" => not_ready;
    "service/killed-with-its-keeper" => killed;
    "service/redis" => redis;
    "service/data-of-one-start" => of_one_start;
    "service/required-and-down" => required;
}

const TREE: &str = "f a \"a\\n\"";

/// The command's image has the client.
const PROFILE: &str = "image = \"postgres\"\nservices.db = { image = \"postgres\" }\n";

/// Starts a session that stays.
fn start(ctx: &Ctx, profile: &str, workspace: &str, session: &str) -> Result<(), String> {
    let line = format!("start {profile} -w {workspace} --name {session} --stay");
    ctx.exits(0, &line, "true")?;
    ctx.ok(&format!("wait {session} --for idle")).map(drop)
}

/// What PostgreSQL answers in a session.
fn sql(ctx: &Ctx, session: &str, statement: &str) -> Result<String, String> {
    let psql = ["psql", "-h", "localhost", "-Atqc", statement];
    let line = [&["exec", session, "--"][..], &psql].concat();
    Ok(ctx.ok(&line)?.stdout)
}

/// What the service of a session says of itself: its state and its restarts.
fn state(ctx: &Ctx, session: &str) -> Result<(String, u64), String> {
    let services = ctx.run_json(&["--json", "services", session])?;
    let db = &services["services"][0];
    let state = db["state"].as_str().unwrap_or_default().to_owned();
    Ok((state, db["restarts"].as_u64().unwrap_or_default()))
}

/// How many containers and volumes of services there are.
fn objects(ctx: &Ctx) -> Result<[usize; 2], String> {
    let objects = ctx.objects()?;
    let services = objects
        .iter()
        .filter(|object| object.to_string().contains("-s_"));
    let (volumes, containers): (Vec<_>, Vec<_>) =
        services.partition(|object| matches!(object, api::Object::Volume { .. }));
    Ok([containers.len(), volumes.len()])
}

fn two_sessions(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("shop", PROFILE);
    ctx.profile("bare", "image = \"postgres\"\n");
    for workspace in ["one", "two", "three"] {
        ctx.workspace(workspace, TREE);
    }
    start(ctx, "shop", "one", "a")?;
    start(ctx, "shop", "two", "b")?;
    start(ctx, "bare", "three", "c")?;
    sql(
        ctx,
        "a",
        "create table t (n int); insert into t values (41), (1)",
    )?;
    sql(ctx, "b", "create table t (n int); insert into t values (7)")?;
    expect_eq("a's", &sql(ctx, "a", "select sum(n) from t")?, "42\n")?;
    expect_eq("b's", &sql(ctx, "b", "select sum(n) from t")?, "7\n")?;
    let by_name = ["exec", "b", "--", "pg_isready", "-h", "db"];
    ctx.ok(&by_name)?;
    // No other session reaches either.
    let knock = [
        "exec",
        "c",
        "--",
        "bash",
        "-c",
        "exec 3<> /dev/tcp/127.0.0.1/5432",
    ];
    ctx.fails(&knock)?.expect_text("refused")?;
    ctx.ok("ls")?.expect_text("(db ready)")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[2, 2])?;
    // It is kept over the end of its session, and of nothing else.
    ctx.ok("stop a")?;
    expect_eq("a's state", &state(ctx, "a")?.0, "stopped")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[1, 2])?;
    ctx.ok("start a --stay")?;
    ctx.ok("wait a --for idle")?;
    expect_eq("a's", &sql(ctx, "a", "select sum(n) from t")?, "42\n")?;
    ctx.ok("stop a")?;
    // Also in a `run` of that session, which is a command of its own.
    let script = "psql -h localhost -Atqc 'select max(n) from t'";
    ctx.exits(0, "run shop -w one --name a", script)?
        .expect_text("41\n")?;
    ctx.ok("rm a")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[1, 1])?;
    ctx.ok("stop b")?;
    ctx.ok("stop c")?;
    ctx.ok("rm b")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[0, 0])
}

/// PostgreSQL runs programs for its superuser: so they say how it is held.
fn held(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("shop", PROFILE);
    ctx.workspace("project", TREE);
    start(ctx, "shop", "project", "s")?;
    let look = "id -u; grep -E ^\\(CapBnd\\|NoNewPrivs\\|Seccomp\\): /proc/self/status | \
        tr -d \\\\t; ls -A /workspace | wc -l; touch /x 2> /dev/null || echo read-only; \
        cat /proc/1/comm; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d \\\\40";
    let statement = format!(
        "create temp table seen (line text); copy seen from program '{look}'; select * from seen"
    );
    let seen = sql(ctx, "s", &statement)?;
    let expected =
        "1000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n0\nread-only\nporter\nlo\n";
    expect_eq("what it sees", &seen, expected)?;
    // The command sees nothing of it but its port.
    let look = [
        "exec",
        "s",
        "--",
        "sh",
        "-c",
        "ls /data; grep -l ^postgres /proc/[0-9]*/comm",
    ];
    expect("nothing of it is in sight", || {
        ctx.lazaret(&look)
            .is_ok_and(|ended| !ended.output().stdout.contains("/proc/"))
    })?;
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

/// By PID 1 and by the engine.
fn stops(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("shop", PROFILE);
    ctx.workspace("project", TREE);
    for starter in ["", "engine"] {
        let script = "psql -h localhost -Atqc 'select 6 * 7'";
        let run = ctx.script("run shop -w project --name s", script);
        let run = match starter {
            "" => run,
            starter => run.env("LAZARET_STARTER", starter),
        };
        run.run()?.expect_code(0)?.expect_text("42\n")?;
        ctx.ok("logs s --service db")?
            .expect_text("received fast shutdown request")?
            .expect_text("database system is shut down")?;
        ctx.fails("logs s --service none")?
            .expect_text("session s has no service none")?;
    }
    ctx.ok("rm s").map(drop)
}

fn dies(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("shop", PROFILE);
    ctx.workspace("project", TREE);
    start(ctx, "shop", "project", "s")?;
    sql(ctx, "s", "create table t as select 42 as n")?;
    // Its container, then its process.
    let objects = ctx.objects()?;
    let container = objects.iter().find(|object| {
        object.to_string().contains("container") && object.to_string().contains("-s_db")
    });
    let container = container.ok_or("the service has no container")?;
    api::kill(&ctx.engine().socket(), container)?;
    is_back(ctx, 1)?;
    let kill =
        "copy (select 1) to program 'read pid < /data/postgres/postmaster.pid; kill -9 $pid'";
    let psql = ["exec", "s", "--", "psql", "-h", "localhost", "-c", kill];
    drop(ctx.lazaret(&psql)?.output());
    is_back(ctx, 2)?;
    expect_eq("its data", &sql(ctx, "s", "select n from t")?, "42\n")?;
    ctx.ok("services s --restart db")?;
    is_back(ctx, 3)?;
    expect_eq("its data", &sql(ctx, "s", "select n from t")?, "42\n")?;
    ctx.lazaret("services s --restart none")?.expect_code(1)?;
    ctx.ok("events s")?
        .expect_text("service db is waiting: exit code")?
        .expect_text("service db is ready")?;
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

fn is_back(ctx: &Ctx, restarts: u64) -> Result<(), String> {
    let expected = ("ready".to_owned(), restarts);
    wait_until("the service is back", || Ok(state(ctx, "s")? == expected))
}

fn not_ready(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let service = |command: &str| {
        format!(
            "image = \"base\"\n[services.db]\nimage = \"base\"\ndata = \"/data\"\n\
             command = [\"sh\", \"-c\", \"{command}\"]\nready = {{ tcp = 5432 }}\nwithin = \"2s\"\n"
        )
    };
    for (command, said) in [
        (
            "seq 100 >&2; echo no disk today >&2; sleep 600",
            "service db is not ready after 2 s",
        ),
        (
            "seq 100 >&2; echo no disk today >&2; exit 3",
            "service db ended with exit code 3",
        ),
    ] {
        ctx.profile("broken", &service(command));
        let ended = ctx.exits(125, "run broken -w project --name s", "echo it ran")?;
        let ended = ended
            .expect_text(said)?
            .expect_text("its log ends with:")?
            .expect_text("82\n")?
            .expect_text("no disk today")?;
        expect("twenty lines and no more", || {
            !ended.stderr.contains("81\n")
        })?;
        expect("the command did not start", || {
            !ended.stdout.contains("it ran")
        })?;
        expect_eq("what is left", &ctx.objects()?.len(), &0)?;
    }
    ctx.profile(
        "none",
        "image = \"base\"\nservices.db = { image = \"base\" }\n",
    );
    ctx.exits(125, "run none -w project", "true")?
        .expect_text("service db has no command, and image base says none")
        .map(drop)
}

fn killed(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("shop", PROFILE);
    ctx.workspace("project", TREE);
    start(ctx, "shop", "project", "s")?;
    sql(ctx, "s", "create table t as select 42 as n")?;
    ctx.kill_keeper("s")?;
    ctx.ok("recover s")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[0, 1])?;
    ctx.ok("start s --stay")?;
    ctx.ok("wait s --for idle")?;
    expect_eq("its data", &sql(ctx, "s", "select n from t")?, "42\n")?;
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

fn redis(ctx: &Ctx) -> Result<(), String> {
    ctx.profile(
        "fast",
        "image = \"redis\"\nservices.cache = { image = \"redis\" }\n",
    );
    ctx.workspace("project", TREE);
    ctx.exits(0, "run fast -w project --name s", "redis-cli set n 42")?
        .expect_text("OK\n")?;
    let again = ctx.exits(0, "run fast -w project --name s --json", "redis-cli get n")?;
    let report: Value = again.json()?;
    expect("it ran", || report.is_object())?;
    ctx.ok("logs s")?.expect_text("42\n")?;
    ctx.ok("rm s").map(drop)
}

fn of_one_start(ctx: &Ctx) -> Result<(), String> {
    let profile = PROFILE.replace("\"postgres\" }", "\"postgres\", keep = \"run\" }");
    let step =
        "[[setup]]\nrun = [\"psql\", \"-h\", \"localhost\", \"-c\", \"create table t ()\"]\n";
    ctx.profile("shop", &format!("{profile}{step}"));
    ctx.workspace("project", TREE);
    start(ctx, "shop", "project", "s")?;
    sql(ctx, "s", "create table other ()")?;
    ctx.ok("stop s")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[0, 0])?;
    // The step is due again: its table is gone with the volume.
    ctx.ok("start s --stay")?;
    ctx.ok("wait s --for idle")?;
    sql(ctx, "s", "create table other ()")?;
    // Also after a keeper that had no time to remove it.
    ctx.kill_keeper("s")?;
    ctx.ok("recover s")?;
    ctx.ok("start s --stay")?;
    ctx.ok("wait s --for idle")?;
    sql(ctx, "s", "create table other ()")?;
    ctx.ok("stop s")?;
    ctx.ok("rm s")?;
    expect_eq("containers and volumes", &objects(ctx)?, &[0, 0])
}

fn required(ctx: &Ctx) -> Result<(), String> {
    let profile = "image = \"base\"\n[services.db]\nimage = \"base\"\nrequired = true\n\
                   command = [\"sh\", \"-c\", \"sleep 1; exit 3\"]\n";
    ctx.profile("shop", profile);
    ctx.workspace("project", TREE);
    ctx.exits(
        0,
        "start shop -w project --name s",
        "echo work > made; sleep 600",
    )?;
    ctx.ok("wait s --for exit")?;
    ctx.ok("events s")?
        .expect_text("service db is down: exit code 3")?
        .expect_text("a service that the profile requires is down")?;
    ctx.ok("diff s")?.expect_text("made")?;
    ctx.ok("discard s --yes")?;
    ctx.ok("rm s").map(drop)
}

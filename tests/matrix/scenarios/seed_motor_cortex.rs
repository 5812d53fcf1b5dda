//! Skills on a copy in a volume: files in, tool calls, files out through limits, nothing left.
//!
//! docs/how-to/skills.md tells the same for users.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Output;

scenarios! {
    any engine;
    "seed/motor-cortex" => motor_cortex;
}

const PROFILE: &str = r#"
image = "base"
volumes = [{ name = "deps", target = "/deps", scope = "shared", access = "read-only" }]
gate = { apply = "auto", max_entries = 500, max_bytes = "50m" }
"#;

const TREE: &str = "f skill.md \"look\\n\"\nf src/a \"a\\n\"\n";

fn motor_cortex(ctx: &Ctx) -> Result<(), String> {
    ctx.profile("skills", PROFILE);
    let staging = ctx.workspace("staging", TREE);
    let fill = "volume fill deps --from skills -w staging";
    ctx.exits(0, fill, "mkdir /deps/lib; echo lib > /deps/lib/one")?;

    copied_in(ctx)?;
    tool_calls(ctx)?;
    copied_out(ctx, &staging)?;
    what_is_rejected(ctx, &staging)?;
    the_limits(ctx, &staging)?;
    nothing_is_left(ctx)?;
    ctx.ok("volume rm deps").map(drop)
}

/// One volume and one container that belong to the run; the staging directory is not mounted.
fn copied_in(ctx: &Ctx) -> Result<(), String> {
    ctx.exits(0, "start skills -w staging --name run-1 --stay", "true")?;
    ctx.ok("wait run-1 --for idle")?;
    let objects = ctx.objects()?;
    let is_of_run = |object: &&api::Object| object.to_string().contains("run-1");
    let of_run: Vec<_> = objects.iter().filter(is_of_run).collect();
    expect(&format!("a volume and a container: {of_run:?}"), || {
        let is_volume = |object: &&&api::Object| matches!(object, api::Object::Volume { .. });
        of_run.len() == 2 && of_run.iter().filter(is_volume).count() == 1
    })?;
    let look = "id -u; stat -c '%u:%g %n' . skill.md src/a; cat skill.md; \
        grep -c staging /proc/self/mountinfo || true";
    let seen = call(ctx, look)?.stdout;
    let expected = "1000\n1000:1000 .\n1000:1000 skill.md\n1000:1000 src/a\nlook\n0\n";
    expect_eq("what a tool sees", &seen, expected)
}

/// A tool call, of whose output 64 KiB come back.
fn call(ctx: &Ctx, script: &str) -> Result<Output, String> {
    let words = [
        "exec", "run-1", "--cap", "64k", "--spill", "--", "sh", "-c", script,
    ];
    ctx.ok(&words)
}

fn tool_calls(ctx: &Ctx) -> Result<(), String> {
    let all: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let flood = call(ctx, "seq 100000; echo few >&2")?;
    expect_eq("what comes back", &flood.stdout, &all[..64 << 10])?;
    expect("stderr was not cut", || flood.stderr.contains("few\n"))?;
    // The next call reads the rest, where the warning says.
    let path = (flood.stderr.split_whitespace()).find(|word| word.starts_with("/tmp/lazaret/"));
    let path = path.ok_or("no file is named")?;
    expect("all is counted", || {
        flood.stderr.contains(&all.len().to_string())
    })?;
    let rest = ctx.ok(&["exec", "run-1", "--", "cat", path])?;
    expect("the rest is whole", || rest.stdout == all[64 << 10..])?;
    let again = call(ctx, "ls $LAZARET_SPILL")?.stdout;
    expect_eq(
        "its name",
        &again.trim(),
        &path.trim_start_matches("/tmp/lazaret/"),
    )?;
    // Without the flag the rest is gone; the process ends as ever.
    let words = [
        "exec",
        "run-1",
        "--cap",
        "10",
        "--",
        "sh",
        "-c",
        "seq 100000; exit 3",
    ];
    let cut = ctx.lazaret(&words)?.expect_code(3)?;
    expect_eq("ten bytes", &cut.stdout, "1\n2\n3\n4\n5\n")?;
    cut.expect_text("was dropped")?;
    // Dependencies are there, for reading.
    let deps = "cat /deps/lib/one; (echo evil > /deps/lib/one) 2>/dev/null || echo refused; \
        touch /deps/new 2>/dev/null || echo refused";
    expect_eq(
        "dependencies",
        &call(ctx, deps)?.stdout,
        "lib\nrefused\nrefused\n",
    )?;
    call(ctx, "echo result > result; rm src/a").map(drop)
}

fn copied_out(ctx: &Ctx, staging: &Path) -> Result<(), String> {
    expect("nothing comes before the end", || {
        !staging.join("result").exists()
    })?;
    ctx.ok("stop run-1")?;
    ctx.tree_is(
        staging,
        "f result \"result\\n\"\nf skill.md \"look\\n\"\nd src/\n",
    )?;
    let owner = |path: &Path| fs::metadata(path).map(|meta| (meta.uid(), meta.gid()));
    let owners = [owner(staging), owner(&staging.join("result"))];
    let [of_staging, of_result] = owners.map(|owner| owner.map_err(|error| error.to_string()));
    expect_eq("the user owns it", &of_result?, &of_staging?)
}

/// Links that lead out, FIFOs and sockets: all of the batch waits, and none of it is applied.
fn what_is_rejected(ctx: &Ctx, staging: &Path) -> Result<(), String> {
    let before = lazaret_tests::tree_text::dump(staging);
    for (made, path) in [
        ("ln -s /etc/passwd link", "link"),
        ("ln -s ../../outside link", "link"),
        ("mkfifo fifo", "fifo"),
        (
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"sock\", Listen => 1)'",
            "sock",
        ),
    ] {
        let script = format!("echo fine > fine; {made}; test -e fine");
        let ended = ctx.exits(120, "run skills -w staging --name run-2", &script)?;
        ended.expect_text(path)?;
        ctx.tree_is(staging, &before)?;
        ctx.ok("rm --force run-2")?;
    }
    Ok(())
}

fn the_limits(ctx: &Ctx, staging: &Path) -> Result<(), String> {
    let before = lazaret_tests::tree_text::dump(staging);
    let run = "run skills -w staging --name run-3 --json";
    for (script, finding) in [
        (
            "mkdir many; cd many; seq 501 | xargs touch",
            "limit.entries",
        ),
        (
            "for n in $(seq 4); do head -c 13107201 /dev/zero > big$n; done",
            "limit.total_bytes",
        ),
    ] {
        let report = ctx.exits(121, run, script)?.json()?;
        expect_eq("the finding", &report["findings"][0]["code"], finding)?;
        ctx.tree_is(staging, &before)?;
        ctx.ok("rm --force run-3")?;
    }
    // No file grows beyond the bound: the program is ended by SIGXFSZ.
    ctx.exits(153, run, "head -c 52428801 /dev/zero > big")?;
    ctx.tree_is(staging, &before)?;
    ctx.ok("rm --force run-3")?;
    // As much as is allowed comes.
    let script = "mkdir many; cd many; seq 400 | xargs touch; for n in 1 2 3; do \
        head -c 16000000 /dev/zero > big$n; done";
    ctx.exits(0, run, script)?;
    let count = fs::read_dir(staging.join("many")).map_err(|error| error.to_string())?;
    expect_eq("files", &count.count(), &403)?;
    ctx.ok("undo run-3")?;
    ctx.tree_is(staging, &before)
}

/// After an end, a start that fails, and a launcher that is killed.
fn nothing_is_left(ctx: &Ctx) -> Result<(), String> {
    let of_runs = || -> Result<usize, String> {
        let objects = ctx.objects()?;
        let is_of_run = |object: &&api::Object| object.to_string().contains("run-");
        Ok(objects.iter().filter(is_of_run).count())
    };
    expect_eq("after the runs", &of_runs()?, &0)?;
    ctx.lazaret("run skills -w staging --name run-4 -- no-such-program")?
        .expect_code(127)?;
    expect_eq("after a start that failed", &of_runs()?, &0)?;
    ctx.exits(0, "start skills -w staging --name run-5 --stay", "true")?;
    ctx.ok("wait run-5 --for idle")?;
    ctx.kill_keeper("run-5")?;
    // What was made is kept for the user, and goes with the session.
    ctx.ok("recover run-5")?;
    let containers = ctx
        .objects()?
        .iter()
        .any(|object| matches!(object, api::Object::Container { .. }));
    expect("no container is left", || !containers)?;
    ctx.ok("rm --force run-5")?;
    expect_eq("after a killed keeper", &of_runs()?, &0)
}

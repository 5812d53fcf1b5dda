//! The host's own faults: disks, streams, and others who want the same.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::{Ended, Line};
use crate::unshared::Unshared;
use crate::watch::{SOON, stamp};

scenarios! {
    "fault/full-disk-on-the-host" => full_disk;
    "fault/read-only-state" => read_only_state;
    "fault/two-launchers-on-one-session" => two_launchers;
    "fault/two-applies-at-once" => two_applies;
    "fault/volume-name-is-taken" => volume_name_is_taken;
    "fault/container-name-is-taken" => container_name_is_taken;
    "fault/output-flood" => output_flood;
    "fault/closed-stdout" => closed_stdout;
    "fault/full-stdout" => full_stdout;
}

const TREE: &str = "f a \"a\\n\"";

/// Lazaret with a state directory that only it sees: a small or a locked one.
struct Confined<'a> {
    ctx: &'a Ctx,
    unshared: Unshared,
    workspace: PathBuf,
}

impl<'a> Confined<'a> {
    /// The store gets its id outside, so that its objects are found from there too.
    fn new(ctx: &'a Ctx, mount: &str) -> Result<Self, String> {
        let workspace = ctx.workspace("project", TREE);
        let _id = ctx.store_id();
        let state = ctx.state();
        let script = format!("state={}\n{mount}", state.display());
        Ok(Self {
            ctx,
            unshared: Unshared::new(&script)?,
            workspace,
        })
    }

    fn lazaret(&self, line: &(impl Line + ?Sized)) -> Result<Ended, String> {
        self.ctx.call(line).behind(self.unshared.view()).run()
    }

    fn run(&self, script: &str) -> Result<Ended, String> {
        let workspace = self.workspace.display().to_string();
        self.lazaret(&[
            "run", "base", "-w", &workspace, "--name", "s", "--apply", "auto", "--", "sh", "-c",
            script,
        ])
    }

    /// A path below the state directory, as lazaret sees it.
    fn state(&self, name: &str) -> PathBuf {
        self.unshared.path(&self.ctx.state().join(name))
    }
}

/// The quarantine does not fit: the volume is kept, and later on everything comes out.
fn full_disk(ctx: &Ctx) -> Result<(), String> {
    let mount = "cp -r $state $state.outside\n\
        mount -t tmpfs -o mode=0700,size=64m tmpfs $state\n\
        cp -r $state.outside/. $state";
    let confined = Confined::new(ctx, mount)?;
    let before = stamp(&confined.workspace);
    let script = "head -c 200000000 /dev/zero > big; echo work >> a";
    confined
        .run(script)?
        .expect_code(125)?
        .expect_text("No space left on device")?
        .expect_text("recover s")?;
    expect_eq("the workspace", &stamp(&confined.workspace), &before)?;
    let left = size_of(&confined.state("sessions/s/quarantine"));
    expect(&format!("the spool of {left} bytes is removed"), || {
        left < 1 << 20
    })?;
    let objects = ctx.objects()?;
    expect(&format!("only the volume is kept, of {objects:?}"), || {
        objects.len() == 1
    })?;
    let listed = confined
        .lazaret(&["ls", "--json"])?
        .expect_code(0)?
        .json()?;
    expect_eq("its state", &listed[0]["state"], "broken")?;

    // As full as before: it fails again, and again nothing is lost.
    confined
        .lazaret(&["recover", "s"])?
        .expect_code(125)?
        .expect_text("No space left on device")?;
    let state = ctx.state();
    confined
        .unshared
        .sh(&format!("mount -o remount,size=1g {}", state.display()))?;
    confined.lazaret(&["recover", "s"])?.expect_code(0)?;
    confined.lazaret(&["apply", "s", "--yes"])?.expect_code(0)?;
    let content = fs::read(confined.workspace.join("a")).map_err(|error| error.to_string())?;
    expect_eq("the work", &content, &b"a\nwork\n".to_vec())?;
    let big = fs::read(confined.workspace.join("big")).map_err(|error| error.to_string())?;
    expect("the large file is whole", || {
        big.len() == 200_000_000 && big.iter().all(|byte| *byte == 0)
    })?;
    confined.lazaret(&["prune", "--yes"])?.expect_code(0)?;
    Ok(())
}

fn size_of(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// Refused before anything is made.
fn read_only_state(ctx: &Ctx) -> Result<(), String> {
    let mount = "mount --bind $state $state\nmount -o remount,bind,ro $state";
    let confined = Confined::new(ctx, mount)?;
    confined
        .run("true")?
        .expect_code(125)?
        .expect_text("Read-only file system")?;
    let objects = ctx.objects()?;
    expect("nothing was made on the engine", || objects.is_empty())
}

/// While one is at work, every other is sent away, by every verb that would change something.
fn two_launchers(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let run = |script| {
        ctx.script("run base -w project --name s --apply auto", script)
            .start()
    };
    let first = run("echo up and running; while ! test -e go; do sleep 0.1; done; echo one > one")?;
    first.until_said("up and running")?;
    run("echo two > two")?
        .wait()?
        .expect_code(1)?
        .expect_text("in use by another lazaret")?;
    for verb in [
        &["recover", "s"] as &[&str],
        &["apply", "s", "--yes"],
        &["discard", "s", "--yes"],
        &["review", "s"],
        &["rm", "--force", "s"],
    ] {
        let output = ctx.lazaret(verb)?;
        expect(&format!("{verb:?} is refused: {}", output.stderr), || {
            output.code == 1 && output.stderr.contains("in use")
        })?;
    }
    let nothing = ctx.ok("recover")?;
    nothing.expect_text("nothing to recover")?;
    let pruned = ctx.run_json("prune --yes --json")?;
    for what in ["sessions", "containers", "volumes"] {
        expect_eq(what, &pruned[what].as_array().map(Vec::len), &Some(0))?;
    }
    first.signal(rustix::process::Signal::INT)?;
    first.wait()?.expect_code(130)?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\n")?;
    ctx.ok("rm --force s")?;
    Ok(())
}

/// Two say yes at the same time: it is done once.
fn two_applies(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "echo more >> a; i=0; while [ $i -lt 100 ]; do echo $i > f$i; i=$((i+1)); done";
    ctx.exits(120, "run base -w project --name s --apply never", script)?;
    let one = ctx.spawn("apply s --yes")?;
    let two = ctx.spawn("apply s --yes")?;
    let (one, two) = (one.wait()?, two.wait()?);
    let mut codes = [one.code, two.code];
    codes.sort_unstable();
    expect_eq(
        &format!("one of them\n{}\n{}", one.stderr, two.stderr),
        &codes,
        &[0, 1],
    )?;
    let content = fs::read(workspace.join("a")).map_err(|error| error.to_string())?;
    expect_eq("done once", &content, &b"a\nmore\n".to_vec())?;
    expect("all of it", || workspace.join("f99").exists())
}

/// What an object of session `s` is called.
fn name(ctx: &Ctx, role: &str) -> String {
    format!("lazaret-s-{}-{role}", &ctx.store_id()[..6])
}

fn refused(ctx: &Ctx, name: &str) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let before = stamp(&workspace);
    ctx.exits(
        125,
        "run base -w project --name s --apply auto",
        "echo x >> a",
    )?
    .expect_text(name)?;
    expect_eq("the workspace", &stamp(&workspace), &before)?;
    let listed = ctx.run_json("ls --json")?;
    expect_eq("sessions", &listed.as_array().map(Vec::len), &Some(0))?;
    let objects = ctx.objects()?;
    expect(&format!("nothing of it is left, of {objects:?}"), || {
        objects.is_empty()
    })
}

/// A volume of that very name has another owner (FLT-13): never filled, never removed.
fn volume_name_is_taken(ctx: &Ctx) -> Result<(), String> {
    let foreign = ctx.foreign_volume_named(name(ctx, "workspace"))?;
    let outcome = refused(ctx, foreign.name());
    ctx.ok("recover")?;
    ctx.ok("prune --yes")?;
    foreign.check_and_remove()?;
    outcome
}

fn container_name_is_taken(ctx: &Ctx) -> Result<(), String> {
    let socket = ctx.engine().socket();
    let name = name(ctx, "agent");
    let foreign = api::create_foreign_container(&socket, &name)?;
    let outcome = refused(ctx, &name);
    ctx.ok("recover")?;
    ctx.ok("prune --yes")?;
    let is_there = api::has_container(&socket, &name);
    api::remove(&socket, &foreign)?;
    expect("the foreign container was left alone", || {
        is_there == Ok(true)
    })?;
    outcome
}

/// A gigabyte without a line break, as fast as it goes: passed on, and kept nowhere.
fn output_flood(ctx: &Ctx) -> Result<(), String> {
    const BYTES: u64 = 1_000_000_000;
    const MEMORY_KIB: u64 = 200 << 10;
    // The first segment and the two newest.
    const LOG: u64 = 3 * (5 << 19);
    ctx.workspace("project", TREE);
    let script = format!("head -c {BYTES} /dev/zero | tr '\\0' x; echo more >> a");
    let lazaret = ctx
        .script("run base -w project --name s --apply auto", &script)
        .stdout_null()
        .start()?;
    let peak = std::cell::Cell::new(0);
    lazaret.wait_until("it ends", Duration::from_secs(500), || {
        // A process that has ended has no memory left to look at.
        let now = lazaret.number("status", "VmHWM");
        peak.set(peak.get().max(now));
        now == 0
    })?;
    lazaret
        .wait()?
        .expect_code(0)?
        .expect_text("the beginning and the end of the output")?;
    expect(&format!("{} KiB of memory are enough", peak.get()), || {
        (1..MEMORY_KIB).contains(&peak.get())
    })?;
    let dir = ctx.state().join("sessions/s/runs/1");
    let segments = fs::read_dir(&dir).map_err(|error| error.to_string())?;
    let sizes = segments.map(|segment| segment.and_then(|one| Ok(one.metadata()?.len())));
    let sizes: Result<Vec<u64>, _> = sizes.collect();
    let kept: u64 = sizes.map_err(|error| error.to_string())?.iter().sum();
    expect(&format!("the log of {kept} bytes is capped"), || {
        (LOG / 2..=LOG).contains(&kept)
    })
}

/// The reader of the output has gone: the command is not disturbed, and nothing is lost.
fn closed_stdout(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let (mut reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let script = "echo first; while ! test -e /tmp/done; do echo line; sleep 0.05; n=$((n+1)); test $n -lt 40 || touch /tmp/done; done; echo more >> a";
    let lazaret = ctx
        .script("run base -w project --name s --apply auto", script)
        .stdout_pipe(writer)
        .start()?;
    let mut first = [0; 5];
    reader
        .read_exact(&mut first)
        .map_err(|error| error.to_string())?;
    drop(reader);
    lazaret.wait_until("it is applied", SOON, || {
        fs::read(workspace.join("a")).is_ok_and(|text| text == b"a\nmore\n")
    })?;
    let output = lazaret.wait()?.expect_code(0)?;
    expect("no panic", || !output.stderr.contains("panicked"))?;
    let logs = ctx.ok("logs s")?.stdout;
    expect("the log has it all", || logs.matches("line").count() == 40)
}

/// The reader of the output has stopped reading: one Ctrl-C ends the command and collects.
fn full_stdout(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let before = stamp(&workspace);
    let (mut reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let lazaret = ctx
        .script(
            "run base -w project --name s --apply auto",
            "echo work >> a; yes",
        )
        .stdout_pipe(writer)
        .start()?;
    let mut first = [0; 2];
    reader
        .read_exact(&mut first)
        .map_err(|error| error.to_string())?;
    let room = rustix::pipe::fcntl_getpipe_size(&reader).map_err(|error| error.to_string())?;
    // A pipe is full when no whole page is left in it.
    lazaret.wait_until("its stdout is full", SOON, || {
        rustix::io::ioctl_fionread(&reader).is_ok_and(|waiting| waiting + 4096 > room as u64)
    })?;
    lazaret.signal(rustix::process::Signal::INT)?;
    lazaret.wait()?.expect_code(130)?;
    drop(reader);
    expect_eq("the workspace", &stamp(&workspace), &before)?;
    ctx.ok("diff s")?.expect_text("+work")?;
    ctx.ok("rm --force s")?;
    Ok(())
}

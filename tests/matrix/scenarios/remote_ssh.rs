//! An engine behind ssh: a real sshd in front of an engine whose disk and network are not ours.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::ctx::{Ctx, expect, expect_eq};
use crate::far_machine::FarMachine;

scenarios! {
    "remote/over-ssh" => over_ssh;
    "remote/a-lost-connection-is-resumed" => lost_connection;
}

/// Until a keeper has given its connection up, which takes a minute longer than the seat waits. Only
/// one that hangs takes that long.
const NOTICED: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(100);

/// Ends in good order when it is told to, or when its connection stays away, and leaves a file that
/// says so.
const WORK: &str = "trap 'echo end > ended; exit 3' TERM HUP; touch begun; \
                    while :; do sleep 0.1; done";

/// A line for each that comes in, and lines of its own meanwhile.
const TALK: &str = "(n=0; while [ $n -lt 300000 ]; do n=$((n+1)); echo tick $n; done) & \
                    while read -r line; do echo got $line; done; wait; exit 3";

/// Lines of input before each loss.
const LINES: usize = 2000;

/// A run, a session whose connection is lost, and what can't be used is said.
fn over_ssh(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let mut far = FarMachine::start(ctx)?;
    let run = "run base -w project --apply auto -- cp a b";
    far.call(run).run()?.expect_code(0)?;
    ctx.tree_is(&workspace, "f a \"a\\n\"\nf b \"a\\n\"\n")?;
    let deadline = Instant::now() + NOTICED;
    while far.connections() > 0 && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    expect_eq("connections after it", &far.connections(), &0)?;

    let start = [
        "start", "base", "-w", "project", "--name", "s", "--", "sh", "-c", WORK,
    ];
    // It does not come back in time.
    let call = far.call(&start).env("LAZARET_RECONNECT", "1");
    call.run()?.expect_code(0)?;
    until(|| {
        let begun = far.call("exec s -- test -e begun").run()?;
        Ok(begun.code == 0)
    })?;
    far.close()?;
    far.call("image ls")
        .run()?
        .expect_code(125)?
        .expect_text("Connection refused")?;
    until(|| Ok(ctx.run_json("ls --json")?[0]["state"] == "broken"))?;
    far.call("recover s").run()?.expect_code(125)?;
    far.open()?;
    far.know("stranger")?;
    far.call("recover s")
        .run()?
        .expect_code(125)?
        .expect_text("Host key verification failed")?;
    far.know("host")?;
    far.call_to("ssh://far/nowhere.sock", "image ls")
        .run()?
        .expect_code(125)?
        .expect_text("/nowhere.sock can't be reached there")?;

    // The command had a while to end; what it wrote then is there.
    until(|| {
        far.call("recover s").run()?.expect_code(0)?;
        Ok(far.call("diff s ended").run()?.stdout.contains("+end"))
    })?;
    far.call("apply s --yes").run()?.expect_code(0)?;
    expect("what it wrote at last", || workspace.join("ended").exists())?;
    far.call("rm --force s").run()?.expect_code(0)?;
    let left = far.objects()?;
    expect(&format!("nothing on the engine, of {left:?}"), || {
        left.is_empty()
    })
}

/// Every byte of a command arrives once, both ways, though `ssh` is killed twice.
fn lost_connection(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let far = FarMachine::start(ctx)?;
    let (reader, mut writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let command = [
        "run", "base", "-i", "-w", "project", "--apply", "auto", "--", "sh", "-c", TALK,
    ];
    let running = far.call(&command).stdin_pipe(reader).start()?;
    let mut sent = 0;
    for _ in 0..2 {
        say(&mut writer, &mut sent)?;
        let last = format!("got {sent}\n");
        until(|| Ok(running.stdout_so_far().contains(&last)))?;
        // More is on its way both ways by then.
        say(&mut writer, &mut sent)?;
        let killed = far.kill_clients()?;
        expect("a connection was killed", || killed > 0)?;
    }
    say(&mut writer, &mut sent)?;
    drop(writer);
    let ended = running.wait()?.expect_code(3)?;
    for (what, count) in [("got", sent), ("tick", 300_000)] {
        let mut expected = (1..=count).map(|number| format!("{what} {number}"));
        let mut lines = ended.stdout.lines().filter(|line| line.starts_with(what));
        let wrong = expected
            .by_ref()
            .zip(lines.by_ref())
            .find(|(one, other)| one != other);
        expect_eq("the first line that is another", &wrong, &None)?;
        expect_eq("the first line that is missing", &expected.next(), &None)?;
        expect_eq("the first line too many", &lines.next(), &None)?;
    }
    for told in [
        "connection to the engine is lost",
        "connection to the engine is back",
    ] {
        expect(told, || ended.stderr.contains(told))?;
    }
    ctx.tree_is(&workspace, "f a \"a\\n\"\n")?;
    let left = far.objects()?;
    expect(&format!("nothing on the engine, of {left:?}"), || {
        left.is_empty()
    })
}

/// Writes the next lines of input.
fn say(writer: &mut std::io::PipeWriter, sent: &mut usize) -> Result<(), String> {
    let lines: String = (*sent + 1..=*sent + LINES)
        .map(|line| format!("{line}\n"))
        .collect();
    *sent += LINES;
    let written = writer.write_all(lines.as_bytes());
    written.map_err(|error| error.to_string())
}

fn until(mut done: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let deadline = Instant::now() + NOTICED;
    while !done()? {
        if Instant::now() > deadline {
            return Err("it did not come to that".to_owned());
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

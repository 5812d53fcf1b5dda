//! Sessions that go on by themselves: `start`, `attach`, `exec`, `stop`, and keepers that die.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Running;
use crate::terminal::Person;
use crate::watch::{sparse, until_taken_back, wait_until};

scenarios! {
    "keeper/start-attach-collect" => start_attach_collect;
    "keeper/stays-until-it-is-stopped" => stays;
    "keeper/exec-is-a-process-beside" => exec;
    "keeper/a-terminal-leaves-and-comes-back" => leaves_and_comes_back;
    "keeper/one-types-others-look-on" => one_types;
    "keeper/a-terminal-that-is-gone" => terminal_is_gone;
    "keeper/begun-and-broken-off" => broken_off;
    "keeper/limits" => limits;
    "keeper/wait-and-events" => wait_and_events;
    "keeper/junk-on-its-socket" => junk;
}

const TREE: &str = "f a \"a\\n\"\n";

/// A command that says what it reads on its terminal.
const PROFILE: &str = "image = \"base\"\ncommand = [\"bash\", \"--norc\", \"-i\"]\nterminal = true\n\
    [env]\nPS1 = \"inside> \"\n";

/// Waits until no keeper has a session.
pub(super) fn at_rest(ctx: &Ctx, session: &str) -> Result<(), String> {
    wait_until(&format!("{session} is at rest"), || {
        Ok(!is_live(ctx, session)?)
    })
}

fn is_live(ctx: &Ctx, session: &str) -> Result<bool, String> {
    let shown = ctx.run_json(&["--json", "show", session])?;
    Ok(shown["live"] == Value::Bool(true))
}

pub(super) fn state(ctx: &Ctx, session: &str) -> Result<String, String> {
    let shown = ctx.run_json(&["--json", "show", session])?;
    Ok(shown["state"].as_str().unwrap_or_default().to_owned())
}

/// Output, exit codes and changes are those of `run`.
fn start_attach_collect(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script = "echo out; echo err >&2; until test -e /tmp/go; do sleep 0.05; done; \
        echo last; echo new > new; exit 7";
    let started = ctx.script("start base -w project --name s", script).run()?;
    started.expect_code(0)?.expect_text("s\n")?;
    expect_eq("its state", &state(ctx, "s")?, "running")?;
    let attached = ctx.call("attach s").start()?;
    attached.until_said("out\n")?;
    ctx.tell("go")?;
    let attached = attached.wait()?.expect_code(7)?;
    expect_eq("stdout", &attached.stdout, "out\nlast\n")?;
    expect("what changed is said beside", || {
        attached.stderr.contains("1 added")
    })?;
    expect("stderr has the command's", || {
        attached.stderr.contains("err\n")
    })?;
    at_rest(ctx, "s")?;
    expect_eq("its state", &state(ctx, "s")?, "kept")?;
    ctx.ok("logs s")?.expect_text("last\n")?;
    expect("nothing was applied", || !workspace.join("new").exists())?;
    ctx.ok("apply s --yes")?;
    expect("its change was applied", || workspace.join("new").exists())?;
    // With no client there, a clean batch is applied.
    let script = "echo second > second";
    ctx.exits(0, "start base -w project --name t --apply auto", script)?;
    at_rest(ctx, "t")?;
    expect("the second was applied", || {
        workspace.join("second").exists()
    })?;
    // A piped client gets each byte, and the exit code of the whole.
    let script = "seq 200000; exit 3";
    let followed = ctx.exits(3, "start base -w project --name u --attach", script)?;
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    expect("each line, in order", || followed.stdout == expected)?;
    at_rest(ctx, "u")?;
    expect_eq("its state", &state(ctx, "u")?, "done")
}

fn stays(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.exits(0, "start base -w project --name s --stay", "echo one > one")?;
    ctx.ok("wait s --for idle")?;
    expect_eq("it has no driver", &is_live(ctx, "s")?, &true)?;
    ctx.ok(&["exec", "s", "--", "sh", "-c", "cat one; echo two > two"])?
        .expect_text("one\n")?;
    ctx.ok("stop s")?
        .expect_text("session s is stopped: kept")?;
    ctx.ok("diff s")?
        .expect_text("+++ one (new)")?
        .expect_text("+++ two (new)")?;
    ctx.lazaret(&["exec", "s", "--", "true"])?
        .expect_code(122)?
        .expect_text("no command of session s runs: it is kept")?;
    ctx.lazaret("stop s")?.expect_code(122)?;
    ctx.lazaret("attach s")?.expect_code(122)?;
    ctx.ok("discard s --yes")?;
    // One whose command is deaf is killed.
    let deaf = "trap '' TERM; echo deaf; while :; do sleep 1; done";
    ctx.exits(0, "start base -w project --name d", deaf)?;
    ctx.ok("stop d --kill")?;
    expect_eq("its state", &state(ctx, "d")?, "done")
}

fn exec(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let start = [
        "start", "base", "-w", "project", "--name", "s", "-e", "GIVEN=1",
    ];
    let start = [&start[..], &["--", "sleep", "600"]].concat();
    ctx.ok(&start)?;
    for (script, code) in [
        ("exit 0", 0),
        ("exit 9", 9),
        ("kill -9 $$", 137),
        ("nosuch", 127),
    ] {
        ctx.lazaret(&["exec", "s", "--", "sh", "-c", script])?
            .expect_code(code)?;
    }
    ctx.lazaret(&["exec", "s", "--", "nosuch"])?
        .expect_code(127)?;
    ctx.lazaret(&["exec", "s", "--", "/etc/passwd"])?
        .expect_code(126)?;
    // It is held as the command is, and sees what that sees.
    let look = "echo $GIVEN $OWN; pwd; id -u; grep -E '^(CapBnd|NoNewPrivs|Seccomp):' \
        /proc/self/status | tr -d '\\t'; ls /proc/self/fd | wc -l; echo err >&2";
    let seen = ctx.ok(&["exec", "s", "-e", "OWN=2", "--", "sh", "-c", look])?;
    let expected = "1 2\n/workspace\n1000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n4\n";
    expect_eq("what it sees", &seen.stdout, expected)?;
    expect("its stderr is apart", || seen.stderr.contains("err\n"))?;
    ctx.ok(&["exec", "s", "--", "sh", "-c", "wc -c"])?
        .expect_text("0\n")?;
    let bad = ["exec", "s", "--workdir", "/nosuch", "--", "true"];
    expect("a directory that is not there", || {
        ctx.lazaret(&bad).is_ok_and(|ended| ended.code != 0)
    })?;
    // It ends with its client, unless that says otherwise.
    for (leave, is_left) in [(&[][..], false), (&["--leave"][..], true)] {
        let script = "echo $$ > /tmp/pid; echo here; exec sleep 600";
        let call = [&["exec", "s"][..], leave, &["--", "sh", "-c", script]].concat();
        let running = ctx.call(&call).start()?;
        running.until_said("here\n")?;
        running.signal(Signal::KILL)?;
        running.ends()?;
        let lives = ["sh", "-c", "kill -0 $(cat /tmp/pid)"];
        match is_left {
            true => expect("it goes on", || ctx.asks(&lives) == Ok(true))?,
            false => wait_until("it ends", || Ok(!ctx.asks(&lives)?))?,
        }
    }
    // Also one that does not read what it is sent.
    let script = "echo $$ > /tmp/pid; echo here; exec sleep 600";
    let call = ["exec", "s", "-i", "--", "sh", "-c", script];
    let endless = ["sh", "-c", "exec \"$@\" < /dev/zero", "sh"];
    let call = ctx.call(&call).behind(endless.map(str::to_owned).to_vec());
    let running = call.start()?;
    running.until_said("here\n")?;
    running.signal(Signal::INT)?;
    running.wait()?.expect_code(130)?;
    wait_until("it ends", || {
        Ok(!ctx.asks(&["sh", "-c", "kill -0 $(cat /tmp/pid)"])?)
    })?;
    // It has the size of its terminal from its first line on.
    let person = Person::sit_down(97, 31)?;
    let call = [
        "exec",
        "s",
        "--terminal",
        "--",
        "sh",
        "-c",
        "stty size; tty; exit 4",
    ];
    let call = ctx.call(&call).env("TERM", "xterm-256color");
    call.on_terminal(person.terminal()?).run()?.expect_code(4)?;
    person.waits_for("31 97\r\n/dev/pts/")?;
    expect("it is given back", || person.is_cooked() == Ok(true))?;
    // Its own directory, and many at once.
    let many: Vec<Running> = (0..8)
        .map(|number| {
            let script = format!("echo {number}; pwd");
            let call = ["exec", "s", "--workdir", "/tmp", "--", "sh", "-c", &script];
            ctx.call(&call).start()
        })
        .collect::<Result<_, _>>()?;
    for (number, running) in many.into_iter().enumerate() {
        let seen = running.wait()?.expect_code(0)?;
        expect_eq("its output", &seen.stdout, &format!("{number}\n/tmp\n"))?;
    }
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

fn leaves_and_comes_back(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    ctx.profile("shell", PROFILE);
    let person = Person::sit_down(100, 30)?;
    let run = [
        "run", "shell", "-w", "project", "--name", "s", "--apply", "auto",
    ];
    let running = ctx.call(&run).on_terminal(person.terminal()?).start()?;
    person.waits_for("inside> ")?;
    person.types("remember=this; printf '\\033[2J\\033[5;10Hdra''wn'; echo\r")?;
    person.waits_for("drawn")?;
    person.types("\x1dd")?;
    running
        .wait()?
        .expect_code(0)?
        .expect_text("left session s")?;
    expect("it is given back", || person.is_cooked() == Ok(true))?;
    expect_eq("it goes on", &state(ctx, "s")?, "running")?;
    // Another terminal, of another size: the screen is as it was.
    let other = Person::sit_down(120, 40)?;
    let attached = ctx
        .call("attach s")
        .on_terminal(other.terminal()?)
        .start()?;
    other.waits_for("drawn")?;
    other.types(
        "until test \"$(stty size)\" = '40 120'; do sleep 0.1; done; echo it is $remember\r",
    )?;
    other.waits_for("it is this")?;
    other.types("echo new > new; exit\r")?;
    attached.wait()?.expect_code(0)?;
    expect("it is given back", || other.is_cooked() == Ok(true))?;
    at_rest(ctx, "s")?;
    expect("its change was applied", || workspace.join("new").exists())
}

fn one_types(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("shell", PROFILE);
    ctx.ok("start shell -w project --name s")?;
    let first = Person::sit_down(100, 30)?;
    let driving = ctx
        .call("attach s")
        .on_terminal(first.terminal()?)
        .start()?;
    first.waits_for("inside> ")?;
    let second = Person::sit_down(100, 30)?;
    let call = ctx.call("attach s").on_terminal(second.terminal()?);
    call.run()?
        .expect_code(123)?
        .expect_text("another client drives")?;
    let call = ctx
        .call("attach s --read-only")
        .on_terminal(second.terminal()?);
    let watching = call.start()?;
    second.waits_for("inside> ")?;
    second.types("echo from the sec''ond\r")?;
    first.types("echo from the fi''rst\r")?;
    second.waits_for("from the first")?;
    expect("who looks on types nothing", || {
        !first.seen().contains("from the second")
    })?;
    // It takes the seat, and the first looks on.
    second.types("\x1dt")?;
    second.types("echo now the sec''ond\r")?;
    first.waits_for("now the second")?;
    second.types("\x1dd")?;
    watching.wait()?.expect_code(0)?;
    first.types("\x1dd")?;
    driving.wait()?.expect_code(0)?;
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

/// A terminal that goes, or a client that is killed, takes nothing along.
fn terminal_is_gone(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("shell", PROFILE);
    let person = Person::sit_down(100, 30)?;
    let run = ["run", "shell", "-w", "project", "--name", "s"];
    let running = ctx.call(&run).on_terminal(person.terminal()?).start()?;
    person.waits_for("inside> ")?;
    person.types("re''member=this; echo re''ady\r")?;
    person.waits_for("ready")?;
    running.signal(Signal::KILL)?;
    running.ends()?;
    drop(person);
    wait_until("no terminal drives", || {
        Ok(ctx.run_json("ls --json")?[0]["keeper"]["driven"] == Value::Bool(false))
    })?;
    let other = Person::sit_down(100, 30)?;
    let attached = ctx
        .call("attach s")
        .on_terminal(other.terminal()?)
        .start()?;
    other.waits_for("ready")?;
    other.types("echo al''ive\r")?;
    other.waits_for("alive")?;
    other.types("exit\r")?;
    attached.wait()?.expect_code(0)?;
    at_rest(ctx, "s")?;
    expect_eq("its state", &state(ctx, "s")?, "done")
}

/// Nothing is left of a start that was broken off.
fn broken_off(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    sparse(&workspace.join("big"), 1 << 30)?;
    for signal in [Signal::KILL, Signal::TERM] {
        let call = [
            "start", "base", "-w", "project", "--name", "s", "--", "true",
        ];
        let running = ctx.call(&call).start()?;
        running.until_creating(ctx)?;
        running.signal(signal)?;
        running.ends()?;
        until_taken_back(ctx)?;
    }
    wait_until("no session is left", || {
        Ok(ctx.run_json("--json ls")? == Value::Array(Vec::new()))
    })
}

fn limits(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.exits(
        0,
        "start base -w project --name s",
        "echo new > new; sleep 600",
    )?;
    ctx.ok("limits s")?.expect_text("idle  12 h")?;
    ctx.ok("limits s --idle 1s")?;
    ctx.ok("wait s --timeout 5m")?;
    expect_eq("its state", &state(ctx, "s")?, "kept")?;
    ctx.ok("events s")?.expect_text("limits.idle")?;
    ctx.ok("discard s --yes").map(drop)
}

fn wait_and_events(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile("shell", PROFILE);
    ctx.ok("start shell -w project --name s")?;
    ctx.lazaret("wait s --for exit --timeout 1s")?
        .expect_code(124)?;
    let waiting = ctx.call("wait s --for needs-input").start()?;
    let following = ctx.call("--json events s --follow").start()?;
    following.until_said("run_started")?;
    let person = Person::sit_down(80, 24)?;
    let attached = ctx
        .call("attach s")
        .on_terminal(person.terminal()?)
        .start()?;
    person.waits_for("inside> ")?;
    person.types("printf '\\033]9;look ''here\\007'\r")?;
    waiting
        .wait()?
        .expect_code(0)?
        .expect_text("wants something")?;
    person.types("exit\r")?;
    attached.wait()?.expect_code(0)?;
    let events = following.wait()?.expect_code(0)?;
    let kinds: Vec<Value> = (events.stdout.lines())
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    let numbers: Vec<u64> = kinds
        .iter()
        .filter_map(|event| event["n"].as_u64())
        .collect();
    let expected: Vec<u64> = (1..=kinds.len() as u64).collect();
    expect_eq("each has its number", &numbers, &expected)?;
    let kinds: Vec<&str> = kinds
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    expect(&format!("what happened: {kinds:?}"), || {
        [
            "run_started",
            "attached",
            "needs_input",
            "run_ended",
            "ended",
        ]
        .iter()
        .all(|kind| kinds.contains(kind))
    })
}

/// What makes no sense at the socket harms no client.
fn junk(ctx: &Ctx) -> Result<(), String> {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    ctx.workspace("project", TREE);
    ctx.exits(0, "start base -w project --name s", "sleep 600")?;
    let socket = ctx.state().join("sessions/s/keeper/sock");
    let mode = fs::metadata(&socket).map_err(|error| error.to_string())?;
    expect("only the user reaches it", || {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = fs::metadata(ctx.state().join("sessions/s/keeper"));
        mode.permissions().mode() & 0o077 == 0
            || dir.is_ok_and(|dir| dir.permissions().mode() & 0o777 == 0o700)
    })?;
    let long = [0xff; 8];
    let request = |json: &str| {
        let mut bytes = u32::try_from(json.len())
            .unwrap_or_default()
            .to_le_bytes()
            .to_vec();
        bytes.extend([2, 0, 0, 0]);
        bytes.extend(json.as_bytes());
        bytes
    };
    let cases: [Vec<u8>; 7] = [
        Vec::new(),
        long.to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        request("{}"),
        request(r#"{"do":"exec","argv":[]}"#),
        request(r#"{"do":"exec","argv":["a"],"env":{"A=B":"c"}}"#),
        request(r#"{"do":"attach","mode":"watch"}"#).repeat(2),
    ];
    for case in &cases {
        let mut stream = UnixStream::connect(&socket).map_err(|error| error.to_string())?;
        let wait = Some(Duration::from_secs(60));
        stream
            .set_read_timeout(wait)
            .map_err(|error| error.to_string())?;
        let _broken = stream.write_all(case);
        let _broken = stream.shutdown(std::net::Shutdown::Write);
        let mut heard = Vec::new();
        let read = stream.read_to_end(&mut heard);
        let said = String::from_utf8_lossy(&heard);
        expect(
            &format!("it says hello and ends ({read:?}): {said}"),
            || said.contains("lazaret keeper"),
        )?;
    }
    ctx.ok(&["exec", "s", "--", "true"])?;
    ctx.ok("stop s")?;
    ctx.ok("rm s").map(drop)
}

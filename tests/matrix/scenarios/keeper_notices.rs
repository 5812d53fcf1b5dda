//! What a kept session tells its user: notices, a program on the host, denied connections.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::terminal::Person;
use crate::watch::wait_until;

scenarios! {
    "keeper/a-notice-is-one-argument" => one_argument;
    "keeper/a-notice-program-that-is-not-there" => no_program;
    "keeper/notify-in-a-workspace" => in_a_workspace;
    "keeper/the-bell-rings-once" => bell;
    "keeper/profile-stays-and-has-a-prefix" => stays;
    "keeper/denied-is-an-event" => denied;
}

const TREE: &str = "f a \"a\\n\"\n";

/// Writes a program that appends each of its arguments, quoted, as a line; returns its path and
/// that of the file.
fn recorder(ctx: &Ctx) -> Result<[String; 2], String> {
    let failed = |error: std::io::Error| error.to_string();
    let (program, file) = (ctx.home().join("record"), ctx.home().join("seen"));
    let text = format!(
        "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done >> '{0}'\necho >> '{0}'\n",
        file.display()
    );
    fs::write(&program, text).map_err(failed)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok([program, file].map(|path| path.display().to_string()))
}

fn one_argument(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let [program, file] = recorder(ctx)?;
    ctx.profile(
        "hostile",
        &format!(
            "image = \"base\"\nterminal = true\n\
             command = [\"sh\", \"-c\", '''printf '\\033]9;--help \"a\" $(id) `id`\\n;\\007'; \
             until test -e /tmp/go; do sleep 0.05; done; exit 7''']\n\
             [notify]\ncommand = [\"{program}\", \"{{text}}\", \"{{session}}:{{event}}\"]\n\
             on = [\"needs_input\", \"run_ended\", \"ended\"]\n"
        ),
    );
    ctx.ok("start hostile -w project --name s")?;
    let seen = || fs::read_to_string(&file).unwrap_or_default();
    let said = "[ --help \"a\" $(id) `id`\\u{d}\\u{a};][s:needs_input]\n";
    wait_until("the program ran", || Ok(seen() == said))?;
    ctx.tell("go")?;
    wait_until("it ran for the end", || Ok(seen().contains("[s:ended]")))?;
    let seen = seen();
    let lines: Vec<&str> = seen.lines().collect();
    expect_eq("how often it ran", &lines.len(), &3)?;
    let ended = "[the command ended: exit code 7][s:run_ended]";
    expect(&format!("run_ended is told: {seen}"), || lines[1] == ended)?;
    ctx.ok("rm s").map(drop)
}

/// It is said once, and harms nothing.
fn no_program(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile(
        "none",
        "image = \"base\"\n[notify]\ncommand = [\"/nonexistent/program\"]\n\
         on = [\"run_ended\", \"stopping\"]\n",
    );
    ctx.exits(0, "start none -w project --name s --stay", "true")?;
    let messages = ctx.state().join("sessions/s/keeper/messages");
    let said = || fs::read_to_string(&messages).unwrap_or_default();
    wait_until("it is said", || {
        Ok(said().contains("cannot run `/nonexistent/program` of `notify`"))
    })?;
    ctx.ok("stop s")?;
    let count = said().matches("cannot run").count();
    expect_eq("how often it is said", &count, &1)
}

fn in_a_workspace(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let [program, file] = recorder(ctx)?;
    let notify = format!("[notify]\ncommand = [\"{program}\"]\n");
    let own = format!("image = \"base\"\n{notify}");
    let write = |name: &str, text: &str| {
        let written = fs::write(workspace.join(name), text);
        written.map_err(|error| error.to_string())
    };
    write("p.toml", &own)?;
    let path = workspace.join("p.toml").display().to_string();
    for call in [
        &["start", &path, "-w", "project", "--", "true"][..],
        &["profile", "check", &path],
    ] {
        ctx.lazaret(call)?
            .expect_code(125)?
            .expect_text("only a profile in your own configuration directory can set it")?;
    }
    write("lazaret.toml", &notify)?;
    ctx.lazaret(&["start", "base", "-w", "project", "--", "true"])?
        .expect_code(125)?
        .expect_text("`notify` can't be set by a workspace")?;
    expect("it did not run", || !fs::exists(&file).unwrap_or(true))
}

fn bell(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile(
        "shell",
        "image = \"base\"\ncommand = [\"bash\", \"--norc\", \"-i\"]\nterminal = true\n\
         [env]\nPS1 = \"inside> \"\n",
    );
    ctx.ok("start shell -w project --name s")?;
    let person = Person::sit_down(100, 30)?;
    let attached = ctx
        .call("attach s")
        .on_terminal(person.terminal()?)
        .start()?;
    person.waits_for("inside> ")?;
    // Its text would be a command to ConEmu.
    person.types("printf '\\033]777;notify;;4;1;50\\007'; echo no''tified\r")?;
    person.waits_for("\x07\x1b]9;lazaret s: 4;1;50\x1b\\")?;
    person.waits_for("notified")?;
    // A bell passes as it is, and is not rung again.
    person.types("sleep 1.5; printf 'be''ll\\007'; echo rung\r")?;
    person.waits_for("bell\x07rung")?;
    person.types("exit\r")?;
    attached.wait()?.expect_code(0)?;
    let seen = person.seen();
    let bells = seen.matches('\x07').count();
    expect(&format!("two bells: {seen:?}"), || bells == 2)
}

fn stays(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    ctx.profile(
        "mine",
        "image = \"base\"\ncommand = [\"bash\", \"--norc\", \"-i\"]\nterminal = true\n\
         [env]\nPS1 = \"inside> \"\n[limits]\nidle = \"2h\"\nlife = \"3d\"\n\
         [session]\nstay = true\n[attach]\nprefix = \"ctrl-b\"\n",
    );
    ctx.ok("start mine -w project --name s")?;
    let limits = ctx.ok("limits s")?;
    limits.expect_text("idle  2 h")?.expect_text("life  3 d")?;
    let person = Person::sit_down(100, 30)?;
    let attach = || ctx.call("attach s").on_terminal(person.terminal()?).start();
    let attached = attach()?;
    person.waits_for("inside> ")?;
    person.types("\x02d")?;
    attached
        .wait()?
        .expect_code(0)?
        .expect_text("left session s")?;
    let attached = attach()?;
    person.types("exit\r")?;
    attached
        .wait()?
        .expect_code(0)?
        .expect_text("session s stays")?;
    ctx.ok("stop s")?;
    // The workspace takes it away.
    fs::write(workspace.join("lazaret.toml"), "[session]\nstay = false\n")
        .map_err(|error| error.to_string())?;
    ctx.ok(&[
        "start", "mine", "-w", "project", "--name", "t", "--", "true",
    ])?;
    ctx.ok("wait t --timeout 5m").map(drop)
}

fn denied(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    ctx.profile(
        "net",
        "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [\"a.test:443\"]\n",
    );
    let script = "ask() { exec 3<>/dev/tcp/127.0.0.1/3128 || return 9; \
        printf 'GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' $1 $1 >&3; \
        IFS= read -r -t 60 line <&3; echo \"$line\"; exec 3<&-; }; \
        ask b.test; ask b.test; ask c.test:8080";
    let line = "start net -w project --name s --stay -- bash -c";
    ctx.script(line, script).run()?.expect_code(0)?;
    ctx.ok("wait s --for idle")?;
    wait_until("the last one is told of", || {
        let events = ctx.ok("events s")?;
        Ok(events.stdout.contains("network: denied c.test:8080"))
    })?;
    let events = ctx
        .ok("events s")?
        .expect_text("network: denied b.test:80")?;
    let count = events.stdout.matches("denied b.test").count();
    expect_eq("how often it is told", &count, &1)?;
    ctx.ok("stop s")?;
    // A client that shows the command says it too, with what opens it.
    let line = "run net -w project --name t --apply never -- bash -c";
    let shown = ctx.script(line, script).run()?.expect_code(0)?;
    let note = "note: network: denied b.test:80: no rule allows this host; \
        `lazaret policy allow t b.test:80` opens it now, `--allow b.test:80` in the next run\n";
    let count = shown.stderr.matches(note).count();
    expect_eq("how often it is shown", &count, &1)?;
    shown
        .expect_text("`lazaret policy allow t c.test:8080`")
        .map(drop)
}

//! A command that a person works with, at a terminal.

use std::time::Duration;

use rustix::process::Signal;

use crate::ctx::{Ctx, expect};
use crate::terminal::Person;

scenarios! {
    "terminal/typed-seen-resized-given-back" => con_24_a_person_works_with_it;
    "terminal/agents-are-ready-to-work" => agents_are_ready;
    "terminal/a-key-answers" => a_key_answers;
}

const PROFILE: &str = "image = \"base\"\ncommand = [\"bash\", \"--norc\", \"-i\"]\nterminal = true\n\
    [env]\nPS1 = \"inside> \"\n";

fn con_24_a_person_works_with_it(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    ctx.profile("shell", PROFILE);
    let person = Person::sit_down(100, 30)?;
    let run = ["run", "shell", "-w", "project", "--apply", "auto"];
    let running = ctx
        .call(&run)
        .env("TERM", "tmux-256color")
        .on_terminal(person.terminal()?)
        .start()?;
    person.waits_for("inside> ")?;
    person.types("echo it has $(stty size) $TERM $(tty)\r")?;
    person.waits_for("it has 30 100 tmux-256color /dev/pts/")?;
    person.resize(120, 40)?;
    person.types("until test \"$(stty size)\" = '40 120'; do sleep 0.1; done; echo re''sized\r")?;
    person.waits_for("resized")?;
    // Ctrl-C is for the program inside, and ends nothing else. The program itself says that it
    // runs: a shell can lose the signal while it forks.
    person.types("sh -c \"echo sl''eeping; exec sleep 600\"\r")?;
    person.waits_for("sleeping")?;
    person.types("\x03")?;
    person.types("echo interrupted $?\r")?;
    person.waits_for("interrupted 130")?;
    // What draws passes, what acts on more than the screen does not.
    person
        .types("printf '\\033[1;7mdra''wn\\033[0m\\033]52;c;aGk=\\007\\033]0;ti''tle\\007\\n'\r")?;
    person.waits_for("\x1b[1;7mdrawn\x1b[0m")?;
    expect("the terminal is the command's", || {
        person.is_cooked().is_ok_and(|cooked| !cooked)
    })?;
    person.types("echo new > new; exit\r")?;
    running.wait()?.expect_code(0)?;
    let seen = person.seen();
    expect(&format!("no clipboard, no title: {seen:?}"), || {
        !seen.contains("\x1b]") && !seen.contains("\x1bP")
    })?;
    expect("it is given back", || person.is_cooked() == Ok(true))?;
    expect("the cursor is shown again", || seen.contains("\x1b[?25h"))?;
    expect("the change was applied", || workspace.join("new").exists())?;
    ended_from_outside(ctx)?;
    // Without a terminal it is run as any other command.
    ctx.lazaret("run shell -w project --terminal")?
        .expect_code(2)?
        .expect_text("--terminal needs a terminal")?;
    Ok(())
}

/// The shipped profiles without a task: the real programs ask for no login, no theme and no
/// trust, and wait for what a person types.
fn agents_are_ready(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let agents = [
        ("claude", "ANTHROPIC_API_KEY", "bypass", "/exit"),
        ("codex", "OPENAI_API_KEY", "YOLO", "/quit"),
    ];
    for (agent, key, ready, end) in agents {
        // A build of an image would take longer than the terminal's timeout.
        ctx.lazaret(&["image", "build", agent])?.expect_code(0)?;
        let person = Person::sit_down(100, 30)?;
        let running = ctx
            .call(&["run", agent, "-w", "project", "--name", agent])
            .env(key, "sk-canary-0123456789abcdef")
            .env("TERM", "xterm-256color")
            .on_terminal(person.terminal()?)
            .start()?;
        person.waits_for(ready)?;
        person.types(end)?;
        // The two programs take keys that come at once for a paste.
        std::thread::sleep(Duration::from_secs(1));
        person.types("\r")?;
        running.wait()?.expect_code(0)?;
        expect("it is given back", || person.is_cooked() == Ok(true))?;
        ctx.lazaret(&["rm", agent])?.expect_code(0)?;
    }
    Ok(())
}

/// However lazaret ends, the terminal is restored, also after repeated Ctrl-C.
fn ended_from_outside(ctx: &Ctx) -> Result<(), String> {
    for how in ["signal", "keys"] {
        let person = Person::sit_down(80, 24)?;
        let script = "echo 'inside> '; exec sleep 600";
        let run = ["run", "shell", "-w", "project", "--name", how, "--terminal"];
        let run = [&run[..], &["--", "sh", "-c", script]].concat();
        let call = ctx.call(&run).on_terminal(person.terminal()?);
        let running = call.start()?;
        person.waits_for("inside> ")?;
        match how {
            "signal" => running.signal(Signal::TERM)?,
            _ => person.types("x\x1d\x1d\x1d")?,
        }
        running.wait()?.expect_code(130)?;
        expect("it is given back", || person.is_cooked() == Ok(true))?;
        ctx.lazaret(&["rm", "--force", how])?.expect_code(0)?;
    }
    Ok(())
}

/// A key is an answer, without Enter.
fn a_key_answers(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let person = Person::sit_down(80, 30)?;
    let line = [
        "run", "base", "-w", "project", "--name", "s", "--", "touch", "new",
    ];
    let call = ctx.call(&line).env("TERM", "xterm-256color");
    let running = call.on_whole_terminal(person.terminal()?).start()?;
    person.waits_for("[?]: ")?;
    person.types("x")?;
    person.waits_for("Type one of the choices")?;
    person.types("?")?;
    person.waits_for("nothing is lost")?;
    // What comes at once is one answer, and this is none.
    person.types("kn")?;
    person.waits_for("kn\r\nType one of the choices")?;
    person.types("k")?;
    running.wait()?.expect_code(120)?;
    expect("lines are edited again", || person.is_cooked() == Ok(true))?;
    ctx.ok("discard s --yes")?;
    ctx.ok("rm s").map(drop)
}

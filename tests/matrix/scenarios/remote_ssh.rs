//! An engine behind ssh: a real sshd in front of an engine whose disk and network are not ours.

use std::time::{Duration, Instant};

use crate::ctx::{Ctx, expect, expect_eq};
use crate::far_machine::FarMachine;

scenarios! {
    "remote/over-ssh" => over_ssh;
}

/// Until a keeper has noticed that its connection is gone.
const NOTICED: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);

/// Ends in good order when it is told to, and leaves a file that says so.
const WORK: &str = "trap 'echo end > ended; exit 3' TERM; touch begun; \
                    while :; do sleep 0.1; done";

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
    far.call(&start).run()?.expect_code(0)?;
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

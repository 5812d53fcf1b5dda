//! `audit`: the record of what ran and who approved it, whatever kills those that write it.

use std::thread;
use std::time::Instant;

use rustix::process::Signal;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::wait_until;

scenarios! {
    any engine;
    "audit/killed-at-any-moment" => killed;
}

/// How often a run is killed, each time a little later in it.
const ROUNDS: u32 = 16;
/// After so many of them a run has taken as long as one that is not killed.
const WHOLE: u32 = 12;

fn killed(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let begun = Instant::now();
    let line = "run base -w project --name whole --apply auto";
    ctx.script(line, "echo whole > whole")
        .run()?
        .expect_code(0)?;
    let step = begun.elapsed() / WHOLE;
    for round in 0..ROUNDS {
        let name = format!("k{round}");
        let line = format!("run base -w project --name {name} --apply auto");
        let running = ctx
            .script(&line, &format!("echo {round} > {name}"))
            .start()?;
        // Not to wait for anything: the moment is the case.
        thread::sleep(step * round);
        if round % 2 == 0 {
            // It may not be there yet, or any more.
            drop(ctx.kill_keeper(&name));
        }
        drop(running.signal(Signal::KILL));
        running.ends()?;
        ctx.ok("audit verify")?;
    }
    wait_until("no process is at work any more", || {
        let sessions = ctx.run_json("ls --all --json")?;
        let sessions = sessions.as_array().cloned().unwrap_or_default();
        Ok(sessions.iter().all(|session| session["live"] == false))
    })?;
    ctx.lazaret("recover")?.output();
    ctx.ok("audit verify")?;
    // What is in the workspace was approved, whatever was killed after that.
    let killed = (0..ROUNDS).map(|round| format!("k{round}"));
    for name in killed.chain(["whole".to_owned()]) {
        if workspace.join(&name).exists() {
            let told = ctx.ok(&["audit", "show", &name])?.stdout;
            expect(&format!("{name} was approved: {told}"), || {
                told.contains("  approved  ")
            })?;
        }
    }
    // Nothing is lost either: what is not applied waits, or never ran.
    let sessions = ctx.run_json("ls --all --json")?;
    for session in sessions.as_array().into_iter().flatten() {
        let name = session["session"].as_str().unwrap_or_default();
        let state = session["state"].as_str().unwrap_or_default();
        if state == "kept" {
            ctx.ok(&["apply", name, "--yes"])?;
            expect(&format!("{name} is applied"), || {
                workspace.join(name).exists()
            })?;
        }
    }
    let whole = ctx.run_json("audit verify --json")?;
    expect_eq("the record", &whole["whole"], &serde_json::json!(true))?;
    for session in sessions.as_array().into_iter().flatten() {
        let name = session["session"].as_str().unwrap_or_default();
        ctx.ok(&["rm", "--force", name])?;
    }
    Ok(())
}

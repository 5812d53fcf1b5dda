//! The next container of a kept session, made ahead of time.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use super::net::{NAME, Upstream};
use super::pool::{berth, listed};
use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Ended;
use crate::watch::SOON;

scenarios! {
    "pool/kept-each-run-takes-another" => another_each_time;
    "pool/kept-with-a-network" => with_network;
    "pool/kept-what-does-not-fit-or-run" => does_not_fit;
    "pool/kept-launcher-killed-while-it-is-made" => killed;
    "pool/kept-half-made-is-pruned-without-its-copy" => half_made;
    "pool/kept-rm-discard-drain" => removed;
}

const TREE: &str = "f a \"a\\n\"\nf d/b \"b\\n\"\nf e \"e\\n\"\n";

/// Runs a script in a session that is kept.
fn run(ctx: &Ctx, name: &str, apply: &str, script: &str) -> Result<Ended, String> {
    ctx.script(
        &format!("run base -w project --name {name} --keep --json --apply {apply}"),
        script,
    )
    .run()
}

/// The sessions whose next container waits.
fn waiting(ctx: &Ctx) -> Result<Vec<String>, String> {
    listed(ctx, "sessions", "session")
}

/// The id of the container of a session's command, whether that runs or is awaited.
fn container(ctx: &Ctx, session: &str) -> Result<Option<String>, String> {
    let tag = berth(ctx, session)?.unwrap_or_else(|| session.to_owned());
    let start = format!("lazaret-{tag}-");
    Ok(ctx.objects()?.into_iter().find_map(|object| match object {
        Object::Container { id, name } => {
            (name.contains(&start) && name.ends_with("-agent")).then_some(id)
        }
        Object::Volume { .. } => None,
    }))
}

/// Whether a run made a container, by what it says of its phases.
fn has_made(report: &Value) -> bool {
    report["phases"]["create_ms"].is_u64()
}

fn write(workspace: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(workspace.join(name), text).map_err(|error| format!("{name}: {error}"))
}

fn filled(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("pool fill base")?;
    Ok(())
}

fn over(ctx: &Ctx, sessions: &[&str]) -> Result<(), String> {
    ctx.ok("pool drain")?;
    let arguments = [&["rm", "--force"], sessions].concat();
    ctx.ok(&arguments)?;
    Ok(())
}

fn another_each_time(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    filled(ctx)?;
    run(
        ctx,
        "s",
        "auto",
        "echo agent > d/b; mkdir .venv; : > .venv/pyvenv.cfg",
    )?
    .expect_code(0)?;
    expect_eq("one waits", &waiting(ctx)?, &vec!["s".to_owned()])?;
    let first = container(ctx, "s")?;
    expect("its container is there", || first.is_some())?;

    // What else is done with the session leaves it.
    write(&workspace, "a", "mine\n")?;
    let synced = ctx.run_json("sync s --json")?;
    expect_eq("one file went in", &synced["sent"], &1)?;
    ctx.ok("show s")?;
    ctx.ok("prune --yes")?;
    ctx.ok("recover")?;
    ctx.ok("recover s")?;
    expect_eq("it still waits", &container(ctx, "s")?, &first)?;
    expect_eq("and is listed", &waiting(ctx)?, &vec!["s".to_owned()])?;

    write(&workspace, "new", "new\n")?;
    let script = "cat a new d/b; ls .venv; echo up; \
        until [ -e word ]; do sleep 0.05; done; cat word; echo agent > e";
    let running = ctx
        .script("run base -w project --name s --apply auto", script)
        .start()?;
    running.until_said("mine\nnew\nagent\npyvenv.cfg\nup")?;
    expect_eq("the command runs in it", &container(ctx, "s")?, &first)?;
    expect_eq("none waits", &waiting(ctx)?, &Vec::<String>::new())?;
    let watch = ctx.spawn("watch s --interval 1s --json")?;
    watch.wait_until("a look", SOON, || !watch.stdout_so_far().is_empty())?;
    write(&workspace, "word", "into the running one\n")?;
    let live = ctx.run_json("sync s --json")?;
    expect_eq("one file goes in", &live["sent"], &1)?;
    running.until_said("into the running one")?;
    running.wait()?.expect_code(0)?;
    watch.wait()?.expect_code(0)?;
    let text = fs::read_to_string(workspace.join("e")).map_err(|error| error.to_string())?;
    expect_eq("the command's change", &text.as_str(), &"agent\n")?;

    let second = container(ctx, "s")?;
    expect("another one waits", || second.is_some() && second != first)?;
    let report = run(ctx, "s", "never", "cat e; echo more > f")?
        .expect_code(120)?
        .json()?;
    expect("no container was made before the command", || {
        !has_made(&report)
    })?;
    let third = container(ctx, "s")?;
    expect("and another one", || {
        third.is_some() && third != second && third != first
    })?;
    ctx.ok("diff s")?;
    ctx.ok("apply s --yes")?;
    ctx.ok("undo s")?;
    expect_eq("it still waits", &container(ctx, "s")?, &third)?;
    let report = run(ctx, "s", "auto", "true")?.expect_code(0)?.json()?;
    expect("nor after an undo", || !has_made(&report))?;
    over(ctx, &["s"])
}

fn with_network(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    let rule = format!("\"{NAME}:{port}\"");
    let profile = format!("image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [{rule}]\n");
    ctx.profile("net", &profile);
    ctx.workspace("project", TREE);
    ctx.ok("pool fill net")?;
    let script = format!(
        r#"
        exec 3<>/dev/tcp/127.0.0.1/3128
        printf 'GET http://{NAME}:{port}/x HTTP/1.1\r\nHost: {NAME}:{port}\r\n\r\n' >&3
        IFS= read -r -t 60 line <&3; printf '%s\n' "$line"
        "#
    );
    for made in [false, false, false] {
        let ran = ctx
            .script(
                "run net -w project --name n --keep --json -- bash -c",
                &script,
            )
            .run()?;
        let report = ran.expect_code(0)?.expect_text("200 OK")?.json()?;
        expect_eq("whether it made a container", &has_made(&report), &made)?;
        expect_eq("one waits", &waiting(ctx)?, &vec!["n".to_owned()])?;
    }
    // Its gateway ends: then it is of no use.
    for object in ctx.objects()? {
        if object.to_string().contains("-gateway") && !object.to_string().contains("pool-") {
            api::kill(&ctx.engine().socket(), &object)?;
        }
    }
    ctx.ok("policy log n")?;
    over(ctx, &["n"])
}

fn does_not_fit(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    filled(ctx)?;
    run(ctx, "s", "auto", "echo agent > d/b")?.expect_code(0)?;
    let first = container(ctx, "s")?;
    write(&workspace, "a", "mine\n")?;
    ctx.profile("tight", "image = \"base\"\n[limits]\nmemory = \"300m\"\n");
    let tight = ctx.lazaret("run tight -w project --name s --json --apply auto -- cat a d/b")?;
    let report = tight.expect_code(0)?.expect_text("mine\nagent\n")?.json()?;
    expect("other limits want another container", || has_made(&report))?;
    expect_eq(
        "this profile has no pool",
        &waiting(ctx)?,
        &Vec::<String>::new(),
    )?;
    expect_eq("nothing is left of it", &container(ctx, "s")?, &None)?;

    let report = run(ctx, "s", "auto", "true")?.expect_code(0)?.json()?;
    expect("nothing waited", || has_made(&report))?;
    let second = container(ctx, "s")?;
    expect("but now", || second.is_some() && second != first)?;
    // As when the engine is started again.
    for object in ctx.objects()? {
        if matches!(&object, Object::Container { id, .. } if second.as_ref() == Some(id)) {
            api::kill(&ctx.engine().socket(), &object)?;
        }
    }
    write(&workspace, "a", "again\n")?;
    let report = run(ctx, "s", "auto", "cat a d/b")?
        .expect_code(0)?
        .expect_text("again\nagent\n")?
        .json()?;
    expect("one that does not run is no use", || has_made(&report))?;
    let report = run(ctx, "s", "auto", "true")?.expect_code(0)?.json()?;
    expect("and the one after it is", || !has_made(&report))?;
    over(ctx, &["s"])
}

/// Killed at the first moment at which it is being made; the next launcher cleans up.
fn killed(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    filled(ctx)?;
    run(ctx, "s", "auto", "echo agent > d/b")?.expect_code(0)?;
    let partial = ctx.state().join("sessions/s/spare.partial");
    let verbs: [&[&str]; 3] = [&["recover"], &["prune", "--yes"], &["run"]];
    for (number, verb) in verbs.into_iter().enumerate() {
        let mut was_met = false;
        // One that was quicker than this look at it has made it.
        for _ in 0..20 {
            let running = ctx.spawn("run base -w project --name s --apply auto -- true")?;
            while running.is_running() && !partial.exists() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            drop(running.signal_keeper(Signal::KILL));
            running.ends()?;
            was_met = partial.exists();
            if was_met {
                break;
            }
            ctx.ok("recover")?;
        }
        expect("it was met while it was made", || was_met)?;
        expect_eq("it is not listed", &waiting(ctx)?, &Vec::<String>::new())?;
        if verb != ["run"] {
            ctx.lazaret(verb)?.expect_code(0)?;
            expect("no word of it", || !partial.exists())?;
            expect_eq("and no container", &container(ctx, "s")?, &None)?;
        }
        write(&workspace, "a", &format!("{number}\n"))?;
        let report = run(ctx, "s", "auto", "cat a d/b")?
            .expect_code(0)?
            .expect_text(&format!("{number}\nagent\n"))?
            .json()?;
        expect("the run makes its own", || has_made(&report))?;
        expect_eq(
            "and one for the next",
            &waiting(ctx)?,
            &vec!["s".to_owned()],
        )?;
    }
    over(ctx, &["s"])
}

/// As when a launcher is killed between its engine's answer and its own word of it.
fn half_made(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    filled(ctx)?;
    let session = ctx.state().join("sessions/s");
    for (number, verb) in [["prune", "--yes"].as_slice(), &["recover"]]
        .into_iter()
        .enumerate()
    {
        run(ctx, "s", "never", &format!("echo kept > kept{number}"))?.expect_code(120)?;
        expect("its container is there", || {
            matches!(container(ctx, "s"), Ok(Some(_)))
        })?;
        fs::rename(session.join("spare"), session.join("spare.partial"))
            .map_err(|error| error.to_string())?;
        ctx.lazaret(verb)?.expect_code(0)?;
        expect_eq("no container", &container(ctx, "s")?, &None)?;
        write(&workspace, "a", &format!("{number}\n"))?;
        run(ctx, "s", "never", &format!("cat a kept{number}"))?
            .expect_code(120)?
            .expect_text(&format!("{number}\nkept\n"))?;
    }
    over(ctx, &["s"])
}

fn removed(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    filled(ctx)?;
    run(ctx, "s", "never", "echo s > s")?.expect_code(120)?;
    expect_eq("one waits", &waiting(ctx)?, &vec!["s".to_owned()])?;
    ctx.ok("discard s --yes")?;
    expect_eq(
        "a discard removes it",
        &waiting(ctx)?,
        &Vec::<String>::new(),
    )?;
    expect_eq("its container too", &container(ctx, "s")?, &None)?;
    let report = run(ctx, "s", "auto", "ls; [ ! -e s ]")?
        .expect_code(0)?
        .json()?;
    expect("the next run makes one", || has_made(&report))?;

    // No more than the pool has places: the one that was used last has it.
    run(ctx, "t", "auto", "true")?.expect_code(0)?;
    expect_eq("one waits", &waiting(ctx)?, &vec!["t".to_owned()])?;
    expect_eq("the other's is gone", &container(ctx, "s")?, &None)?;

    ctx.ok("rm t")?;
    expect_eq("rm removes it", &waiting(ctx)?, &Vec::<String>::new())?;
    run(ctx, "s", "auto", "true")?.expect_code(0)?;
    expect_eq("one waits", &waiting(ctx)?, &vec!["s".to_owned()])?;
    let listed = ctx.ok("pool ls")?;
    listed.expect_text("of s ")?;
    ctx.ok("pool drain demo")?;
    expect_eq("another profile's", &waiting(ctx)?, &vec!["s".to_owned()])?;
    ctx.ok("pool drain base")?;
    expect_eq("drained", &waiting(ctx)?, &Vec::<String>::new())?;
    let left = ctx.objects()?;
    expect_eq("the volume and nothing else", &left.len(), &1)?;
    let report = run(ctx, "s", "auto", "true")?.expect_code(0)?.json()?;
    expect("and no more is made", || has_made(&report))?;
    expect_eq(
        "for the next run neither",
        &waiting(ctx)?,
        &Vec::<String>::new(),
    )?;
    over(ctx, &["s"])
}

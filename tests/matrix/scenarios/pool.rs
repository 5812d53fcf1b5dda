//! Containers that were made ahead of time.

use serde_json::Value;

use super::net::{NAME, Upstream};
use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "pool/filled-taken-refilled-drained" => filled;
    "pool/with-a-network" => with_network;
}

/// The places that wait.
fn places(ctx: &Ctx) -> Result<Vec<String>, String> {
    let listed = ctx.run_json("pool ls --json")?;
    let rows = listed["places"].as_array().cloned().unwrap_or_default();
    let names = rows.iter().filter_map(|row| row["place"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// What a run that is kept took from the pool, by its record.
fn berth(ctx: &Ctx, session: &str) -> Result<Option<String>, String> {
    let path = ctx.state().join("sessions").join(session);
    let text =
        std::fs::read_to_string(path.join("session.json")).map_err(|error| error.to_string())?;
    let record: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(record["berth"].as_str().map(str::to_owned))
}

fn filled(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let filled = ctx.lazaret("pool fill base --count 1 --json")?;
    expect_eq("made", &filled.expect_code(0)?.json()?["made"], &1)?;
    let first = places(ctx)?;
    expect_eq("places", &first.len(), &1)?;

    // What the command is given comes when it starts, not when its container was made.
    let script = "test \"$WORD\" = given && test \"$(id -u)\" != 0 && echo b >> a";
    let run = |name: &str| {
        let arguments = [
            "run",
            "base",
            "-w",
            "project",
            "--name",
            name,
            "--keep",
            "-e",
            "WORD=given",
            "--apply",
            "auto",
            "--",
            "sh",
            "-c",
            script,
        ];
        ctx.lazaret(&arguments)?.expect_code(0)
    };
    run("one")?;
    expect_eq(
        "the place of the first",
        &berth(ctx, "one")?.as_ref(),
        &first.first(),
    )?;
    // It was replaced while the command ran.
    let second = places(ctx)?;
    expect_eq("places after a run", &second.len(), &1)?;
    expect("not the same place", || first != second)?;

    // A kept session goes on in the volume that it took.
    run("one")?;
    expect_eq(
        "the place of a second run",
        &berth(ctx, "one")?.as_ref(),
        &first.first(),
    )?;

    // No sweep takes it.
    ctx.ok("prune --yes")?;
    ctx.ok("recover")?;
    expect_eq("places after a sweep", &places(ctx)?, &second)?;

    // Other limits want another container.
    ctx.profile("tight", "image = \"base\"\n[limits]\nmemory = \"300m\"\n");
    let tight = [
        "run", "tight", "-w", "project", "--name", "two", "--keep", "--", "true",
    ];
    ctx.lazaret(&tight)?.expect_code(0)?;
    expect_eq("the place of what does not fit", &berth(ctx, "two")?, &None)?;

    // One whose container another program removed is skipped.
    for object in ctx.objects()? {
        if object.to_string().contains(&second[0]) && object.to_string().contains("-agent") {
            api::remove(&ctx.engine().socket(), &object)?;
        }
    }
    run("three")?;
    expect_eq("the place of what is gone", &berth(ctx, "three")?, &None)?;

    ctx.ok("pool drain")?;
    expect_eq("places after draining", &places(ctx)?.len(), &0)?;
    ctx.ok("rm one two three")?;
    Ok(())
}

fn with_network(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    let rule = format!("\"{NAME}:{port}\"");
    let profile = format!("image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [{rule}]\n");
    ctx.profile("net", &profile);
    ctx.workspace("project", "f a \"a\\n\"");
    ctx.ok("pool fill net")?;
    let first = places(ctx)?;
    let script = format!(
        r#"
        exec 3<>/dev/tcp/127.0.0.1/3128
        printf 'GET http://{NAME}:{port}/x HTTP/1.1\r\nHost: {NAME}:{port}\r\n\r\n' >&3
        IFS= read -r -t 60 line <&3; printf '%s\n' "$line"
        "#
    );
    let ran = ctx
        .script("run net -w project --name n --keep -- bash -c", &script)
        .run()?;
    ran.expect_code(0)?.expect_text("200 OK")?;
    expect_eq("the place", &berth(ctx, "n")?.as_ref(), &first.first())?;
    ctx.ok("pool drain net")?;
    ctx.ok("rm n")?;
    Ok(())
}

//! An engine that is reached over a network.

use std::fs;

use serde_json::json;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::forwarder::Forwarder;
use crate::lazaret::Ended;

scenarios! {
    "remote/what-travels-is-compressed" => compressed;
}

/// What a text is made of that is easily compressed.
const LINE: &str = "one line of many that are all the same\n";
const BYTES: u64 = 6 << 20;

/// In, out, and in again: all of it arrives, and little of it travels.
fn compressed(ctx: &Ctx) -> Result<(), String> {
    let far = Forwarder::start(&ctx.engine().socket()).map_err(|error| error.to_string())?;
    let run = |arguments: &[&str]| -> Result<Ended, String> {
        ctx.call(arguments)
            .env("LAZARET_ENGINE", &far.endpoint())
            .run()
    };
    let command = |script: &'static str| -> Vec<&'static str> {
        let start = ["run", "base", "-w", "project", "--name", "s", "--keep"];
        let rest = ["--apply", "auto", "--json", "--", "sh", "-c", script];
        [start.as_slice(), rest.as_slice()].concat()
    };
    let workspace = ctx.workspace("project", "f small \"one\\n\"");
    let text = LINE.repeat(usize::try_from(BYTES).unwrap_or(0) / LINE.len());
    fs::write(workspace.join("text"), &text).map_err(|error| error.to_string())?;
    run(&["image", "build", "base", "porter"])?.expect_code(0)?;
    far.take();

    let first = run(&command("cat text text > more; echo two >> small"))?
        .expect_code(0)?
        .json()?;
    let changes = json!({ "added": ["more"], "modified": ["small"], "deleted": [] });
    expect_eq("what changed", &first["changes"], &changes)?;
    let more = fs::read_to_string(workspace.join("more")).map_err(|error| error.to_string())?;
    let all = [text.as_str(), text.as_str()].concat();
    expect("all of it came back", || more == all)?;
    little(&far)?;

    let longer = [text.as_str(), LINE].concat();
    fs::write(workspace.join("text"), &longer).map_err(|error| error.to_string())?;
    run(&command("wc -c < text; rm more"))?
        .expect_code(0)?
        .expect_text(&longer.len().to_string())?;
    expect("what is gone inside is gone", || {
        !workspace.join("more").exists()
    })?;
    little(&far)?;
    run(&["rm", "--force", "s"])?.expect_code(0)?;
    Ok(())
}

/// Much less has travelled than the text holds.
fn little(far: &Forwarder) -> Result<(), String> {
    let (to, from) = far.take();
    for (what, bytes) in [("in", to), ("out", from)] {
        let what = format!("of {BYTES} bytes few travel {what}: {bytes}");
        expect(&what, || bytes < BYTES / 8)?;
    }
    Ok(())
}

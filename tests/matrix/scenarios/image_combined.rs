//! Combined images: one image of several declarations, by their names alone.

use super::image::{declare, declare_component};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Output;

scenarios! {
    any engine;
    "image/a-combined-image-runs-the-programs-of-both" => both;
    "image/files-that-clash-are-refused-with-both-names" => clash;
}

/// Declares an image with one program, `/opt/PROGRAM`, which prints `text`. Its hash is this
/// run's own, and so is the image.
fn image(ctx: &Ctx, name: &str, program: &str, text: &str) {
    let mark = ctx.store_id();
    declare_component(
        ctx,
        name,
        &format!(
            "description = \"{mark}\"\npaths = [\"opt/{program}\"]\n\
             verify = [\"/opt/{program} && echo 1.0\"]\n[[source]]\nname = \"script\"\n\
             install = \"printf '#!/bin/sh\\\\necho {text}\\\\n' > /opt/{program}; \
             chmod 755 /opt/{program}\"\n"
        ),
    );
    let spec = format!("description = \"x\"\nbase = \"base\"\n[components]\n{name} = {{}}\n");
    declare(ctx, name, &spec);
}

/// Whether a build had to install something.
fn installs(output: &Output) -> bool {
    output.stderr.contains(" from script")
}

fn both(ctx: &Ctx) -> Result<(), String> {
    image(ctx, "left", "left", "left-ran");
    image(ctx, "right", "right", "right-ran");
    for name in ["left", "right"] {
        ctx.ok(&format!("image build {name}"))?;
    }
    let built = ctx.ok("image build right+left --json")?;
    expect("the layers of its parts are used", || !installs(&built))?;
    let again = ctx.ok("image build left+right --json")?;
    let (built, again) = (built.json()?, again.json()?);
    expect_eq("one image in any order", &again[0]["id"], &built[0]["id"])?;
    expect_eq("nothing to do", &again[0]["reused"], &true)?;
    let listed = ctx.ok("image ls")?;
    expect("it is listed", || listed.stdout.contains("left+right"))?;
    ctx.ok("image prune")?;
    let kept = ctx.ok("image build left+right --json")?.json()?;
    expect_eq("prune leaves it", &kept[0]["reused"], &true)?;

    ctx.workspace("project", "f a \"a\"");
    ctx.profile("named", "image = \"right+left\"\n");
    ctx.profile("asked", "image = \"left\"\n");
    let script = "/opt/left; /opt/right";
    for run in ["run named", "run asked --with right"] {
        let mut words: Vec<_> = run.split(' ').collect();
        words.extend([
            "-w", "project", "--apply", "never", "--", "sh", "-ec", script,
        ]);
        let output = ctx.lazaret(&words)?.output();
        output.expect_text("left-ran")?.expect_text("right-ran")?;
    }
    for name in ["left+right", "left", "right"] {
        ctx.ok(&format!("image rm {name}"))?;
    }
    Ok(())
}

fn clash(ctx: &Ctx) -> Result<(), String> {
    image(ctx, "here", "tool", "one");
    image(ctx, "there", "tool", "two");
    let refused = ctx.call("image build here+there").run()?;
    let refused = refused.expect_code(125)?;
    refused
        .expect_text("cannot combine images here and there: both have /opt/tool")
        .map(drop)
}

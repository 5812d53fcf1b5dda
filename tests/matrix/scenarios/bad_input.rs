//! What is refused before anything is made on the engine.

use crate::ctx::{Ctx, expect};
use crate::lazaret::Ended;

scenarios! {
    any engine;
    "bad-input/unknown-profile-key" => unknown_profile_key;
    "bad-input/home-is-no-workspace" => home_is_no_workspace;
    "bad-input/missing-workspace" => missing_workspace;
}

/// Nothing was made: there is nothing to clean up either.
fn refused(ctx: &Ctx, output: Ended, needle: &str) -> Result<(), String> {
    output.expect_code(125)?.expect_text(needle)?;
    let objects = ctx.objects()?;
    expect("nothing was made on the engine", || objects.is_empty())
}

fn unknown_profile_key(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\"");
    ctx.profile("odd", "image = \"base\"\ncolour = \"blue\"\n");
    let output = ctx.lazaret("run odd -w project -- true")?;
    refused(ctx, output, "colour")
}

fn home_is_no_workspace(ctx: &Ctx) -> Result<(), String> {
    let home = ctx.home().display().to_string();
    let output = ctx.lazaret(&["run", "base", "-w", &home, "--", "true"])?;
    refused(ctx, output, "home")
}

fn missing_workspace(ctx: &Ctx) -> Result<(), String> {
    let output = ctx.lazaret("run base -w nowhere -- true")?;
    refused(ctx, output, "nowhere")
}

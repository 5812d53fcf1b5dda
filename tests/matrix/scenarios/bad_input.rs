//! What is refused before anything is made on the engine.

use super::Scenario;
use crate::ctx::{Ctx, expect};
use crate::lazaret::Output;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "bad-input/unknown-profile-key",
        run: unknown_profile_key,
    },
    Scenario {
        name: "bad-input/home-is-no-workspace",
        run: home_is_no_workspace,
    },
    Scenario {
        name: "bad-input/missing-workspace",
        run: missing_workspace,
    },
];

/// Nothing was made: there is nothing to clean up either.
fn refused(ctx: &Ctx, output: Output, needle: &str) -> Result<(), String> {
    let _output = output.expect_code(125)?.expect_text(needle)?;
    let objects = ctx.objects()?;
    expect("nothing was made on the engine", || objects.is_empty())
}

fn unknown_profile_key(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\"");
    ctx.profile("odd", "image = \"base\"\ncolour = \"blue\"\n");
    let output = ctx.lazaret(&["run", "odd", "-w", "project", "--", "true"])?;
    refused(ctx, output, "colour")
}

fn home_is_no_workspace(ctx: &Ctx) -> Result<(), String> {
    let home = ctx.home().display().to_string();
    let output = ctx.lazaret(&["run", "base", "-w", &home, "--", "true"])?;
    refused(ctx, output, "home")
}

fn missing_workspace(ctx: &Ctx) -> Result<(), String> {
    let output = ctx.lazaret(&["run", "base", "-w", "nowhere", "--", "true"])?;
    refused(ctx, output, "nowhere")
}

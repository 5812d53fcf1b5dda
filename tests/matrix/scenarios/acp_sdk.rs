//! `lazaret acp` and a published client library of the protocol, in Python.

use std::fs;

use super::acp::agent;
use super::mcp_sdk::install;
use crate::ctx::Ctx;

scenarios! {
    any engine;
    "acp/python-sdk" => python_sdk;
}

/// The library, as its project publishes it.
const LIBRARY: &str = "agent-client-protocol==0.12.1";

/// Begins, prompts, and answers by the library's own calls.
const SCRIPT: &str = include_str!("acp_sdk.py");

fn python_sdk(ctx: &Ctx) -> Result<(), String> {
    let workspace = agent(ctx, "")?;
    let python = install(&ctx.home().join("venv"), LIBRARY)?;
    let script = ctx.home().join("editor.py");
    fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
    let words = [
        python,
        script.display().to_string(),
        workspace.display().to_string(),
    ];
    let ended = ctx
        .call("acp mine -w project --name s")
        .behind(words.to_vec())
        .run()?
        .expect_code(0)?;
    ended.expect_text("the library is content")?;
    ctx.lazaret("stop s")?.output();
    ctx.ok("rm --force s").map(drop)
}

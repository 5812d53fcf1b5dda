//! `lazaret mcp` and the official client library of the protocol, in Python.

use std::fs;
use std::path::Path;

use super::mcp::allow;
use crate::ctx::Ctx;

scenarios! {
    any engine;
    "mcp/python-sdk" => python_sdk;
}

/// The library, as its project publishes it.
const LIBRARY: &str = "mcp==2.3.0";

/// Starts, waits, runs and reviews by the library's own calls.
const SCRIPT: &str = include_str!("mcp_sdk.py");

fn python_sdk(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    let venv = ctx.home().join("venv");
    let python = install(&venv, LIBRARY)?;
    let script = ctx.home().join("client.py");
    fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
    let words = [
        python,
        script.display().to_string(),
        root.join("project").display().to_string(),
    ];
    let ended = ctx
        .call("mcp")
        .behind(words.to_vec())
        .run()?
        .expect_code(0)?;
    ended.expect_text("the library is content")?;
    ctx.ok("discard s --yes").map(drop)
}

/// Makes an environment with a library; returns its Python.
pub(super) fn install(venv: &Path, library: &str) -> Result<String, String> {
    let run = |what: &str, argv: &[&str]| {
        let ended = duct::cmd(argv[0], &argv[1..])
            .stderr_to_stdout()
            .stdout_capture()
            .unchecked()
            .run()
            .map_err(|error| format!("{what}: {error}"))?;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        match ended.status.success() {
            true => Ok(()),
            false => Err(format!("{what}:\n{said}")),
        }
    };
    let place = venv.display().to_string();
    run(
        "`python3 -m venv` needs the packages python3 and python3-venv",
        &["python3", "-m", "venv", &place],
    )?;
    let python = venv.join("bin/python").display().to_string();
    // A package index that is slow, or busy, is asked again by pip itself.
    let pip = ["-m", "pip", "install", "--quiet", "--retries=5"];
    let words = [
        &[python.as_str()],
        &pip[..],
        &[
            "--disable-pip-version-check",
            "--only-binary=:all:",
            library,
        ],
    ];
    run(
        &format!("{library} can't be had from the package index"),
        &words.concat(),
    )?;
    Ok(python)
}

//! What an engine said of itself, remembered wrongly: it opens nothing, and is forgotten.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ctx::{Ctx, expect_eq};
use crate::engine::EngineName;
use crate::lazaret::Ended;

scenarios! {
    "fault/engine-remembered-wrongly" => remembered_wrongly;
}

fn run(ctx: &Ctx, cache: &Path) -> Result<Ended, String> {
    let arguments = [
        "run", "base", "-w", "project", "--apply", "never", "--", "sh", "-c", "echo ran",
    ];
    ctx.call(&arguments)
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .run()
}

/// What is remembered, one file for each engine.
fn files(cache: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(cache.join("lazaret/engines"));
    let entries = listed.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn remembered_wrongly(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let cache = ctx.home().join("cache");
    run(ctx, &cache)?.expect_code(0)?;
    let [file] = <[PathBuf; 1]>::try_from(files(&cache)).map_err(|files| format!("{files:?}"))?;
    let text = fs::read(&file).map_err(|error| error.to_string())?;
    run(ctx, &cache)?.expect_code(0)?.expect_text("ran")?;

    let mut said: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let info = &mut said["info"];
    match ctx.engine() {
        // As if ids inside were others outside.
        EngineName::Docker | EngineName::Podman => info["user_namespace"] = json!("Mapped"),
        // As if it could limit memory and processes.
        EngineName::PodmanRootless | EngineName::Kubernetes => info["not_applicable"] = json!({}),
    }
    fs::write(&file, said.to_string()).map_err(|error| error.to_string())?;
    let refused = run(ctx, &cache)?.expect_code(125)?;
    expect_eq("no command ran", &refused.stdout.contains("ran"), &false)?;
    expect_eq("it is forgotten", &files(&cache), &Vec::<PathBuf>::new())?;
    run(ctx, &cache)?.expect_code(0)?.expect_text("ran")?;
    expect_eq("and known again", &files(&cache), &vec![file.clone()])?;
    let known: Value = fs::read(&file)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()))?;
    let before: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    expect_eq("as it was", &known["info"], &before["info"])
}

//! Tenants of one chat agent: each sees its own workspace, and none changes what steers it.
//!
//! docs/how-to/tenants.md tells the same for users.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::mcp::allow;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::mcp_client::McpClient;

scenarios! {
    any engine;
    "seed/tenant" => tenant;
}

fn tenant(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    ctx.profile(
        "mine",
        "image = \"base\"\nworkspace = { project = \"../..\" }\n",
    );
    let mut client = McpClient::begin(ctx)?;
    let isolated = project(&mut client, &root.join("isolated"), Isolation::On)?;
    two_tenants(ctx, &mut client, &isolated)?;
    updated_prompt(ctx, &isolated)?;
    let together = project(&mut client, &root.join("together"), Isolation::Off)?;
    mode_off(ctx, &mut client, &together)?;
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isolation {
    On,
    Off,
}

/// A project with a system prompt, sessions and settings, as `project_create` makes it.
fn project(client: &mut McpClient, path: &Path, isolation: Isolation) -> Result<PathBuf, String> {
    let is_isolated = isolation == Isolation::On;
    let protected = match isolation {
        Isolation::On => json!(["AGENTS.md", ".factory/"]),
        Isolation::Off => json!([]),
    };
    let made = client.call(
        "project_create",
        json!({ "path": path, "workspace_isolation": is_isolated, "protected_paths": protected,
            "share": if is_isolated { json!(["docs/"]) } else { json!([]) } }),
    )?;
    let settings = &made["settings"];
    expect_eq(
        "isolation",
        &settings["workspace_isolation"],
        &json!(is_isolated),
    )?;
    for (name, text) in [
        ("AGENTS.md", "be kind\n"),
        (".factory/mcp.json", "{}\n"),
        ("docs/guide", "for all\n"),
        ("metadata.json", "canary of the project\n"),
        ("sessions/1.json", "canary of a session\n"),
    ] {
        let path = path.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|error| error.to_string())?;
        fs::write(path, text).map_err(|error| error.to_string())?;
    }
    let known = client.call("project_get", json!({ "path": path }))?;
    let known = &known["settings"]["workspace_isolation"];
    expect_eq("project_get", known, &settings["workspace_isolation"])?;
    Ok(path.to_owned())
}

/// Makes a workspace, and starts a session in it that stays.
fn enter(
    ctx: &Ctx,
    client: &mut McpClient,
    project: &Path,
    tenant: &str,
) -> Result<PathBuf, String> {
    let wanted = json!({ "project": project, "name": tenant });
    client.call("workspace_create", wanted)?;
    let workspace = project.join("workspaces").join(tenant);
    let started = json!({ "profile": "mine", "workspace": workspace, "name": tenant,
        "command": ["sh", "-c", format!("echo canary of {tenant} > mine")], "stay": true });
    client.call("session_start", started)?;
    ctx.ok(&["wait", tenant, "--for", "idle"])?;
    let listed = client.call("session_list", json!({ "workspace": workspace }))?;
    let sessions = listed["sessions"].as_array().map(Vec::len);
    expect_eq("the sessions of a workspace", &sessions, &Some(1))?;
    Ok(workspace)
}

fn sees(client: &mut McpClient, session: &str, script: &str) -> Result<String, String> {
    let argv = ["sh", "-c", script];
    let ended = client.call("session_exec", json!({ "session": session, "argv": argv }))?;
    let text = |key: &str| ended[key].as_str().unwrap_or_default().to_owned();
    match ended["exit_code"] == json!(0) {
        true => Ok(text("stdout")),
        false => Err(format!("{script}: {ended}")),
    }
}

/// Tries each way to a file that the kernel keeps; prints those that led there.
const TRIES: &str = r#"
try() { if "$@" > /dev/null 2>&1; then echo "led there: $*"; fi; }
for path in AGENTS.md .factory/mcp.json; do
    try sh -c "echo evil >> $path"; try rm -f $path; try mv $path away; try sed -i s/e/x/ $path
    try chmod 666 $path; try ln -f mine $path; try cp --remove-destination mine $path
done
try touch .factory/new; try mv .factory away; try rm -rf .factory
"#;

fn two_tenants(ctx: &Ctx, client: &mut McpClient, project: &Path) -> Result<(), String> {
    let alice = enter(ctx, client, project, "alice")?;
    enter(ctx, client, project, "bob")?;
    for tenant in ["alice", "bob"] {
        let read = sees(
            client,
            tenant,
            "cat AGENTS.md .factory/mcp.json ../../docs/guide",
        )?;
        expect_eq("what it reads", &read, "be kind\n{}\nfor all\n")?;
        let canaries = "grep -rhs canary /workspace || true";
        let seen = sees(client, tenant, canaries)?;
        expect_eq("its own alone", &seen, &format!("canary of {tenant}\n"))?;
        expect_eq("ways", &sees(client, tenant, TRIES)?, "")?;
        let shared = "echo x >> ../../docs/guide";
        let refused = sees(
            client,
            tenant,
            &format!("({shared}) 2>/dev/null || echo refused"),
        )?;
        expect_eq("what all share", &refused, "refused\n")?;
        sees(client, tenant, "echo more >> mine; touch new")?;
    }
    // What comes back waits for a person, whatever the profile says.
    client.call("session_stop", json!({ "session": "alice" }))?;
    expect("nothing is applied", || !alice.join("mine").exists())?;
    ctx.ok("apply alice --yes")?;
    let mine = fs::read_to_string(alice.join("mine"));
    expect_eq(
        "its file",
        &mine.ok().as_deref(),
        &Some("canary of alice\nmore\n"),
    )?;
    let prompt = fs::read_to_string(project.join("AGENTS.md"));
    expect_eq("the prompt", &prompt.ok().as_deref(), &Some("be kind\n"))?;
    client.call("session_stop", json!({ "session": "bob" }))?;
    ctx.ok("rm --force bob").map(drop)
}

/// The operator edits the prompt of a workspace; its next session reads it.
fn updated_prompt(ctx: &Ctx, project: &Path) -> Result<(), String> {
    let workspace = project.join("workspaces/alice");
    let write = fs::write(workspace.join("AGENTS.md"), "be kinder\n");
    write.map_err(|error| error.to_string())?;
    let line = [
        "run",
        "mine",
        "-w",
        &workspace.display().to_string(),
        "--name",
        "alice",
    ];
    let script = [
        "--",
        "sh",
        "-c",
        "cat AGENTS.md; ! rm -f AGENTS.md 2>/dev/null",
    ];
    ctx.ok(&[&line[..], &script[..]].concat())?
        .expect_text("be kinder")?;
    ctx.ok("rm --force alice").map(drop)
}

/// Without isolation the profile decides: with the whole project, all is shared.
fn mode_off(ctx: &Ctx, client: &mut McpClient, project: &Path) -> Result<(), String> {
    let profile =
        "image = \"base\"\nworkspace = { isolation = \"project\", project = \"../..\" }\n";
    ctx.profile("mine", profile);
    enter(ctx, client, project, "carol")?;
    let seen = sees(
        client,
        "carol",
        "pwd; cat ../../metadata.json ../../sessions/1.json mine",
    )?;
    let expected = "/workspace/workspaces/carol\ncanary of the project\ncanary of a session\n\
        canary of carol\n";
    expect_eq("all of the project", &seen, expected)?;
    sees(client, "carol", "echo for carol too >> ../../docs/guide")?;
    client.call("session_stop", json!({ "session": "carol" }))?;
    ctx.ok("apply carol --yes")?;
    let guide = fs::read_to_string(project.join("docs/guide"));
    let expected = Some("for all\nfor carol too\n");
    expect_eq("what all share", &guide.ok().as_deref(), &expected)?;
    // The same profile in a project that isolates: the project's own file narrows it.
    let isolated = project.with_file_name("isolated");
    enter(ctx, client, &isolated, "dave")?;
    let seen = sees(client, "dave", "grep -rhs canary /workspace || true")?;
    expect_eq("its own alone", &seen, "canary of dave\n")?;
    client.call("session_stop", json!({ "session": "dave" }))?;
    let known: Value = client.call("project_get", json!({ "path": isolated }))?;
    expect_eq(
        "workspaces",
        &known["workspaces"],
        &json!(["alice", "bob", "dave"]),
    )?;
    ctx.ok("rm --force carol dave").map(drop)
}

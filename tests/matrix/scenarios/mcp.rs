//! `lazaret mcp`: what an outer agent can do, and what it can't.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ctx::{Ctx, expect, expect_eq};
use crate::mcp_client::McpClient;

scenarios! {
    any engine;
    "mcp/from-a-project-to-a-review" => whole;
    "mcp/nothing-outside-of-the-roots" => roots;
    "mcp/sessions-of-others" => others;
    "mcp/a-killed-client-leaves-its-session" => killed;
    "mcp/a-session-is-asked" => asked;
    "mcp/a-flood" => flood;
    "mcp/no-configuration" => unconfigured;
}

/// Runs on until it is stopped, and would apply what it changed.
const PROFILE: &str = "image = \"base\"\n[gate]\napply = \"auto\"\n";

/// Lets a client have the profile `mine` and what lies below `work/agents`; returns that path.
pub(super) fn allow(ctx: &Ctx) -> Result<PathBuf, String> {
    let root = ctx.workspace("agents", "d project\n");
    ctx.profile("mine", PROFILE);
    let text = format!(
        "[mcp]\nroots = [{:?}]\nprofiles = [\"mine\"]\n",
        root.display().to_string()
    );
    let write = |path: &Path, text: &str| fs::write(path, text).map_err(|error| error.to_string());
    write(&ctx.config().join("config.toml"), &text)?;
    fs::canonicalize(root).map_err(|error| error.to_string())
}

fn start(workspace: &Path, name: &str, script: &str) -> Value {
    json!({
        "profile": "mine",
        "workspace": workspace,
        "name": name,
        "command": ["sh", "-c", script],
        "stay": true,
    })
}

fn whole(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    let project = root.join("tenants");
    let mut client = McpClient::begin(ctx)?;
    let protected = json!(["AGENTS.md", ".factory/"]);
    let made = client.call(
        "project_create",
        json!({ "path": project, "workspace_isolation": true, "protected_paths": protected }),
    )?;
    expect_eq(
        "isolation",
        &made["settings"]["workspace_isolation"],
        &json!(true),
    )?;
    let again = client.refused("project_create", json!({ "path": project }))?;
    expect(&again, || again.contains("has a lazaret.toml already"))?;
    let write = |path: &str, text: &str| {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|error| error.to_string())?;
        fs::write(path, text).map_err(|error| error.to_string())
    };
    write("AGENTS.md", "be kind\n")?;
    write(".factory/mcp.json", "{}\n")?;
    write("secret", "of the project\n")?;
    let one = json!({ "project": project, "name": "one" });
    let made = client.call("workspace_create", one.clone())?;
    let workspace = project.join("workspaces/one");
    expect_eq("where", &made["path"], &json!(workspace))?;
    let again = client.refused("workspace_create", one)?;
    expect(&again, || again.contains("a workspace one already"))?;
    let linked = project.join("linked");
    std::os::unix::fs::symlink("secret", &linked).map_err(|error| error.to_string())?;
    let wanted = json!({ "project": project, "name": "two", "copy": ["linked"] });
    let link = client.refused("workspace_create", wanted)?;
    expect(&link, || link.contains("it is a link"))?;
    let known = client.call("project_get", json!({ "path": project }))?;
    expect_eq("the workspaces", &known["workspaces"], &json!(["one"]))?;

    let script = "exec 2>&1; cat AGENTS.md; echo new > made; \
        for path in AGENTS.md .factory/mcp.json lazaret.toml; do \
        (echo x >> $path) 2>/dev/null && echo wrote $path; done; cat ../../secret; printf '\\033[2J'";
    client.call("session_start", start(&workspace, "s", script))?;
    let came = client.call("session_wait", json!({ "session": "s", "for": "idle" }))?;
    expect_eq("what came", &came["came"], &json!("idle"))?;
    let log = client.call("session_log", json!({ "session": "s" }))?;
    let text = log["text"].as_str().unwrap_or_default();
    expect(&log.to_string(), || text.starts_with("be kind\n"))?;
    expect("protected paths are read only", || !text.contains("wrote"))?;
    expect("the project is out of reach", || {
        !text.contains("of the project")
    })?;
    expect("escaped", || !text.contains('\x1b'))?;
    let rest = client.call(
        "session_log",
        json!({ "session": "s", "since": 3, "max": 4 }),
    )?;
    expect_eq("a piece", &rest["text"], &json!("kind"))?;
    let exec = json!({
        "session": "s",
        "argv": ["sh", "-c", "cat; cat made; echo oh >&2; exit 3"],
        "stdin": "typed\n",
    });
    let ended = client.call("session_exec", exec)?;
    expect_eq("its code", &ended["exit_code"], &json!(3))?;
    expect_eq("its stdout", &ended["stdout"], &json!("typed\nnew\n"))?;
    expect_eq("its stderr", &ended["stderr"], &json!("oh\n"))?;
    let long = json!({ "session": "s", "argv": ["sleep", "1000"], "timeout_s": 1 });
    let ended = client.call("session_exec", long)?;
    expect_eq("its time is up", &ended["timed_out"], &json!(true))?;
    let much = json!({ "session": "s", "argv": ["sh", "-c", "yes | head -c 5000000"] });
    let ended = client.call("session_exec", much)?;
    expect_eq("all is counted", &ended["stdout_bytes"], &json!(5_000_000))?;
    expect_eq("it is cut", &ended["truncated"], &json!(true))?;

    let stopped = client.call("session_stop", json!({ "session": "s" }))?;
    expect_eq("its changes wait", &stopped["state"], &json!("kept"))?;
    let came = client.call("session_wait", json!({ "session": "s" }))?;
    expect_eq("it is at rest", &came["came"], &json!("ended"))?;
    let diff = client.call("session_diff", json!({ "session": "s" }))?;
    let text = diff["text"].as_str().unwrap_or_default();
    expect(&diff.to_string(), || text.contains("+new"))?;
    client.call("session_findings", json!({ "session": "s" }))?;
    let report = client.call("session_export", json!({ "session": "s" }))?;
    let text = report["text"].as_str().unwrap_or_default();
    expect(&report.to_string(), || text.contains("\"path\": \"made\""))?;
    let review = client.call("session_review", json!({ "session": "s" }))?;
    expect_eq(
        "what a person types",
        &review["command"],
        &json!("lazaret review s"),
    )?;
    // Nothing of it was applied, although the profile would.
    expect("the workspace is as it was", || {
        !workspace.join("made").exists()
    })?;
    client.leave()?;
    ctx.ok("apply s --yes")?;
    let made = fs::read_to_string(workspace.join("made")).unwrap_or_default();
    expect_eq("what a person applied", made.as_str(), "new\n")
}

fn roots(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    let outside = ctx.workspace("outside", "f a \"a\\n\"\n");
    let outside = fs::canonicalize(outside).map_err(|error| error.to_string())?;
    let link = root.join("link");
    std::os::unix::fs::symlink(&outside, &link).map_err(|error| error.to_string())?;
    let mut client = McpClient::begin(ctx)?;
    let up = root.join("project/../../outside");
    for path in [&outside, &link, &up, Path::new("outside")] {
        let said = client.refused("session_start", start(path, "s", "true"))?;
        expect(&said, || {
            ["outside of the roots", "can't be used", "no absolute path"]
                .iter()
                .any(|text| said.contains(text))
        })?;
        client.refused("project_get", json!({ "path": path }))?;
        client.refused("project_create", json!({ "path": path.join("new") }))?;
        let new = json!({ "project": path, "name": "w", "copy": ["a"] });
        client.refused("workspace_create", new)?;
    }
    let mut other = start(&root.join("project"), "s", "true");
    other["profile"] = json!("base");
    let said = client.refused("session_start", other)?;
    expect(&said, || {
        said.contains("the profile base is none that you may use")
    })?;
    // A profile that takes the whole project in leads out of the roots as well.
    ctx.profile(
        "mine",
        "image = \"base\"\n[workspace]\nisolation = \"project\"\nproject = \"../..\"\n",
    );
    let said = client.refused("session_start", start(&root.join("project"), "s", "true"))?;
    expect(&said, || said.contains("lies outside of the roots"))?;
    client.leave()?;
    expect("nothing was made outside", || {
        fs::read_dir(&outside).is_ok_and(|all| all.count() == 1)
    })?;
    let all = ctx.run_json(&["--json", "ls"])?;
    expect_eq("no session began", &all, &json!([]))
}

fn others(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    ctx.workspace("private", "f a \"a\\n\"\n");
    ctx.exits(0, "start base -w private --name private --stay", "true")?;
    // In the roots, by a profile that the client may not use.
    ctx.exits(
        0,
        "start base -w agents/project --name elsewise --stay",
        "true",
    )?;
    let mut client = McpClient::begin(ctx)?;
    let listed = client.call("session_list", json!({}))?;
    expect_eq("what is listed", &listed["sessions"], &json!([]))?;
    for session in ["private", "elsewise", "priv", "unknown"] {
        let one = json!({ "session": session });
        let mut exec = one.clone();
        exec["argv"] = json!(["true"]);
        let mut ask = one.clone();
        ask["request"] = json!({});
        for (tool, arguments) in [
            ("session_get", &one),
            ("session_wait", &one),
            ("session_stop", &one),
            ("session_exec", &exec),
            ("session_ask", &ask),
            ("session_log", &one),
            ("session_diff", &one),
            ("session_findings", &one),
            ("session_commits", &one),
            ("session_export", &one),
            ("session_review", &one),
        ] {
            let said = client.refused(tool, arguments.clone())?;
            expect(&said, || said.contains("that you may use"))?;
        }
    }
    let said = client.refused(
        "session_start",
        start(&root.join("project"), "private", "true"),
    )?;
    expect(&said, || said.contains("that you may use"))?;
    client.leave()?;
    for session in ["private", "elsewise"] {
        ctx.ok(&["stop", session])?;
    }
    Ok(())
}

/// Answers by what the request says.
const ANSWERS: &str = r#"
image = "base"
command = ["sh", "-c", """
read -r line; echo seen >> seen
case $line in *silent*) exit 3 ;; *endless*) exec sleep 600 ;; esac
echo "---LAZARET_OUTPUT_START:$LAZARET_ASK_NONCE---"
case $line in
  *much*) printf '{"a":"%0100000d"}\\n' 0 ;;
  *) echo '{"esc":"\\u001b[2J","n":'$(wc -l < seen)'}' ;;
esac
echo "---LAZARET_OUTPUT_END:$LAZARET_ASK_NONCE---"
"""]
gate = { apply = "auto" }
"#;

fn asked(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    ctx.profile("mine", ANSWERS);
    let mut client = McpClient::begin(ctx)?;
    let ask = |request: Value| json!({ "session": "s", "request": request, "timeout_s": 600 });
    client.call("session_start", start(&root.join("project"), "s", "true"))?;
    client.call("session_wait", json!({ "session": "s", "for": "idle" }))?;
    let said = client.call("session_ask", ask(json!({ "prompt": "hi", "id": "1" })))?;
    let expected = json!({ "esc": "\\u{1b}[2J", "n": 1 });
    expect_eq("the answer, escaped", &said["answer"], &expected)?;
    expect_eq("the turn's exit code", &said["exit_code"], &json!(0))?;
    let again = client.call("session_ask", ask(json!({ "prompt": "hi", "id": "1" })))?;
    expect_eq("answered once", &again["answer"], &said["answer"])?;
    let silent = client.call("session_ask", ask(json!({ "prompt": "silent" })))?;
    expect_eq("no answer", &silent["answer"]["status"], &json!("error"))?;
    let endless = json!({ "session": "s", "request": { "do": "endless" }, "timeout_s": 1 });
    let ended = client.call("session_ask", endless)?;
    expect_eq("its time is up", &ended["timed_out"], &json!(true))?;
    let much = client.refused("session_ask", ask(json!({ "prompt": "much" })))?;
    expect(&much, || much.contains("at most 64 KiB"))?;
    // A session that has a profile's name would be taken for that.
    client.call(
        "session_start",
        start(&root.join("project"), "mine", "true"),
    )?;
    let named = json!({ "session": "mine", "request": {} });
    let said = client.refused("session_ask", named)?;
    expect(&said, || said.contains("the name of a profile"))?;
    // What turns changed waits, whatever the profile says; a session at rest answers nothing.
    for session in ["s", "mine"] {
        client.call("session_stop", json!({ "session": session }))?;
    }
    expect("nothing was applied", || {
        !root.join("project/seen").exists()
    })?;
    let said = client.refused("session_ask", ask(json!({})))?;
    expect(&said, || said.contains("no command of session s runs"))?;
    client.leave()?;
    ctx.ok("rm --force s mine").map(drop)
}

fn killed(ctx: &Ctx) -> Result<(), String> {
    let root = allow(ctx)?;
    let mut client = McpClient::begin(ctx)?;
    let script = "until test -e /tmp/go; do sleep 0.05; done; echo made > made";
    client.call("session_start", start(&root.join("project"), "s", script))?;
    // A call that is not answered yet.
    let wait = json!({ "name": "session_wait", "arguments": { "session": "s" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": wait }))?;
    client.kill()?;
    let all = ctx.run_json(&["--json", "ls"])?;
    expect_eq("it lives on", &all[0]["keeper"]["state"], &json!("running"))?;
    let mut client = McpClient::begin(ctx)?;
    ctx.tell("go")?;
    let came = client.call("session_wait", json!({ "session": "s", "for": "idle" }))?;
    expect_eq("its command ended", &came["came"], &json!("idle"))?;
    client.call("session_stop", json!({ "session": "s", "kill": true }))?;
    client.leave()?;
    ctx.ok("discard s --yes").map(drop)
}

/// Each request of a flood is answered, and so is what is none.
fn flood(ctx: &Ctx) -> Result<(), String> {
    const COUNT: u64 = 3_000;
    allow(ctx)?;
    let mut client = McpClient::begin(ctx)?;
    let mut sent = 0;
    let mut answered = std::collections::BTreeSet::new();
    let mut errors = 0;
    while sent < COUNT {
        // A pipe holds 64 KiB: what was sent is read before more is.
        let until = (sent + 100).min(COUNT);
        let id = |number: u64| 1_000 + number;
        for number in sent..until {
            let call = json!({ "name": "session_list", "arguments": {} });
            let (method, params) = match number % 3 {
                0 => ("tools/call", call),
                1 => ("tools/list", json!({})),
                _ => ("ping", json!({})),
            };
            client.send(&json!({
                "jsonrpc": "2.0", "id": id(number), "method": method, "params": params,
            }))?;
        }
        client.send_bytes(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"id\": 2}")?;
        for _ in sent..=until {
            let answer = client.next()?;
            match answer["id"].as_u64() {
                Some(id) => expect("answered once", || answered.insert(id))?,
                None => errors += 1,
            }
        }
        sent = until;
    }
    client.send_bytes(&vec![b'['; 5 << 20])?;
    let long = client.next()?;
    expect_eq("too long", &long["error"]["code"], &json!(-32600))?;
    expect_eq("all are answered", &answered.len(), &3_000)?;
    expect_eq("what was none has errors", &errors, &30)?;
    client.leave().map(drop)
}

fn unconfigured(ctx: &Ctx) -> Result<(), String> {
    let file = ctx.config().join("config.toml");
    let refused = |text: &str| {
        fs::create_dir_all(ctx.config()).map_err(|error| error.to_string())?;
        fs::write(&file, text).map_err(|error| error.to_string())?;
        ctx.lazaret("mcp")?.expect_code(125)
    };
    ctx.lazaret("mcp")?
        .expect_code(125)?
        .expect_text("[mcp], below it roots = ")?;
    refused("")?.expect_text("nothing says which workspaces")?;
    refused("[mcp]\nroots = [\"work\"]\nprofiles = [\"base\"]\n")?.expect_text("is relative")?;
    refused("[mcp]\nroots = [\"/\"]\nprofiles = [\"base\"]\n")?
        .expect_text("the root directory")?;
    refused("[mcp]\nroots = [\"~/\"]\nprofiles = [\"base\"]\n")?.expect_text("home directory")?;
    refused("[mcp]\nroot = []\n")?.expect_text("unknown key `root`")?;
    let root = ctx.workspace("agents", "");
    let with = |profile: &str| {
        let root = root.display().to_string();
        refused(&format!(
            "[mcp]\nroots = [{root:?}]\nprofiles = [{profile:?}]\n"
        ))
    };
    with("unknown")?.expect_text("there is no profile \"unknown\"")?;
    with("./p.toml")?.expect_text("is a path")?;
    Ok(())
}

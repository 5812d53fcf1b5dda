//! `lazaret acp`: an agent behind an editor, what it can do there, and what it can't.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::ctx::{Ctx, expect, expect_eq};
use crate::line_client::LineClient;
use crate::watch::wait_until;

scenarios! {
    any engine;
    "acp/turns" => turns;
    "acp/a-clean-turn-is-applied" => applied;
    "acp/a-hostile-agent" => hostile;
    "acp/a-hostile-editor" => hostile_editor;
    "acp/how-it-ends" => ends;
}

/// An agent that speaks the protocol, and does what the prompt says.
const AGENT: &str = include_str!("acp.sh");

/// Makes the profile `mine` and a workspace; returns where that is.
pub(super) fn agent(ctx: &Ctx, more: &str) -> Result<PathBuf, String> {
    let workspace = ctx.workspace("project", "f a \"one\\n\"\n");
    let script = Value::from(AGENT);
    let toml = format!("image = \"base\"\nacp = [\"bash\", \"-c\", {script}]\n{more}");
    ctx.profile("mine", &toml);
    fs::canonicalize(workspace).map_err(|error| error.to_string())
}

/// An editor, which has begun a session.
fn begin(ctx: &Ctx, workspace: &PathBuf) -> Result<LineClient, String> {
    let mut editor = LineClient::begin(ctx.call("acp mine -w project --name s"))?;
    let offered = json!({
        "protocolVersion": 1,
        "clientCapabilities": { "fs": { "readTextFile": true }, "terminal": true, "new": 1 },
    });
    let init = editor.request("initialize", offered)?;
    expect_eq("no login", &init["result"]["authMethods"], &json!([]))?;
    let kept = &init["result"]["agentCapabilities"];
    expect_eq("other fields pass", kept, &json!({ "new": 1 }))?;
    let program = json!({ "name": "prog", "command": "/bin/sh", "args": [], "env": [] });
    let remote = json!({ "type": "http", "name": "far", "url": "https://mcp.example.com/" });
    let params = json!({ "cwd": workspace, "mcpServers": [program, remote] });
    let made = editor.request("session/new", params)?;
    expect_eq("it began", &made["result"]["sessionId"], &json!("s1"))?;
    expect_eq("no login", &made["result"]["authMethods"], &json!([]))?;
    Ok(editor)
}

/// Gives the agent a task; returns the answer, and what was said and told until then.
fn prompt(editor: &mut LineClient, text: &str) -> Result<(Value, String, Vec<Value>), String> {
    let params = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] });
    let (answer, heard) = editor.request_and_hear("session/prompt", params)?;
    let said = |message: &Value| {
        let text = &message["params"]["update"]["content"]["text"];
        text.as_str().map(str::to_owned)
    };
    let said: String = heard.iter().filter_map(said).collect();
    Ok((answer, said, heard))
}

/// Has a turn that is done; returns what was said.
fn turn(editor: &mut LineClient, text: &str) -> Result<String, String> {
    let (answer, said, _) = prompt(editor, text)?;
    let reason = &answer["result"]["stopReason"];
    expect_eq("how it stopped", reason, &json!("end_turn"))?;
    Ok(said)
}

/// What the agent was told so far, a message a line.
fn heard(ctx: &Ctx) -> Result<String, String> {
    Ok(ctx.ok("exec s -- cat /tmp/heard")?.stdout)
}

fn stop(ctx: &Ctx) -> Result<(), String> {
    ctx.lazaret("stop s")?.output();
    ctx.ok("rm --force s").map(drop)
}

fn turns(ctx: &Ctx) -> Result<(), String> {
    let workspace = agent(ctx, "")?;
    let mut editor = begin(ctx, &workspace)?;
    let told = heard(ctx)?;
    expect("nothing of the machine is offered", || {
        !told.contains("readTextFile") && !told.contains("\"terminal\"")
    })?;
    expect("the workspace is inside", || {
        told.contains("\"cwd\":\"/workspace\"") && told.contains("\"mcpServers\":[]")
    })?;
    // What the user changed goes in first.
    fs::write(workspace.join("a"), "two\n").map_err(|error| error.to_string())?;
    let said = turn(&mut editor, "do:read")?;
    for needle in ["\"prog\"", "mcp.example.com:443", "not saved", "a is two"] {
        expect(&said, || said.contains(needle))?;
    }
    expect(&said, || !said.contains("Changed"))?;
    let said = turn(&mut editor, "do:read")?;
    expect("a notice comes once", || !said.contains("not saved"))?;
    // Links lead inside, or the agent gets none of it.
    let link = |path: &str| {
        let uri = format!("file://{path}");
        let link = json!({ "type": "resource_link", "name": "n", "uri": uri });
        let text = json!({ "type": "text", "text": "do:read" });
        json!({ "sessionId": "s1", "prompt": [text, link] })
    };
    let inside = link(&workspace.join("a").display().to_string());
    editor.request("session/prompt", inside)?;
    let told = heard(ctx)?;
    expect(&told, || told.contains("\"uri\":\"file:///workspace/a\""))?;
    let outside = editor.request("session/prompt", link("/etc/passwd"))?;
    expect_eq("outside", &outside["error"]["code"], &json!(-32602))?;
    let elsewhere = editor.request("session/new", json!({ "cwd": "/etc", "mcpServers": [] }))?;
    expect_eq("elsewhere", &elsewhere["error"]["code"], &json!(-32602))?;
    expect("it heard of none", || {
        heard(ctx).is_ok_and(|told| !told.contains("/etc"))
    })?;
    // What it does is told by where it is for the user, and waits.
    let (_, said, told) = prompt(&mut editor, "do:write")?;
    let call = told.iter().find(|message| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "tool_call"
    });
    let call = call.ok_or("no tool call")?["params"]["update"].clone();
    let made = workspace.join("made");
    expect_eq("locations", &call["locations"], &json!([{ "path": made }]))?;
    expect_eq("a diff", &call["content"][0]["path"], &json!(made))?;
    let other = &call["content"][1]["content"]["type"];
    expect_eq("a diff elsewhere", other, &json!("text"))?;
    let uri = format!("file://{}", made.display());
    let link = &call["content"][2]["content"]["uri"];
    expect_eq("a link", link, &json!(uri))?;
    for needle in ["0 modified, 1 added", "+ made", "lazaret review s"] {
        expect(&said, || said.contains(needle))?;
    }
    expect("nothing is applied", || !made.exists())?;
    // A question is passed on, and told.
    let params =
        json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "do:permission" }] });
    let id = editor.ask("session/prompt", params)?;
    let question = loop {
        let message = editor.next()?;
        if message["method"] == "session/request_permission" {
            break message;
        }
    };
    let locations = &question["params"]["toolCall"]["locations"];
    expect_eq(
        "its places",
        locations,
        &json!([{ "path": workspace.join("a") }]),
    )?;
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "y" } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": "a1", "result": outcome }))?;
    loop {
        if editor.next()?["id"] == id {
            break;
        }
    }
    let told = heard(ctx)?;
    expect(&told, || told.contains("\"optionId\":\"y\""))?;
    let events = ctx.ok("--json events s")?.stdout;
    expect(&events, || {
        events.contains("needs_input") && events.contains("Run it")
    })?;
    let passed = editor.request("_x/unknown", json!({ "a": 1 }))?;
    expect_eq(
        "an unknown method",
        &passed["result"],
        &json!({ "got": 1.5 }),
    )?;
    // The editor goes, the session and its files stay.
    let left = editor.leave()?;
    left.expect_text("started")?;
    let mut editor = begin(ctx, &workspace)?;
    let said = turn(&mut editor, "do:more")?;
    expect(&said, || said.contains("+ made"))?;
    // A person decides while the agent lives on.
    let discard = ctx.fails("discard s --yes")?;
    discard.expect_text("in use")?;
    ctx.ok("apply s --yes")?.expect_text("applied 1 of 1")?;
    let made = fs::read_to_string(made).map_err(|error| error.to_string())?;
    expect_eq("both turns", &made.as_str(), &"new\nmore\n")?;
    ctx.ok("review s")?.expect_text("nothing to apply")?;
    let said = turn(&mut editor, "do:read")?;
    expect(&said, || !said.contains("made"))?;
    editor.leave()?;
    ctx.ok("stop s")?;
    ctx.ok("undo s")?;
    expect("it is taken back", || !workspace.join("made").exists())?;
    stop(ctx)
}

fn applied(ctx: &Ctx) -> Result<(), String> {
    let workspace = agent(ctx, "[gate]\napply = \"auto\"\n")?;
    let made = workspace.join("made");
    let read = || fs::read_to_string(&made).unwrap_or_default();
    let mut editor = begin(ctx, &workspace)?;
    let said = turn(&mut editor, "do:write")?;
    expect(&said, || said.contains("Applied to your workspace"))?;
    expect_eq("it is there", &read().as_str(), &"new\n")?;
    // On what the user made of it since.
    fs::write(&made, "new\nmine\n").map_err(|error| error.to_string())?;
    let said = turn(&mut editor, "do:more")?;
    expect(&said, || said.contains("Applied to your workspace"))?;
    expect_eq("both", &read().as_str(), &"new\nmine\nmore\n")?;
    let said = turn(&mut editor, "do:read")?;
    expect(&said, || {
        !said.contains("Applied") && !said.contains("made")
    })?;
    // A turn that was broken off, and one with a finding, wait as a whole.
    let (answer, said, _) = prompt(&mut editor, "do:break")?;
    let reason = &answer["result"]["stopReason"];
    expect_eq("how it stopped", reason, &json!("cancelled"))?;
    expect(&said, || said.contains("+ half"))?;
    expect("it waits", || !workspace.join("half").exists())?;
    let said = turn(&mut editor, "do:block")?;
    for needle in ["Not applied", "tasks.json", "+ beside", "lazaret review s"] {
        expect(&said, || said.contains(needle))?;
    }
    for path in ["half", "beside", ".vscode"] {
        expect(path, || !workspace.join(path).exists())?;
    }
    turn(&mut editor, "do:clean")?;
    editor.leave()?;
    ctx.lazaret("stop s")?.expect_code(0)?;
    // What was applied is known, and taken back one by one.
    let audit = ctx.ok("audit show")?.stdout;
    expect(&audit, || {
        audit.matches("batches without findings").count() <= 2
    })?;
    ctx.ok("undo s")?;
    expect_eq("one undone", &read().as_str(), &"new\nmine\n")?;
    ctx.fails("undo s")?;
    stop(ctx)
}

fn hostile(ctx: &Ctx) -> Result<(), String> {
    let workspace = agent(ctx, "")?;
    let mut editor = begin(ctx, &workspace)?;
    let (answer, _, told) = prompt(&mut editor, "do:attack")?;
    expect_eq("its own answer", &answer["id"], &json!(3))?;
    let told = Value::from(told).to_string();
    for needle in ["fs/", "terminal", "evil", "\"77\"", ":77", "noise", "_x"] {
        expect(&told, || !told.contains(needle))?;
    }
    let refused = heard(ctx)?;
    expect_eq("refusals", &refused.matches("-32601").count(), &3)?;
    // Requests that it does not read the answers of, and a lot to show.
    let (answer, _, told) = prompt(&mut editor, "do:flood")?;
    expect_eq(
        "it ends",
        &answer["result"]["stopReason"],
        &json!("end_turn"),
    )?;
    let texts = Value::from(told).to_string();
    expect_eq("all is shown", &texts.matches("flood ").count(), &2000)?;
    expect("no request is", || !texts.contains("fs/"))?;
    let (answer, _, _) = prompt(&mut editor, "do:long")?;
    expect_eq("no answer", &answer["error"]["code"], &json!(-32603))?;
    let memory = memory(&editor);
    expect(&format!("{memory} KiB"), || (1..200_000).contains(&memory))?;
    // It goes on.
    let said = turn(&mut editor, "do:read")?;
    expect(&said, || said.contains("a is one"))?;
    // One that reads nothing and does not end is ended with its editor.
    editor.ask(
        "session/prompt",
        json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "do:deaf" }] }),
    )?;
    wait_until("it is deaf", || {
        Ok(ctx.lazaret("exec s -- test -e /tmp/deaf")?.output().code == 0)
    })?;
    editor.fill(b"{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}\n")?;
    editor.leave()?;
    stop(ctx)
}

/// The most memory that the proxy has had, in KiB.
fn memory(editor: &LineClient) -> u64 {
    let status = editor.server().status();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn hostile_editor(ctx: &Ctx) -> Result<(), String> {
    let workspace = agent(ctx, "")?;
    let mut editor = begin(ctx, &workspace)?;
    let long = vec![b'x'; 100_000_000];
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"m\",\"params\":{deep}}}");
    let cases: [(&[u8], i64); 8] = [
        (&long, -32600),
        (deep.as_bytes(), -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":9,\"id\":8,\"method\":\"m\"}",
            -32700,
        ),
        (b"\xff\xfe", -32700),
        (b"{\"a\":\"\\u0000\"}", -32700),
        (b"nonsense", -32700),
        (b"[]", -32600),
        (b"{\"id\":9}", -32600),
    ];
    for (line, code) in cases {
        editor.send_bytes(line)?;
        let answer = editor.next()?;
        let shown = String::from_utf8_lossy(line.get(..40).unwrap_or(line)).into_owned();
        expect_eq(&shown, &answer["error"]["code"], &json!(code))?;
    }
    let memory = memory(&editor);
    expect(&format!("{memory} KiB"), || (1..200_000).contains(&memory))?;
    let said = turn(&mut editor, "do:read")?;
    expect(&said, || said.contains("a is one"))?;
    editor.leave()?;
    stop(ctx)
}

fn ends(ctx: &Ctx) -> Result<(), String> {
    let workspace = agent(ctx, "")?;
    let mut editor = begin(ctx, &workspace)?;
    // A second editor has no place beside the first.
    let second = ctx.fails("acp mine -w project --name s")?;
    let second = second.expect_text("--name NAME")?;
    expect("stdout is of the protocol", || second.stdout.is_empty())?;
    // The agent ends.
    let (answer, _, _) = prompt(&mut editor, "do:exit")?;
    expect_eq("the rest fails", &answer["error"]["code"], &json!(-32603))?;
    editor.end()?.expect_code(7)?.expect_text("exit code 7")?;
    // The editor is killed; the next one goes on in the same copy.
    let mut editor = begin(ctx, &workspace)?;
    turn(&mut editor, "do:write")?;
    editor.kill()?;
    let mut editor = begin(ctx, &workspace)?;
    turn(&mut editor, "do:more")?;
    ctx.ok("exec s -- grep -q new made")?;
    // The session is stopped under it.
    let id = editor.ask(
        "session/prompt",
        json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "do:deaf" }] }),
    )?;
    wait_until("it works", || {
        Ok(ctx.lazaret("exec s -- test -e /tmp/deaf")?.output().code == 0)
    })?;
    ctx.lazaret("stop s")?.output();
    loop {
        let message = editor.next()?;
        if message["id"] == id {
            expect_eq("the rest fails", &message["error"]["code"], &json!(-32603))?;
            break;
        }
    }
    let ended = editor.end()?.output();
    expect(&ended.stderr, || {
        ended.code != 0 && !ended.stderr.is_empty()
    })?;
    // What can't begin says so, and not on stdout.
    ctx.profile("other", "image = \"base\"\n");
    let refused = ctx.lazaret("acp other -w project")?.expect_code(2)?;
    let refused = refused.expect_text("names no program that speaks the protocol")?;
    expect("stdout is of the protocol", || refused.stdout.is_empty())?;
    stop(ctx)
}

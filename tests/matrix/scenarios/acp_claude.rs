//! `lazaret acp` and the real adapter of Claude Code, which follows a scripted model.

use std::fs;

use lazaret_tests::model::{Authority, Model, Turn};
use serde_json::{Value, json};

use super::agent::{CLAUDE, address_of_this_host, configure};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::line_client::LineClient;

scenarios! {
    any engine;
    "acp/claude" => claude;
}

/// What `docs/how-to/editor.md` has users write.
const PROFILE: &str = "extends = \"agent\"\nimage = \"claude-acp\"\nacp = [\"claude-agent-acp\"]\n";

fn script() -> Vec<Turn> {
    let path = "/workspace/a".to_owned();
    vec![
        Turn::Read { path: path.clone() },
        Turn::Edit {
            path,
            before: "one".to_owned(),
            after: "two".to_owned(),
        },
        Turn::Shell("echo read=$(cat /workspace/a)=".to_owned()),
    ]
}

fn claude(ctx: &Ctx) -> Result<(), String> {
    let key = format!("sk-canary-acp-{}-0123456789", ctx.engine());
    let workspace = ctx.workspace("project", "f a \"one\\n\"\n");
    let workspace = fs::canonicalize(workspace).map_err(|error| error.to_string())?;
    let address = address_of_this_host()?;
    let authority = Authority::new("a test's authority");
    let model = Model::start("0.0.0.0", &authority, CLAUDE.host, script(), |_| {})
        .map_err(|error| format!("the model's server: {error}"))?;
    let target = format!("{}:{}", CLAUDE.host, model.port());
    configure(ctx, &CLAUDE, &target, address, &authority)?;
    ctx.profile("editor", PROFILE);
    ctx.ok("image build claude-acp")?;

    let call = ctx.call("acp editor -w project --name s");
    let mut editor = LineClient::begin(call.env(CLAUDE.variable, &key))?;
    let offered = json!({
        "protocolVersion": 1,
        "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true },
    });
    let init = editor.request("initialize", offered)?;
    expect_eq("no login", &init["result"]["authMethods"], &json!([]))?;
    let params = json!({ "cwd": workspace, "mcpServers": [] });
    let made = editor.request("session/new", params)?;
    let session = made["result"]["sessionId"].clone();
    expect(&format!("it began: {made}"), || session.is_string())?;
    // Without it the model judges each command, which a scripted one does not.
    let mode = json!({ "sessionId": session, "modeId": "default" });
    let set = editor.request("session/set_mode", mode)?;
    expect(&format!("the mode is set: {set}"), || {
        set["error"].is_null()
    })?;
    let (answer, heard) = turn(&mut editor, &session, "Make it two.")?;
    let told: String = heard.iter().map(|message| format!("{message}\n")).collect();
    let explain = |error: String| format!("{error}\n--- the editor heard\n{answer}\n{told}");
    let reason = &answer["result"]["stopReason"];
    expect_eq("how it stopped", reason, &json!("end_turn")).map_err(explain)?;
    // What it does is told by where that is for the user; nothing is applied.
    let place = workspace.join("a").display().to_string();
    for needle in [
        "All of it is done.",
        &format!("\"path\":\"{place}\",\"type\":\"diff\""),
        "session/request_permission",
        "1 modified, 0 added",
        "lazaret review s",
    ] {
        expect(needle, || told.contains(needle)).map_err(explain)?;
    }
    // What is no path by the protocol passes as it is.
    expect("no path of the container", || {
        !told.contains("\"path\":\"/workspace")
    })
    .map_err(explain)?;
    let read = || fs::read_to_string(workspace.join("a")).unwrap_or_default();
    expect_eq("nothing is applied", &read().as_str(), &"one\n")?;
    let requests = model.requests();
    let talk: String = requests.iter().map(|request| request.text()).collect();
    expect("it did what it was told", || talk.contains("read=two=")).map_err(explain)?;
    // Every request had the key, and the editor and the agent none of it.
    for request in requests.iter().filter(|request| request.method == "POST") {
        let carried = request.header("x-api-key").map(str::to_owned);
        expect_eq("the key", &carried, &Some(key.clone()))?;
    }
    expect("the editor has no key", || !told.contains(&key))?;
    ctx.ok("apply s --yes")?.expect_text("applied 1 of 1")?;
    expect_eq("it is applied", &read().as_str(), &"two\n")?;
    editor.leave()?;
    ctx.lazaret("stop s")?.output();
    ctx.ok("rm --force s").map(drop)
}

/// Has a turn, in which the editor agrees to whatever the agent asks for.
fn turn(
    editor: &mut LineClient,
    session: &Value,
    text: &str,
) -> Result<(Value, Vec<Value>), String> {
    let prompt = json!([{ "type": "text", "text": text }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let id = editor.ask("session/prompt", params)?;
    let mut heard = Vec::new();
    loop {
        let message = editor.next()?;
        if message["method"] == "session/request_permission" {
            let options = message["params"]["options"].as_array();
            let allows = |option: &&Value| option["kind"] == "allow_once";
            let option = options.into_iter().flatten().find(allows);
            let option = option.ok_or_else(|| format!("nothing to agree to: {message}"))?;
            let chosen = json!({ "outcome": "selected", "optionId": option["optionId"] });
            let result = json!({ "outcome": chosen });
            let agreed = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            editor.send(&agreed)?;
        } else if message["id"] == id && message.get("method").is_none() {
            return Ok((message, heard));
        }
        heard.push(message);
    }
}

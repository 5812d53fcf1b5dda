//! What becomes of each message, hostile ones included.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::message::{MOST_DEPTH, MOST_LINE};

#[derive(Debug)]
struct Fake;

impl Host for Fake {
    fn allows(&self, host: &str, port: u16) -> bool {
        (host, port) == ("mcp.example.com", 443)
    }

    fn canonical(&self, path: &str) -> Option<String> {
        path.strip_prefix("/link")
            .map(|rest| format!("/home/u/p{rest}"))
    }

    fn sync(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn turn_ended(&self, _: &TurnEnd) -> Option<String> {
        None
    }

    fn needs_input(&self, _: &str) {}

    fn note(&self, _: &str) {}

    fn hang_up(&self) {}
}

fn proxy() -> Proxy {
    Proxy::new(Arc::new(Fake), Paths::new(Path::new("/home/u/p"), []))
}

fn value(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

fn request(id: u32, method: &str, params: Value) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    body.to_string().into_bytes()
}

/// What the agent gets of a request of the editor's.
fn to_agent(method: &str, params: Value) -> Value {
    let actions = proxy().from_editor(Some(&request(1, method, params)));
    match &actions[..] {
        [Action::ToAgent(line) | Action::Prompt(Prompt { line, .. })] => {
            value(line)["params"].clone()
        }
        other => panic!("{other:?}"),
    }
}

/// What the editor gets of an answer to a request of its own.
fn answered(method: &str, params: Value, answer: Value) -> Value {
    let mut proxy = proxy();
    proxy.from_editor(Some(&request(1, method, params)));
    let mut body = json!({ "jsonrpc": "2.0", "id": 1 });
    body.as_object_mut()
        .unwrap()
        .extend(answer.as_object().unwrap().clone());
    match &proxy.from_agent(Some(body.to_string().as_bytes()))[..] {
        [Action::ToEditor(line)] => value(line),
        other => panic!("{other:?}"),
    }
}

/// What the editor gets of an update.
fn updated(update: Value) -> Value {
    let params = json!({ "sessionId": "s", "update": update });
    let body = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
    match &proxy().from_agent(Some(body.to_string().as_bytes()))[..] {
        [Action::ToEditor(line)] => value(line)["params"]["update"].clone(),
        other => panic!("{other:?}"),
    }
}

/// The code of the error that an action tells.
fn refused(actions: &[Action]) -> i64 {
    let line = match actions {
        [Action::ToEditor(line) | Action::ReplyToAgent(line)] => line,
        other => panic!("{other:?}"),
    };
    value(line)["error"]["code"].as_i64().unwrap()
}

#[test]
fn an_agent_gets_no_files_terminals_and_logins_of_the_editor() {
    let offered = json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "auth": { "terminal": true },
            "new": { "a": 1 },
            "_meta": { "x": 1 },
        },
        "clientInfo": { "name": "e" },
    });
    let expected = json!({
        "protocolVersion": 1,
        "clientCapabilities": { "new": { "a": 1 }, "_meta": { "x": 1 } },
        "clientInfo": { "name": "e" },
    });
    assert_eq!(to_agent("initialize", offered), expected);
}

#[test]
fn what_is_of_the_machine_is_not_passed_to_the_editor() {
    for method in [
        "fs/read_text_file",
        "fs/write_text_file",
        "fs/new",
        "terminal/create",
        "terminal/output",
        "terminal/kill",
        "mcp/connect",
        "mcp/message",
    ] {
        let line = request(7, method, json!({ "path": "/etc/passwd" }));
        let actions = proxy().from_agent(Some(&line));
        assert_eq!(refused(&actions), -32601, "{method}");
        assert!(matches!(actions[..], [Action::ReplyToAgent(_)]));
        let without_id = json!({ "jsonrpc": "2.0", "method": method });
        assert_eq!(
            proxy().from_agent(Some(without_id.to_string().as_bytes())),
            []
        );
    }
}

#[test]
fn no_login_of_the_agents_reaches_the_editor() {
    let methods = json!([{
        "id": "x", "name": "Log in", "type": "terminal", "args": ["-c", "evil"],
        "_meta": { "terminal-auth": { "command": "sh", "args": ["-c", "evil"] } },
    }]);
    let result = json!({ "result": { "protocolVersion": 1, "authMethods": methods, "new": 1 } });
    let expected = json!({ "protocolVersion": 1, "authMethods": [], "new": 1 });
    let init = answered("initialize", json!({}), result.clone());
    assert_eq!(init["result"], expected);
    let none = answered("initialize", json!({}), json!({ "result": {} }));
    assert_eq!(none["result"], json!({ "authMethods": [] }));
    let other = answered("session/new", json!({}), result);
    assert_eq!(other["result"], expected);
    let error = json!({ "code": -32000, "message": "m", "data": { "authMethods": methods } });
    let error = answered("session/new", json!({}), json!({ "error": error }));
    assert_eq!(error["error"]["data"], json!({}));
}

#[test]
fn a_session_is_inside_of_the_workspace() {
    for method in [
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
    ] {
        for (cwd, expected) in [
            ("/home/u/p", "/workspace"),
            ("/home/u/p/sub", "/workspace/sub"),
            ("/link/sub", "/workspace/sub"),
        ] {
            let got = to_agent(method, json!({ "cwd": cwd, "mcpServers": [], "a": 1 }));
            let expected = json!({ "cwd": expected, "mcpServers": [], "a": 1 });
            assert_eq!(got, expected, "{method}");
        }
        for cwd in ["/home/u", "/", "/home/u/p/../q", "/home/u/pq", "p", ""] {
            let line = request(1, method, json!({ "cwd": cwd }));
            let mut proxy = proxy();
            assert_eq!(refused(&proxy.from_editor(Some(&line))), -32602, "{cwd}");
            // It waits for nothing.
            assert!(proxy.asked.is_empty());
        }
        let more = json!({ "cwd": "/home/u/p", "additionalDirectories": ["/home/u/p/a", "/etc"] });
        let actions = proxy().from_editor(Some(&request(1, method, more)));
        assert_eq!(refused(&actions), -32602);
    }
}

#[test]
fn an_agent_gets_no_server_but_those_that_it_may_reach() {
    let may =
        json!({ "type": "http", "name": "a", "url": "https://mcp.example.com/x", "headers": [] });
    let servers = json!([
        { "name": "b", "command": "/bin/sh", "args": [], "env": [] },
        { "type": "stdio", "name": "c", "command": "/bin/sh" },
        { "type": "http", "name": "d", "url": "https://other.example.com/x" },
        { "type": "sse", "name": "e", "url": "http://mcp.example.com/x" },
        { "type": "http", "name": "f", "url": "https://mcp.example.com@evil.example.com/" },
        { "type": "acp", "name": "g", "id": "1" },
        { "type": 1, "name": "h" },
        may,
        "i",
    ]);
    let mut proxy = proxy();
    let params = json!({ "cwd": "/home/u/p", "mcpServers": servers });
    let actions = proxy.from_editor(Some(&request(1, "session/new", params)));
    let [Action::ToAgent(line)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(value(line)["params"]["mcpServers"], json!([may]));
    proxy.from_agent(Some(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"sessionId\":\"s\"}}",
    ));
    let prompt = json!({ "sessionId": "s", "prompt": [] });
    let told = |proxy: &mut Proxy, id| match &proxy.from_editor(Some(&request(
        id,
        "session/prompt",
        prompt.clone(),
    )))[..]
    {
        [Action::Prompt(prompt)] => prompt.notices.clone(),
        other => panic!("{other:?}"),
    };
    let notices = told(&mut proxy, 2).join("\n");
    for name in ["b", "c", "d", "e", "f", "g", "h"] {
        assert!(notices.contains(&format!("{name:?}")), "{notices}");
    }
    assert!(
        !notices.contains("\"a\"") && notices.contains("not saved"),
        "{notices}"
    );
    // Once.
    assert!(told(&mut proxy, 3).is_empty());
}

#[test]
fn links_of_a_prompt_lead_into_the_workspace() {
    let link = |uri: &str| {
        json!([{ "type": "text", "text": "file:///etc/passwd" },
        { "type": "resource_link", "name": "n", "uri": uri }])
    };
    let embedded =
        |uri: &str| json!([{ "type": "resource", "resource": { "uri": uri, "text": "t" } }]);
    for (uri, expected) in [
        ("file:///home/u/p/a%20b#L1", "file:///workspace/a%20b#L1"),
        ("file:///link/a", "file:///workspace/a"),
        ("/home/u/p/a", "file:///workspace/a"),
        ("https://example.com/", "https://example.com/"),
        ("zed:///agent/thread/1", "zed:///agent/thread/1"),
    ] {
        for prompt in [link, embedded] {
            let got = to_agent(
                "session/prompt",
                json!({ "sessionId": "s", "prompt": prompt(uri) }),
            );
            assert_eq!(got["prompt"], prompt(expected));
        }
    }
    for uri in [
        "file:///etc/passwd",
        "file:///home/u/p/../q",
        "file:///home/u/p/%2e%2e/q",
        "file://host/home/u/p",
        "FILE:///etc/passwd",
        " file:///etc/passwd",
        "/etc/passwd",
    ] {
        for prompt in [link, embedded] {
            let params = json!({ "sessionId": "s", "prompt": prompt(uri) });
            let actions = proxy().from_editor(Some(&request(1, "session/prompt", params)));
            assert_eq!(refused(&actions), -32602, "{uri}");
        }
    }
}

#[test]
fn updates_name_files_of_the_workspace_alone() {
    let call = json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "1",
        "title": "/workspace/a",
        "rawInput": { "path": "/workspace/a" },
        "locations": [
            { "path": "/workspace/a", "line": 3 },
            { "path": "sub/b" },
            { "path": "/etc/passwd" },
            { "path": "/workspace/../etc/passwd" },
            { "path": "../b" },
            { "path": "~/.ssh/id" },
            { "path": "file:///etc/passwd" },
            { "path": "C:\\x" },
            { "path": "/home/u/p/a" },
        ],
        "content": [
            { "type": "diff", "path": "/workspace/a", "oldText": "/workspace/a", "newText": "b" },
            { "type": "diff", "path": "/etc/passwd", "oldText": null, "newText": "b" },
            { "type": "content", "content": { "type": "text", "text": "file:///workspace/a" } },
            { "type": "content", "content": { "type": "resource_link", "name": "n",
                "uri": "file:///workspace/a%20b#L1" } },
            { "type": "content", "content": { "type": "resource_link", "name": "n",
                "uri": "file:///etc/passwd" } },
            { "type": "content", "content": { "type": "resource",
                "resource": { "uri": "FILE:///etc/passwd", "text": "t" } } },
        ],
        "new": { "path": "/etc/x" },
    });
    let got = updated(call.clone());
    let text =
        |text: &str| json!({ "type": "content", "content": { "type": "text", "text": text } });
    assert_eq!(
        got["locations"],
        json!([{ "path": "/home/u/p/a", "line": 3 }, { "path": "sub/b" }])
    );
    assert_eq!(
        got["content"],
        json!([
            { "type": "diff", "path": "/home/u/p/a", "oldText": "/workspace/a", "newText": "b" },
            text("\"/etc/passwd\" lies outside of the workspace: its change is not shown."),
            text("file:///workspace/a"),
            { "type": "content", "content": { "type": "resource_link", "name": "n",
                "uri": "file:///home/u/p/a%20b#L1" } },
            text("\"file:///etc/passwd\" is a file outside of the workspace."),
            text("\"FILE:///etc/passwd\" is a file outside of the workspace."),
        ])
    );
    for key in ["title", "rawInput", "new", "toolCallId"] {
        assert_eq!(got[key], call[key], "{key}");
    }
    let chunk = |uri: &str| {
        json!({ "sessionUpdate": "agent_message_chunk",
        "content": { "type": "resource_link", "name": "n", "uri": uri } })
    };
    assert_eq!(
        updated(chunk("file:///workspace/a")),
        chunk("file:///home/u/p/a")
    );
    assert_eq!(updated(chunk("file:///root/a"))["content"]["type"], "text");
}

#[test]
fn a_question_to_the_user_is_mapped_and_told() {
    let mut proxy = proxy();
    let call =
        json!({ "title": "Write", "locations": [{ "path": "/workspace/a" }, { "path": "/etc" }] });
    let ask = |id| {
        request(
            id,
            "session/request_permission",
            json!({ "toolCall": call, "options": [] }),
        )
    };
    let actions = proxy.from_agent(Some(&ask(1)));
    let [Action::ToEditor(line), Action::NeedsInput(title)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(title, "Write");
    let locations = &value(line)["params"]["toolCall"]["locations"];
    assert_eq!(*locations, json!([{ "path": "/home/u/p/a" }]));
    // Told once while one waits.
    assert_eq!(proxy.from_agent(Some(&ask(2))).len(), 1);
    assert_eq!(refused(&proxy.from_agent(Some(&ask(2)))), -32600);
    for id in 3..=MOST_REQUESTS {
        proxy.from_agent(Some(&ask(id as u32)));
    }
    assert_eq!(refused(&proxy.from_agent(Some(&ask(1000)))), -32600);
    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}";
    assert_eq!(
        proxy.from_editor(Some(answer)),
        [Action::ToAgent(answer.to_vec())]
    );
    assert_eq!(proxy.from_agent(Some(&ask(1001))).len(), 1);
}

#[test]
fn what_is_not_known_passes_as_it_was_written() {
    let line: &[u8] = b" {\"method\":\"_x/y\", \"jsonrpc\":\"2.0\",\"id\":\"a\",\"n\":1.50,\
        \"params\":{\"path\":\"/etc/passwd\",\"big\":123456789012345678901234567890}}";
    let passed = proxy().from_editor(Some(line));
    assert_eq!(passed, [Action::ToAgent(line.to_vec())]);
    assert_eq!(
        proxy().from_agent(Some(line)),
        [Action::ToEditor(line.to_vec())]
    );
    let update: &[u8] =
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"a\":1.0}}";
    assert_eq!(
        proxy().from_agent(Some(update)),
        [Action::ToEditor(update.to_vec())]
    );
}

#[test]
fn a_line_that_is_no_message_is_refused_by_its_code() {
    let deep = |depth: usize| {
        let nested = format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{nested}}}")
    };
    assert_eq!(
        proxy().from_editor(Some(deep(MOST_DEPTH).as_bytes())).len(),
        1
    );
    let too_deep = deep(MOST_DEPTH + 1);
    let cases: [(&[u8], i64); 23] = [
        (b"{", -32700),
        (b"nonsense", -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\0\"}", -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000\"}",
            -32700,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}",
            -32700,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs/x\",\"me\\u0074hod\":\"m\"}",
            -32700,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"} {}",
            -32700,
        ),
        (too_deep.as_bytes(), -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":1e999}",
            -32700,
        ),
        (b"[]", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]", -32600),
        (b"1", -32600),
        (b"{}", -32600),
        (b"{\"id\":1,\"method\":\"m\"}", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", -32600),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}",
            -32600,
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":1}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":{}}",
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
            -32600,
        ),
        (b"{\"jsonrpc\":\"2.0\",\"result\":{}}", -32600),
    ];
    for (line, code) in cases {
        let shown = String::from_utf8_lossy(line);
        assert_eq!(refused(&proxy().from_editor(Some(line))), code, "{shown}");
        let mut proxy = proxy();
        proxy.from_editor(Some(&request(9, "session/new", json!({}))));
        let actions = proxy.from_agent(Some(line));
        // Of the agent's, never a byte reaches the editor; and the editor waits for nothing.
        match &actions[..] {
            [Action::Note(_)] => assert!(!line.starts_with(b"{"), "{shown}"),
            [
                Action::Note(_),
                Action::ReplyToAgent(told),
                Action::ToEditor(failed),
            ] => {
                assert_eq!(value(told)["error"]["code"], code, "{shown}");
                assert_eq!(value(failed)["id"], 9);
                assert_eq!(value(failed)["error"]["code"], -32603);
            }
            other => panic!("{shown}: {other:?}"),
        }
    }
    assert_eq!(refused(&proxy().from_editor(None)), -32600);
    assert_eq!(MOST_LINE, 8 << 20);
}

#[test]
fn an_answer_to_nothing_is_not_passed() {
    let mut proxy = proxy();
    let forged = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    assert!(matches!(
        proxy.from_agent(Some(forged))[..],
        [Action::Note(_)]
    ));
    proxy.from_editor(Some(&request(
        1,
        "session/prompt",
        json!({ "sessionId": "s" }),
    )));
    let other = b"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}";
    assert!(matches!(
        proxy.from_agent(Some(other))[..],
        [Action::Note(_)]
    ));
    assert!(matches!(
        proxy.from_agent(Some(forged))[..],
        [Action::TurnEnded(_)]
    ));
    assert!(matches!(
        proxy.from_agent(Some(forged))[..],
        [Action::Note(_)]
    ));
}

#[test]
fn only_a_turn_that_is_done_and_alone_is_complete() {
    let ended = |others: &[&str], answer: Value| {
        let mut proxy = proxy();
        for (index, method) in ["session/prompt"].iter().chain(others).enumerate() {
            let params = json!({ "sessionId": "s" });
            proxy.from_editor(Some(&request(index as u32, method, params)));
        }
        let mut body = json!({ "jsonrpc": "2.0", "id": 0 });
        body.as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        match &proxy.from_agent(Some(body.to_string().as_bytes()))[..] {
            [Action::TurnEnded(turn)] => turn.is_complete,
            other => panic!("{other:?}"),
        }
    };
    let done = json!({ "result": { "stopReason": "end_turn" } });
    assert!(ended(&[], done.clone()));
    assert!(ended(&["session/set_mode"], done.clone()));
    assert!(!ended(&["session/prompt"], done));
    for reason in ["cancelled", "max_tokens", "refusal", ""] {
        assert!(
            !ended(&[], json!({ "result": { "stopReason": reason } })),
            "{reason}"
        );
    }
    assert!(!ended(
        &[],
        json!({ "error": { "code": 1, "message": "m" } })
    ));
}

#[test]
fn requests_have_a_bound_and_ids_of_their_own() {
    let mut proxy = proxy();
    let at = |id: usize| request(id as u32, "m", json!({}));
    assert_eq!(proxy.from_editor(Some(&at(0))).len(), 1);
    assert_eq!(refused(&proxy.from_editor(Some(&at(0)))), -32600);
    for id in 1..MOST_REQUESTS {
        assert!(matches!(
            proxy.from_editor(Some(&at(id)))[..],
            [Action::ToAgent(_)]
        ));
    }
    assert_eq!(
        refused(&proxy.from_editor(Some(&at(MOST_REQUESTS)))),
        -32603
    );
}

#[test]
fn the_sessions_of_a_list_are_those_of_the_workspace() {
    let sessions = json!([
        { "sessionId": "a", "cwd": "/workspace/x",
            "additionalDirectories": ["/etc", "/workspace/y"] },
        { "sessionId": "b", "cwd": "/tmp" },
    ]);
    let listed = answered(
        "session/list",
        json!({ "cwd": "/home/u/p" }),
        json!({ "result": { "sessions": sessions } }),
    );
    let expected = json!([{ "sessionId": "a", "cwd": "/home/u/p/x",
        "additionalDirectories": ["/home/u/p/y"] }]);
    assert_eq!(listed["result"]["sessions"], expected);
    assert_eq!(
        to_agent("session/list", json!({ "cwd": "/home/u/p" }))["cwd"],
        "/workspace"
    );
}

//! The two revisions, the tools, and how calls end.

use serde_json::{Value, json};

use crate::client::Client;

#[test]
fn a_client_of_2025_11_25_is_served_and_one_of_an_older_revision_too() {
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let mut client = Client::connect();
        let answer = client.initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "lazaret");
        let (said, is_error) = client.call(1, "session_get", json!({ "session": "s" }));
        assert!(!is_error, "{said}");
        assert!(client.leave());
    }
    // An unknown one gets the newest that has this handshake.
    let mut client = Client::connect();
    let answer = client.initialize("2099-01-01");
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn a_client_of_2026_07_28_is_served_without_a_handshake() {
    let mut client = Client::connect();
    let with_meta = |mut params: Value, version: &str| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params
    };
    let discovered = client.request(1, "server/discover", with_meta(json!({}), "2026-07-28"));
    let versions = discovered["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{discovered}");
    assert!(versions.contains("2025-11-25"), "{discovered}");
    let call = json!({ "name": "session_get", "arguments": { "session": "s" } });
    let answer = client.request(2, "tools/call", with_meta(call.clone(), "2026-07-28"));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("SessionGet"), "{answer}");
    // A request names its revision each time.
    let refused = client.request(3, "tools/call", with_meta(call.clone(), "2099-01-01"));
    assert!(refused["error"]["message"].is_string(), "{refused}");
    let refused = client.request(4, "tools/call", call);
    assert!(refused["error"]["message"].is_string(), "{refused}");
    assert!(client.leave());
}

#[test]
fn mcp_02_no_tool_approves_applies_trusts_allows_or_removes() {
    let mut client = Client::initialized();
    let listed = client.request(1, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    // Each that is added is read by a person, here.
    assert_eq!(
        names,
        [
            "project_create",
            "project_get",
            "workspace_create",
            "session_start",
            "session_list",
            "session_get",
            "session_wait",
            "session_stop",
            "session_exec",
            "session_ask",
            "session_log",
            "session_diff",
            "session_findings",
            "session_commits",
            "session_export",
            "session_review",
        ]
    );
    let verbs = [
        "apply", "approve", "accept", "allow", "trust", "land", "discard", "remove", "rm",
        "policy", "undo", "delete", "publish", "secret", "engine", "image",
    ];
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(!verbs.iter().any(|verb| name.contains(verb)), "{name}");
        assert!(
            tool["description"].as_str().unwrap().ends_with('.'),
            "{tool}"
        );
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool}");
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        for (key, property) in schema["properties"].as_object().unwrap() {
            assert!(!verbs.contains(&key.as_str()), "{name}: {key}");
            assert!(property["description"].is_string(), "{name}: {key}");
        }
    }
}

#[test]
fn wrong_calls_get_an_error_that_says_what_is_wrong() {
    let mut client = Client::initialized();
    for (tool, arguments, word) in [
        ("session_get", json!({}), "session"),
        ("session_get", json!({ "session": 1 }), "string"),
        (
            "session_get",
            json!({ "session": "s", "apply": true }),
            "apply",
        ),
        (
            "session_wait",
            json!({ "session": "s", "for": "ever" }),
            "ever",
        ),
        (
            "session_exec",
            json!({ "session": "s", "argv": "ls" }),
            "sequence",
        ),
    ] {
        let (said, is_error) = client.call(1, tool, arguments);
        assert!(is_error, "{said}");
        assert_eq!(said["error"]["kind"], "usage");
        assert!(
            said["error"]["message"].as_str().unwrap().contains(word),
            "{said}"
        );
    }
    let unknown = json!({ "name": "session_apply", "arguments": {} });
    let answer = client.request(2, "tools/call", unknown);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("session_apply")
    );
    let (said, is_error) = client.call(3, "session_stop", json!({ "session": "s" }));
    assert!(is_error);
    assert_eq!(
        said.to_string(),
        r#"{"error":{"causes":["because"],"hints":["Do."],"kind":"refused","message":"no"}}"#
    );
    // A mistake in a tool costs its call alone.
    let (said, is_error) = client.call(4, "session_list", json!({}));
    assert!(is_error && said["error"]["kind"] == "internal", "{said}");
    let answer = client.request(5, "sessions/apply", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    assert!(client.leave());
}

#[test]
fn a_long_call_tells_of_its_progress_and_is_cancelled() {
    let mut client = Client::initialized();
    client.send(&json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {
            "name": "session_wait", "arguments": { "session": "s" },
            "_meta": { "progressToken": "p" },
        },
    }));
    let told = client.next();
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["progressToken"], "p");
    assert_eq!(told["params"]["progress"], 5.0);
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 },
    }));
    // Its answer is not wanted any more: the next line is that of another request.
    client.request(8, "ping", json!({}));
    let tools = std::sync::Arc::clone(&client.tools);
    assert!(client.leave());
    assert_eq!(*tools.stopped.lock().unwrap(), 1);
}

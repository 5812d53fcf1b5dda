//! Clients that flood, and lines that are none.

use std::collections::BTreeSet;
use std::io::Write as _;

use lazaret_mcp::{MOST_ANSWER, MOST_CALLS, MOST_DEPTH, MOST_LINE};
use serde_json::json;

use crate::client::Client;

#[test]
fn mcp_05_what_is_no_message_gets_an_error_and_the_next_one_an_answer() {
    let mut client = Client::initialized();
    let deep = |depth: usize| {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{nested}}}")
    };
    let (too_deep, far_too_deep) = (deep(MOST_DEPTH), deep(100_000));
    let long = vec![b'x'; MOST_LINE + 1];
    let far_too_long = vec![b'x'; 3 * MOST_LINE];
    let bad: [(&[u8], i32); 11] = [
        (b"{", -32700),
        (b"nonsense", -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}",
            -32700,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
            -32700,
        ),
        (too_deep.as_bytes(), -32700),
        (far_too_deep.as_bytes(), -32700),
        (&long, -32600),
        (&far_too_long, -32600),
        (b"\0", -32700),
        (b"[]", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
    ];
    for (line, code) in bad {
        client.send_bytes(line);
        let answer = client.next();
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        client.request(2, "ping", json!({}));
    }
    client.send_bytes(b"   ");
    client.request(3, "ping", json!({}));
    assert!(client.leave());
}

#[test]
fn an_answer_has_a_bound() {
    let mut client = Client::initialized();
    let fits = MOST_ANSWER - 100;
    let (said, is_error) = client.call(1, "session_log", json!({ "session": "s", "max": fits }));
    assert!(!is_error && said["text"].as_str().unwrap().len() == fits);
    let (said, is_error) = client.call(
        2,
        "session_log",
        json!({ "session": "s", "max": MOST_ANSWER }),
    );
    assert!(is_error, "{said:.200}");
}

/// Each request of a flood is answered once, and no more of them are worked on at once than the
/// bound says.
#[test]
fn mcp_06_a_flood_waits_and_loses_nothing() {
    const COUNT: u64 = 2_000;
    let mut client = Client::initialized();
    let mut writer = client.writer();
    let flood = std::thread::spawn(move || {
        for id in 1..=COUNT {
            let call = json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "session_wait", "arguments": { "session": "s" } },
            });
            writer.write_all(format!("{call}\n").as_bytes()).unwrap();
        }
    });
    // All that may be worked on are; only then they end.
    while usize::try_from(*client.tools.at_work.lock().unwrap()).unwrap() < MOST_CALLS {
        std::thread::yield_now();
    }
    client.tools.release();
    let mut answered = BTreeSet::new();
    for _ in 0..COUNT {
        let answer = client.next();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(answered.insert(answer["id"].as_u64().unwrap()), "{answer}");
    }
    flood.join().unwrap();
    assert_eq!(answered, (1..=COUNT).collect());
    let most = usize::try_from(*client.tools.most_at_once.lock().unwrap()).unwrap();
    assert_eq!(most, MOST_CALLS);
    assert!(client.leave());
}

#[test]
fn calls_are_stopped_when_the_client_goes() {
    let mut client = Client::initialized();
    let wait = json!({ "name": "session_wait", "arguments": { "session": "s" } });
    client.send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": wait,
    }));
    while *client.tools.at_work.lock().unwrap() == 0 {
        std::thread::yield_now();
    }
    let tools = std::sync::Arc::clone(&client.tools);
    assert!(client.leave());
    assert_eq!(*tools.stopped.lock().unwrap(), 1);
    assert_eq!(*tools.at_work.lock().unwrap(), 0);
}

#[test]
fn a_client_that_is_none_ends_the_server() {
    let client = Client::connect();
    assert!(client.leave());
    let mut client = Client::connect();
    client.request(1, "ping", json!({}));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert!(!client.leave());
}

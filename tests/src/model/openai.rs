//! Events of OpenAI's Responses API, for the tools that Codex offers.

use serde_json::{Value, json};

use super::Turn;

/// What comes next in a conversation.
pub(super) fn events<'a>(
    body: &Value,
    turn: impl FnOnce(usize) -> Option<&'a Turn>,
    last_words: &str,
    number: usize,
) -> Vec<Value> {
    let input = body["input"].as_array().into_iter().flatten();
    let mut done = 0;
    let mut running = None;
    for item in input.filter(|item| is_result(item)) {
        running = session(&item["output"]);
        // A command that still runs has not answered yet.
        done += usize::from(running.is_none());
    }
    let item = match (running, turn(done)) {
        (Some(session), _) => wait(session, number),
        (None, Some(turn)) => call(turn, number),
        (None, None) => json!({
            "type": "message", "role": "assistant", "id": format!("msg_{number}"),
            "content": [{ "type": "output_text", "text": last_words }],
        }),
    };
    let id = format!("resp_{number}");
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": null,
        "output_tokens": 10, "output_tokens_details": null, "total_tokens": 20,
    });
    vec![
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }),
    ]
}

fn is_result(item: &Value) -> bool {
    item["type"] == "function_call_output"
}

/// The session in which a command goes on that has not ended in time.
fn session(output: &Value) -> Option<u64> {
    let text = match output.as_str() {
        Some(text) => text.to_owned(),
        None => output.to_string(),
    };
    let (_, behind) = text.split_once("Process running with session ID ")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn wait(session: u64, number: usize) -> Value {
    let arguments = json!({ "session_id": session, "chars": "", "yield_time_ms": 30_000 });
    function("write_stdin", &arguments, number)
}

fn call(turn: &Turn, number: usize) -> Value {
    let command = match turn {
        Turn::Read { path } => format!("cat '{path}'"),
        // Codex takes this command for itself and edits the file.
        Turn::Edit {
            path,
            before,
            after,
        } => format!(
            "apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: {path}\n@@\n-{before}\n+{after}\n\
             *** End Patch\nPATCH"
        ),
        Turn::Shell(command) => command.clone(),
    };
    let arguments = json!({ "cmd": command, "yield_time_ms": 30_000, "login": false });
    function("exec_command", &arguments, number)
}

fn function(name: &str, arguments: &Value, number: usize) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
        "name": name, "arguments": arguments.to_string(),
    })
}

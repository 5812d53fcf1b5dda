//! Replies of Anthropic's Messages API.

use serde_json::{Value, json};

use super::Turn;

/// One message of the model.
pub(super) struct Reply {
    id: String,
    model: Value,
    content: Content,
}

enum Content {
    Text(String),
    Tool {
        id: String,
        name: &'static str,
        input: Value,
    },
}

/// What comes next in a conversation.
pub(super) fn reply<'a>(
    body: &Value,
    turn: impl FnOnce(usize) -> Option<&'a Turn>,
    last_words: &str,
    number: usize,
) -> Reply {
    let tools = body["tools"].as_array().into_iter().flatten();
    // Agents also ask small things (a title, a summary), without tools.
    let has_tools = tools.into_iter().any(|tool| tool["name"] == "Bash");
    let done = results(body);
    let content = match has_tools.then(|| turn(done)).flatten() {
        None => Content::Text(last_words.to_owned()),
        Some(turn) => {
            let (name, input) = call(turn);
            Content::Tool {
                id: format!("toolu_{done}"),
                name,
                input,
            }
        }
    };
    Reply {
        // Messages of one id are taken for parts of one message.
        id: format!("msg_{number}"),
        model: body["model"].clone(),
        content,
    }
}

/// How many tools have answered.
fn results(body: &Value) -> usize {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    blocks
        .filter(|block| block["type"] == "tool_result")
        .count()
}

fn call(turn: &Turn) -> (&'static str, Value) {
    match turn {
        Turn::Read { path } => ("Read", json!({ "file_path": path })),
        Turn::Edit {
            path,
            before,
            after,
        } => (
            "Edit",
            json!({ "file_path": path, "old_string": before, "new_string": after }),
        ),
        Turn::Shell(command) => (
            "Bash",
            json!({ "command": command, "description": "One step of the script", "timeout": 600_000 }),
        ),
    }
}

impl Reply {
    fn stop_reason(&self) -> &'static str {
        match self.content {
            Content::Text(_) => "end_turn",
            Content::Tool { .. } => "tool_use",
        }
    }

    /// The whole message.
    pub(super) fn message(&self) -> Value {
        let content = match &self.content {
            Content::Text(text) => json!({ "type": "text", "text": text }),
            Content::Tool { id, name, input } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": input })
            }
        };
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": [content], "stop_reason": self.stop_reason(), "stop_sequence": null,
            "usage": { "input_tokens": 10, "output_tokens": 10 },
        })
    }

    /// The message as it is streamed.
    pub(super) fn events(&self) -> Vec<Value> {
        let mut begun = self.message();
        begun["content"] = json!([]);
        begun["stop_reason"] = Value::Null;
        let (block, deltas) = match &self.content {
            Content::Text(text) => (
                json!({ "type": "text", "text": "" }),
                vec![json!({ "type": "text_delta", "text": text })],
            ),
            Content::Tool { id, name, input } => {
                let text = input.to_string();
                let half = (0..=text.len() / 2).rfind(|&at| text.is_char_boundary(at));
                let (first, second) = text.split_at(half.unwrap_or(0));
                (
                    json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                    [first, second]
                        .map(|part| json!({ "type": "input_json_delta", "partial_json": part }))
                        .to_vec(),
                )
            }
        };
        let mut events = vec![
            json!({ "type": "message_start", "message": begun }),
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        ];
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
        }
        events.extend([
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": self.stop_reason(), "stop_sequence": null },
                "usage": { "output_tokens": 10 },
            }),
            json!({ "type": "message_stop" }),
        ]);
        events
    }
}

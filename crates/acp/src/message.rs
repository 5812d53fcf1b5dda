//! `Message`: one message of JSON-RPC 2.0.

use lazaret_json::{Kind, check};
use serde_json::{Value, json};

/// The most bytes of a line.
pub const MOST_LINE: usize = 8 << 20;
/// The most levels of arrays and objects in a message.
pub const MOST_DEPTH: usize = 127;

// JSON-RPC 2.0, section 5.1.
pub(crate) const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// It wants an answer.
    Request { id: Value, method: String },
    /// It wants none.
    Notification { method: String },
    /// It is one.
    Answer { id: Value },
}

/// A message, and all that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) what: What,
    pub(crate) body: Value,
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: i32,
    pub(crate) text: String,
    /// Of the request; null where that can't be known.
    pub(crate) id: Value,
}

impl Refusal {
    fn new(code: i32, text: String) -> Self {
        Self {
            code,
            text,
            id: Value::Null,
        }
    }

    /// The refusal of a line that has too many bytes.
    pub(crate) fn too_long() -> Self {
        let text = format!("a message has more than {} MiB", MOST_LINE >> 20);
        Self::new(INVALID_REQUEST, text)
    }

    pub(crate) fn to_line(&self) -> Vec<u8> {
        error(&self.id, self.code, &self.text)
    }
}

impl Message {
    /// Reads a line. A message that could be taken for another kind than it is taken for here is
    /// refused.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let not_json = |why: String| Refusal::new(PARSE_ERROR, format!("not a message: {why}"));
        if let Kind::Other = check(line, MOST_DEPTH).map_err(|error| not_json(error.to_string()))? {
            let text = "not a message: it is not a JSON object".to_owned();
            return Err(Refusal::new(INVALID_REQUEST, text));
        }
        let body: Value =
            serde_json::from_slice(line).map_err(|error| not_json(error.to_string()))?;
        match what(&body) {
            Ok(what) => Ok(Self { what, body }),
            Err(why) => {
                let known = body.get("id").filter(|id| is_id(id)).cloned();
                let text = format!("not a message of JSON-RPC 2.0: {why}");
                Err(Refusal {
                    id: known.unwrap_or(Value::Null),
                    ..Refusal::new(INVALID_REQUEST, text)
                })
            }
        }
    }
}

fn what(body: &Value) -> Result<What, &'static str> {
    if body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("`jsonrpc` is not \"2.0\"");
    }
    let id = body.get("id");
    if id.is_some_and(|id| !is_id(id)) {
        return Err("`id` is neither a string nor an integer");
    }
    let outcomes = ["result", "error"].map(|key| body.get(key).is_some());
    match (body.get("method"), id.cloned(), outcomes) {
        (Some(Value::String(method)), id, [false, false]) => Ok(match id {
            Some(id) => What::Request {
                id,
                method: method.clone(),
            },
            None => What::Notification {
                method: method.clone(),
            },
        }),
        (Some(_), _, [false, false]) => Err("`method` is not a string"),
        (None, Some(id), [true, false] | [false, true]) => Ok(What::Answer { id }),
        (None, None, [true, false] | [false, true]) => Err("an answer has no `id`"),
        _ => Err("it is not one of a request, a notification and an answer"),
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// A line that answers a request with an error.
pub(crate) fn error(id: &Value, code: i32, text: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": text });
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

/// A line that shows the user a text, in a session of the agent's.
pub(crate) fn said(session: &str, text: &str) -> Vec<u8> {
    let update = json!({
        "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": text },
    });
    line(&json!({
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": { "sessionId": session, "update": update },
    }))
}

pub(crate) fn line(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<What, (Value, String)> {
        let message = Message::parse(line.as_bytes());
        message.map(|message| message.what).map_err(|refusal| {
            let (_, why) = refusal.text.split_once(": ").unwrap_or_default();
            (refusal.id, why.to_owned())
        })
    }

    #[test]
    fn a_message_is_known_by_its_members() {
        let method = || "m".to_owned();
        let refused = |id: Value, why: &str| Err((id, why.to_owned()));
        let cases = [
            (
                r#""id":1,"method":"m""#,
                Ok(What::Request {
                    id: json!(1),
                    method: method(),
                }),
            ),
            (
                r#""id":"a","method":"m""#,
                Ok(What::Request {
                    id: json!("a"),
                    method: method(),
                }),
            ),
            (
                r#""id":18446744073709551615,"method":"m""#,
                Ok(What::Request {
                    id: json!(u64::MAX),
                    method: method(),
                }),
            ),
            (
                r#""method":"m""#,
                Ok(What::Notification { method: method() }),
            ),
            (
                r#""id":-1,"result":null"#,
                Ok(What::Answer { id: json!(-1) }),
            ),
            (
                r#""id":"a","error":{}"#,
                Ok(What::Answer { id: json!("a") }),
            ),
            (
                r#""id":7,"method":1"#,
                refused(json!(7), "`method` is not a string"),
            ),
            (
                r#""result":1"#,
                refused(Value::Null, "an answer has no `id`"),
            ),
            (
                r#""id":"a""#,
                refused(
                    json!("a"),
                    "it is not one of a request, a notification and an answer",
                ),
            ),
            (
                r#""id":1.5,"method":"m""#,
                refused(Value::Null, "`id` is neither a string nor an integer"),
            ),
        ];
        for (members, expected) in cases {
            let line = format!("{{\"jsonrpc\":\"2.0\",{members}}}");
            assert_eq!(parsed(&line), expected, "{line}");
        }
    }

    #[test]
    fn what_the_user_is_told_is_an_update_of_the_session() {
        let told: Value = serde_json::from_slice(&said("s", "a \"text\"")).expect("a line");
        let expected = json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {
                "sessionId": "s",
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "text", "text": "a \"text\"" },
                },
            },
        });
        assert_eq!(told, expected);
    }
}

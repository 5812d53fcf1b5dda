//! What the agent says.

use serde_json::Value;

use super::{Action, Asked, AskedFor, MOST_REQUESTS, Proxy, TurnEnd, key};
use crate::mapping;
use crate::message::{INVALID_REQUEST, METHOD_NOT_FOUND, Message, Refusal, What, error, line};

/// The most characters of what the agent asks about, in an event.
const MOST_TITLE: usize = 200;

impl Proxy {
    /// Takes a line of the agent's; `None` for one that has too many bytes.
    pub fn from_agent(&mut self, text: Option<&[u8]>) -> Vec<Action> {
        let parsed = text.map_or_else(|| Err(Refusal::too_long()), Message::parse);
        let (message, text) = match (parsed, text) {
            (Ok(message), Some(text)) => (message, text),
            (Err(refusal), _) => return self.no_message(&refusal, text),
            (Ok(_), None) => return Vec::new(),
        };
        let Message { what, mut body } = message;
        let original = body.clone();
        let written = |body: &Value| match *body == original {
            true => text.to_vec(),
            false => line(body),
        };
        match what {
            What::Answer { id } => match self.asked.remove(&key(&id)) {
                Some(asked) => {
                    self.answer(&asked, &mut body);
                    self.answered(asked, &body, written(&body))
                }
                None => vec![Action::Note(
                    "the agent answered what it was not asked for".to_owned(),
                )],
            },
            What::Notification { method } if is_of_the_machine(&method) => Vec::new(),
            What::Request { id, method } if is_of_the_machine(&method) => {
                let text = format!("{method:?} is not available: the agent runs in a container");
                vec![Action::ReplyToAgent(error(&id, METHOD_NOT_FOUND, &text))]
            }
            What::Request { id, method } if method == PERMISSION => {
                if self.permissions.len() >= MOST_REQUESTS {
                    let text = format!("{MOST_REQUESTS} requests wait for the user");
                    return vec![Action::ReplyToAgent(error(&id, INVALID_REQUEST, &text))];
                }
                let title = self.translate(&method, &mut body);
                let is_first = self.permissions.is_empty();
                if !self.permissions.insert(key(&id)) {
                    let text = "a request with this id waits for its answer";
                    return vec![Action::ReplyToAgent(error(&id, INVALID_REQUEST, text))];
                }
                let mut actions = vec![Action::ToEditor(written(&body))];
                if is_first {
                    actions.push(Action::NeedsInput(title));
                }
                actions
            }
            What::Request { method, .. } | What::Notification { method } => {
                self.translate(&method, &mut body);
                vec![Action::ToEditor(written(&body))]
            }
        }
    }

    /// What comes of a line that is no message. A program may print by mistake; but what looks like
    /// a message may have been the answer that the editor waits for.
    fn no_message(&mut self, refusal: &Refusal, text: Option<&[u8]>) -> Vec<Action> {
        let mut actions = vec![Action::Note(format!(
            "the agent printed a line that is no message: {}",
            refusal.text
        ))];
        if text.is_none_or(|text| text.trim_ascii_start().starts_with(b"{")) {
            actions.push(Action::ReplyToAgent(refusal.to_line()));
            let text = format!("the agent's answer can't be read: {}", refusal.text);
            actions.extend(self.refuse_all(&text));
        }
        actions
    }

    /// Maps what the agent tells. Returns what it is about.
    fn translate(&self, method: &str, body: &mut Value) -> String {
        let part = match method {
            "session/update" => "update",
            PERMISSION => "toolCall",
            _ => return String::new(),
        };
        match body
            .get_mut("params")
            .and_then(|params| params.get_mut(part))
        {
            Some(told) => {
                mapping::update(told, &self.paths);
                let title = told["title"].as_str().unwrap_or_default();
                title.chars().take(MOST_TITLE).collect()
            }
            None => String::new(),
        }
    }

    /// Translates an answer. The ways to log in may start a program of the editor's machine.
    fn answer(&self, asked: &Asked, body: &mut Value) {
        if let Some(Value::Object(data)) = body.get_mut("error").and_then(|no| no.get_mut("data")) {
            data.remove("authMethods");
        }
        let Some(Value::Object(result)) = body.get_mut("result") else {
            return;
        };
        if matches!(asked.what, AskedFor::Initialize) || result.contains_key("authMethods") {
            result.insert("authMethods".to_owned(), Value::Array(Vec::new()));
        }
        if let (AskedFor::List, Some(result)) = (&asked.what, body.get_mut("result")) {
            mapping::sessions(result, &self.paths);
        }
    }

    fn answered(&mut self, asked: Asked, body: &Value, line: Vec<u8>) -> Vec<Action> {
        match asked.what {
            AskedFor::Prompt { session } => {
                let mut others = self.asked.values();
                let is_alone = !others.any(|asked| matches!(asked.what, AskedFor::Prompt { .. }));
                let stop = body.get("result").map(|result| &result["stopReason"]);
                let is_done = stop.is_some_and(|reason| reason == "end_turn");
                return vec![Action::TurnEnded(TurnEnd {
                    session,
                    line,
                    is_complete: is_alone && is_done,
                })];
            }
            AskedFor::Session { session, notices } => {
                let named = body
                    .get("result")
                    .and_then(|result| result.get("sessionId"));
                let named = named.and_then(Value::as_str).map(str::to_owned);
                if let Some(session) = named.or(session) {
                    self.notice(session, notices);
                }
            }
            AskedFor::Initialize | AskedFor::List | AskedFor::Other => {}
        }
        vec![Action::ToEditor(line)]
    }
}

/// The method by which an agent asks the user.
const PERMISSION: &str = "session/request_permission";

/// Whether a method uses files or programs of the editor's machine. MCP servers that an editor has
/// are such programs.
fn is_of_the_machine(method: &str) -> bool {
    ["fs/", "terminal/", "mcp/"]
        .iter()
        .any(|start| method.starts_with(start))
}

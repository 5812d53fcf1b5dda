//! What the editor says.

use serde_json::Value;

use super::{Action, Asked, AskedFor, MOST_REQUESTS, MOST_SESSIONS, Prompt, Proxy, key};
use crate::mapping;
use crate::message::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Message, Refusal, What, error, line,
};
use crate::servers::drop_servers;

/// What an editor may offer, and an agent in a container may not use: files and programs of the
/// editor's machine, and logins in its terminal.
const OFFERS: [&str; 3] = ["fs", "terminal", "auth"];

const UNSAVED: &str = "The agent works on a copy of the saved files: what is not saved in the \
    editor is not in it.";

impl Proxy {
    /// Takes a line of the editor's; `None` for one that has too many bytes.
    pub fn from_editor(&mut self, text: Option<&[u8]>) -> Vec<Action> {
        let parsed = text.map_or_else(|| Err(Refusal::too_long()), Message::parse);
        let (message, text) = match (parsed, text) {
            (Ok(message), Some(text)) => (message, text),
            (Err(refusal), _) => return vec![Action::ToEditor(refusal.to_line())],
            (Ok(_), None) => return Vec::new(),
        };
        let Message { what, body } = message;
        let (id, method) = match what {
            What::Answer { id } => {
                self.permissions.remove(&key(&id));
                return vec![Action::ToAgent(text.to_vec())];
            }
            What::Notification { method } if is_translated(&method) => {
                return vec![Action::Note(format!("{method:?} came without an id"))];
            }
            What::Notification { .. } => return vec![Action::ToAgent(text.to_vec())],
            What::Request { id, method } => (id, method),
        };
        if self.asked.contains_key(&key(&id)) {
            let text = "a request with this id waits for its answer";
            return vec![Action::ToEditor(error(&id, INVALID_REQUEST, text))];
        }
        if self.asked.len() >= MOST_REQUESTS {
            let text = format!("{MOST_REQUESTS} requests wait for their answers");
            return vec![Action::ToEditor(error(&id, INTERNAL_ERROR, &text))];
        }
        let mut translated = body.clone();
        match self.request(&id, &method, &mut translated) {
            Err(refusal) => vec![Action::ToEditor(error(&id, INVALID_PARAMS, &refusal))],
            Ok((what, action)) => {
                // What is not changed passes as it was written.
                let line = match translated == body {
                    true => text.to_vec(),
                    false => line(&translated),
                };
                self.asked.insert(key(&id), Asked { id, what });
                vec![action(line)]
            }
        }
    }

    /// Translates a request. Returns what is to be known when it is answered.
    #[expect(clippy::type_complexity, reason = "the action lacks its line only")]
    fn request(
        &mut self,
        id: &Value,
        method: &str,
        body: &mut Value,
    ) -> Result<(AskedFor, Box<dyn FnOnce(Vec<u8>) -> Action>), String> {
        let mut none = Value::Null;
        let params = body.get_mut("params").unwrap_or(&mut none);
        let what = match method {
            "initialize" => {
                let offered = params.get_mut("clientCapabilities");
                if let Some(offered) = offered.and_then(Value::as_object_mut) {
                    offered.retain(|key, _| !OFFERS.contains(&&**key));
                }
                AskedFor::Initialize
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.session(method, params)?
            }
            "session/list" => {
                if let Some(Value::String(cwd)) = params.get_mut("cwd") {
                    *cwd = self.inside(cwd).ok_or_else(|| outside(cwd))?;
                }
                AskedFor::List
            }
            "session/prompt" => {
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                mapping::prompt(params, |path| self.inside(path)).map_err(|link| outside(&link))?;
                let notices = self.notices.remove(&session).unwrap_or_default();
                let (id, in_session) = (id.clone(), session.clone());
                let action = move |line| {
                    Action::Prompt(Prompt {
                        id,
                        session: in_session,
                        notices,
                        line,
                    })
                };
                return Ok((AskedFor::Prompt { session }, Box::new(action)));
            }
            _ => AskedFor::Other,
        };
        Ok((what, Box::new(Action::ToAgent)))
    }

    /// Translates the request for a session of the agent's.
    fn session(&mut self, method: &str, params: &mut Value) -> Result<AskedFor, String> {
        if let Some(Value::String(cwd)) = params.get_mut("cwd") {
            let resolved = self.paths.remember_inside(cwd);
            let resolved = resolved.or_else(|| self.inside(cwd));
            *cwd = resolved.ok_or_else(|| outside(cwd))?;
        }
        let more = params.get_mut("additionalDirectories");
        for dir in more.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::String(dir) = dir {
                *dir = self.inside(dir).ok_or_else(|| outside(dir))?;
            }
        }
        let mut notices = drop_servers(params, &*self.host);
        if !self.has_told_of_buffers {
            self.has_told_of_buffers = true;
            notices.push(UNSAVED.to_owned());
        }
        let named = params["sessionId"].as_str().map(str::to_owned);
        Ok(AskedFor::Session {
            // A fork has another name than what it is made of.
            session: named.filter(|_| method != "session/fork"),
            notices,
        })
    }

    /// Returns where a path of the editor's is inside, by its name or by where that leads.
    fn inside(&self, path: &str) -> Option<String> {
        let by_name = self.paths.to_inside(path);
        by_name.or_else(|| self.paths.to_inside(&self.host.canonical(path)?))
    }

    /// Keeps what is said with the next task in a session.
    pub(super) fn notice(&mut self, session: String, notices: Vec<String>) {
        if !notices.is_empty() && self.notices.len() < MOST_SESSIONS {
            self.notices.entry(session).or_default().extend(notices);
        }
    }
}

/// Whether requests of this method are translated.
fn is_translated(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "session/new"
            | "session/load"
            | "session/resume"
            | "session/fork"
            | "session/list"
            | "session/prompt"
    )
}

fn outside(what: &str) -> String {
    format!("{what:?} lies outside of the workspace, so the agent can't have it")
}

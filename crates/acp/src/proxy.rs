//! `Proxy`: a line in, actions out.

mod agent;
mod editor;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::host::Host;
use crate::message::{INTERNAL_ERROR, error};
use crate::paths::Paths;
use crate::turn_end::TurnEnd;

/// The most requests that wait for an answer, on each side.
pub const MOST_REQUESTS: usize = 256;

/// The most sessions of the agent for which notices wait.
const MOST_SESSIONS: usize = 256;

/// What comes of a line. Lines have no end yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The agent gets this line.
    ToAgent(Vec<u8>),
    /// The agent gets this answer, unless it does not read.
    ReplyToAgent(Vec<u8>),
    /// The editor gets this line.
    ToEditor(Vec<u8>),
    /// The agent gets a task.
    Prompt(Prompt),
    /// The agent has ended a turn.
    TurnEnded(TurnEnd),
    /// The agent waits for an answer of the user's: what it is about.
    NeedsInput(String),
    /// What the user may want to know when something goes wrong.
    Note(String),
}

/// A task for the agent: the copy is brought up to date first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What the editor's request is known by.
    pub(crate) id: Value,
    /// The session of the agent's.
    pub(crate) session: String,
    /// What the user has to know.
    pub(crate) notices: Vec<String>,
    /// The request.
    pub(crate) line: Vec<u8>,
}

/// What an editor asked for.
#[derive(Debug)]
struct Asked {
    id: Value,
    what: AskedFor,
}

#[derive(Debug)]
enum AskedFor {
    Initialize,
    Session {
        /// `None` until the agent names it.
        session: Option<String>,
        notices: Vec<String>,
    },
    List,
    Prompt {
        session: String,
    },
    Other,
}

/// Translates between an editor and an agent.
#[derive(Debug)]
pub struct Proxy {
    host: Arc<dyn Host>,
    paths: Paths,
    /// What the agent has not answered yet.
    asked: HashMap<String, Asked>,
    /// What the editor has not answered yet: questions to the user.
    permissions: HashSet<String>,
    /// What is said with the next task in a session.
    notices: HashMap<String, Vec<String>>,
    has_told_of_buffers: bool,
}

impl Proxy {
    /// Begins to translate.
    pub fn new(host: Arc<dyn Host>, paths: Paths) -> Self {
        Self {
            host,
            paths,
            asked: HashMap::new(),
            permissions: HashSet::new(),
            notices: HashMap::new(),
            has_told_of_buffers: false,
        }
    }

    /// Answers a request of the editor's in the agent's place; `None` if it was answered.
    pub(crate) fn refuse(&mut self, id: &Value, text: &str) -> Option<Vec<u8>> {
        self.asked.remove(&key(id))?;
        Some(error(id, INTERNAL_ERROR, text))
    }

    /// Answers all requests of the editor's in the agent's place.
    pub(crate) fn refuse_all(&mut self, text: &str) -> Vec<Action> {
        let asked = std::mem::take(&mut self.asked).into_values();
        let line = |Asked { id, .. }| Action::ToEditor(error(&id, INTERNAL_ERROR, text));
        asked.map(line).collect()
    }
}

/// An id, as a key: `1` and `"1"` are two.
fn key(id: &Value) -> String {
    id.to_string()
}

//! The tools: their names, what they take, and the trait that does them.
//!
//! None of them approves, applies, trusts, allows or removes: an outer agent is not the person at
//! the gate.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stop::Stop;

/// Does the calls.
pub trait Tools: Send + Sync + 'static {
    /// Does one call, on a thread of its own. Returns what the client gets.
    ///
    /// # Errors
    /// What the client is told instead.
    fn call(&self, call: Call, stop: &Stop) -> Result<Value, ToolError>;
}

/// Why a call was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// A stable word, such as `refused`.
    pub kind: &'static str,
    /// What can't be done.
    pub message: String,
    /// Why, outermost first.
    pub causes: Vec<String>,
    /// What to do about it, one sentence each.
    pub hints: Vec<String>,
}

/// Writes the tools once: the variant, its input, its name, and its first sentences.
macro_rules! tools {
    ($($(#[doc = $doc:literal])* $variant:ident($input:ident), $name:literal, $hint:ident;)*) => {
        /// A call of one tool.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call {
            $($(#[doc = $doc])* $variant($input),)*
        }

        impl Call {
            /// Reads a call; `None` if there is no such tool.
            pub(crate) fn read(name: &str, arguments: Value) -> Option<serde_json::Result<Self>> {
                match name {
                    $($name => Some(serde_json::from_value(arguments).map(Self::$variant)),)*
                    _ => None,
                }
            }
        }

        /// Describes every tool.
        pub(crate) fn descriptions() -> Vec<Description> {
            vec![$(Description {
                name: $name,
                text: concat!($($doc),*).trim(),
                schema: schema::<$input>(),
                effect: Effect::$hint,
            },)*]
        }
    };
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It reads.
    Reads,
    /// It makes something.
    Makes,
    /// It ends something.
    Ends,
}

/// A tool, as clients see it.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) schema: Arc<Map<String, Value>>,
    pub(crate) effect: Effect,
}

tools! {
    /// Make a project: a directory with a `lazaret.toml`, whose settings can only tighten a profile.
    ProjectCreate(ProjectCreate), "project_create", Makes;
    /// Show the settings of a project, and its workspaces.
    ProjectGet(OneProject), "project_get", Reads;
    /// Make a workspace in a project, with copies of the project's AGENTS.md and .factory.
    WorkspaceCreate(WorkspaceCreate), "workspace_create", Makes;
    /// Start a command in a hardened container, on a copy of a workspace. Returns the session's name at once when the command runs; session_wait waits for its end.
    SessionStart(SessionStart), "session_start", Makes;
    /// List the sessions of the workspaces that you may use.
    SessionList(SessionList), "session_list", Reads;
    /// Show everything about one session.
    SessionGet(OneSession), "session_get", Reads;
    /// Wait up to 50 seconds until a session has come to something; call it again while `timed_out` is true.
    SessionWait(SessionWait), "session_wait", Reads;
    /// End a session. What it changed is collected, and waits for a person.
    SessionStop(SessionStop), "session_stop", Ends;
    /// Run a command beside that of a session, in the same container, and return what it printed.
    SessionExec(SessionExec), "session_exec", Makes;
    /// Give one JSON object to the profile's command of a session that runs, and return the object that it answers.
    SessionAsk(SessionAsk), "session_ask", Makes;
    /// Show what the command of a session printed, in pieces.
    SessionLog(SessionLog), "session_log", Reads;
    /// Show what a session changed, as a patch with the findings, in pieces.
    SessionDiff(SessionDiff), "session_diff", Reads;
    /// Show what the rules found in a session's changes, in pieces.
    SessionFindings(OnePage), "session_findings", Reads;
    /// Show the commits that were made in a session and wait, in pieces.
    SessionCommits(OnePage), "session_commits", Reads;
    /// Return the complete report of a session's changes as JSON, in pieces.
    SessionExport(OnePage), "session_export", Reads;
    /// Return the command with which a person reviews the changes of a session. No tool applies them.
    SessionReview(OneSession), "session_review", Reads;
}

fn schema<T: JsonSchema>() -> Arc<Map<String, Value>> {
    let schema = schemars::schema_for!(T);
    match schema.to_value() {
        Value::Object(map) => Arc::new(map),
        _ => Arc::default(),
    }
}

/// What `project_create` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectCreate {
    /// Absolute path of the project, inside the configured roots; made if it is not there
    pub path: String,
    /// Whether a session sees its own workspace only, whatever the profile says
    #[serde(default)]
    pub workspace_isolation: bool,
    /// Paths from the workspace's root that a command can read and not change
    #[serde(default)]
    pub protected_paths: Vec<String>,
    /// Paths of the project that go in with each of its workspaces, for reading only
    #[serde(default)]
    pub share: Vec<String>,
}

/// What `project_get` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneProject {
    /// Absolute path of the project
    pub path: String,
}

/// What `workspace_create` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceCreate {
    /// Absolute path of the project
    pub project: String,
    /// Name of the workspace: letters, digits, `-`, `_` and `.`
    pub name: String,
    /// Paths of the project to copy [default: AGENTS.md if the project isolates, and .factory]
    pub copy: Option<Vec<String>>,
}

/// What `session_start` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStart {
    /// Profile, one of the configured ones
    pub profile: String,
    /// Absolute path of the workspace, inside the configured roots
    pub workspace: String,
    /// Name of the session; an existing one continues [default: made from the workspace's name]
    pub name: Option<String>,
    /// Command to run instead of the profile's, program first
    pub command: Option<Vec<String>>,
    /// Task for the profile's command
    pub prompt: Option<String>,
    /// Variables for the command
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Keep the container when the command has ended, until session_stop
    #[serde(default)]
    pub stay: bool,
}

/// What `session_list` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionList {
    /// Only those of this workspace
    pub workspace: Option<String>,
}

/// What tools take that only need a session.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneSession {
    /// Name of the session
    pub session: String,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The session is at rest: its changes wait
    #[default]
    Exit,
    /// Its command runs
    Ready,
    /// Its command has ended
    Idle,
    /// Its command wants something, or has ended
    NeedsInput,
    /// It holds more than its limits allow, and is paused
    Disk,
}

/// What `session_wait` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionWait {
    /// Name of the session
    pub session: String,
    /// What for
    #[serde(default, rename = "for")]
    pub condition: Condition,
    /// Seconds, at most 50 [default: 50]
    pub timeout_s: Option<u64>,
}

/// What `session_stop` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStop {
    /// Name of the session
    pub session: String,
    /// Send SIGKILL at once
    #[serde(default)]
    pub kill: bool,
}

/// What `session_exec` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionExec {
    /// Name of the session
    pub session: String,
    /// Command, program first
    pub argv: Vec<String>,
    /// What it reads on stdin
    pub stdin: Option<String>,
    /// Seconds, at most 600; then it is ended [default: 50]
    pub timeout_s: Option<u64>,
}

/// What `session_ask` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionAsk {
    /// Name of the session, started with `stay`
    pub session: String,
    /// The request; with an `id`, the same one is answered once
    pub request: Map<String, Value>,
    /// Seconds, at most 600; then the command is ended [default: 50]
    pub timeout_s: Option<u64>,
}

/// What `session_log` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionLog {
    /// Name of the session
    pub session: String,
    /// Bytes to skip: `next` of the piece before
    #[serde(default)]
    pub since: u64,
    /// The most bytes to return [default and at most: 32768]
    pub max: Option<u64>,
}

/// What `session_diff` takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionDiff {
    /// Name of the session
    pub session: String,
    /// Only these paths, with all below them
    #[serde(default)]
    pub paths: Vec<String>,
    /// Bytes to skip: `next` of the piece before
    #[serde(default)]
    pub cursor: u64,
}

/// What tools take that return a text in pieces.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnePage {
    /// Name of the session
    pub session: String,
    /// Bytes to skip: `next` of the piece before
    #[serde(default)]
    pub cursor: u64,
}

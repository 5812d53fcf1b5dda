//! What keeper and client say to each other, as JSON objects. Unknown keys are ignored.

use std::collections::BTreeMap;

use lazaret_runtime::TerminalSize;
use serde::{Deserialize, Serialize};

use crate::network::PolicyEdit;
use crate::services::status::ServiceStatus;

/// The version of the protocol that this lazaret speaks.
pub const PROTOCOL: u32 = 1;

/// By which a client knows that it speaks with a keeper.
pub const MAGIC: &str = "lazaret keeper";

/// The keeper's first word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: String,
    /// The oldest version of the protocol that it speaks.
    pub oldest: u32,
    /// The newest.
    pub newest: u32,
    /// The version of its lazaret.
    pub version: String,
    /// The session that it keeps.
    pub session: String,
}

/// Columns and rows of a client's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

impl From<Size> for TerminalSize {
    fn from(size: Size) -> Self {
        Self {
            columns: size.cols,
            rows: size.rows,
        }
    }
}

impl From<TerminalSize> for Size {
    fn from(size: TerminalSize) -> Self {
        Self {
            cols: size.columns,
            rows: size.rows,
        }
    }
}

/// A signal for a process that was started by [`Request::Exec`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// Its number.
    pub n: i32,
}

/// What a client wants. One request for each connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// To see what the command prints, and to type.
    Attach(Attach),
    /// To run a process beside the command.
    Exec(Exec),
    /// To know where the session is.
    Status,
    /// To end the session.
    Stop(Stop),
    /// To hear what happens: from the event after `since` on.
    Events {
        /// The number of the last event that the client knows.
        since: u64,
    },
    /// To change the limits of the session.
    Limits(ChangedLimits),
    /// To have a service restarted.
    Restart {
        /// Its name.
        service: String,
    },
    /// To have users told that the command waits for one of them.
    NeedsInput {
        /// What it is about.
        text: String,
    },
    /// To have the turn to pause the command: a second answer says that the client has it.
    Pause,
    /// To know what the command may reach. The answer is followed by the policy.
    Policy,
    /// To change what the command may reach. The answer comes once the gateway has the change, and
    /// is followed by the policy.
    EditPolicy(PolicyEdit),
}

/// How a client is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachMode {
    /// It types, and its terminal has the size.
    Drive,
    /// As [`AttachMode::Drive`], in place of the client that does so now.
    Take,
    /// It looks on.
    Watch,
    /// It gets each byte of the output: as long as it does not read, the command waits. It may end
    /// the session, and send stdin to a command that has no terminal and reads, if no other does.
    Follow,
}

/// See [`Request::Attach`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// How.
    pub mode: AttachMode,
    /// The client's terminal; `None` if it has none.
    #[serde(default)]
    pub size: Option<Size>,
    /// Whether it wants the report of the session's end.
    #[serde(default)]
    pub report: bool,
}

/// See [`Request::Exec`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables beside those of the session's command.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it starts; `None` for where the command did.
    #[serde(default)]
    pub workdir: Option<String>,
    /// The size of its terminal; `None` if it gets none.
    #[serde(default)]
    pub terminal: Option<Size>,
    /// Whether it reads what the client sends; else its stdin is empty.
    #[serde(default)]
    pub stdin: bool,
    /// Whether it goes on when its client is gone.
    #[serde(default)]
    pub leave: bool,
    /// What it is for.
    #[serde(default)]
    pub role: Role,
}

/// What a process beside the command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whatever the client wants.
    #[default]
    Any,
    /// A turn: one of those runs at a time.
    Turn,
    /// A turn of a process that stays for the next one: the end of stdin ends the turn alone.
    /// Without it the process is ended.
    StandingTurn,
    /// A porter. Its records pass as they are: a byte of one that were held back, or replaced,
    /// would break it. The client keeps secrets out of what it reads in them.
    Porter,
}

/// See [`Request::Stop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Whether processes get SIGKILL at once.
    #[serde(default)]
    pub kill: bool,
}

/// See [`Request::Limits`]. `None` leaves a limit as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangedLimits {
    /// For how many seconds nothing may happen.
    #[serde(default)]
    pub idle_s: Option<u64>,
    /// How many seconds the session may last, from its start on.
    #[serde(default)]
    pub life_s: Option<u64>,
    /// How many bytes its volume may hold.
    #[serde(default)]
    pub disk: Option<u64>,
    /// How many inodes.
    #[serde(default)]
    pub inodes: Option<u64>,
}

/// The keeper's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done, or begins.
    Ok(Accepted),
    /// It is refused.
    Error(Refused),
}

/// What is said with a yes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Accepted {
    /// Whether the client drives.
    #[serde(default)]
    pub driver: bool,
    /// Whether the command has a terminal.
    #[serde(default)]
    pub terminal: bool,
    /// The key that, held with Ctrl, begins what an attached user says to lazaret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<char>,
    /// Where the session is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<KeeperStatus>,
    /// Whether [`Request::EditPolicy`] made another policy of it.
    #[serde(default)]
    pub changed: bool,
    /// For how many milliseconds the command was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ms: Option<u64>,
    /// The variables that a process which stays was started with: maybe by an earlier turn.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// What is said with a no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// A stable word for programs.
    pub code: RefusalCode,
    /// For people.
    pub message: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// Another client drives.
    Driven,
    /// The session is ending.
    Ending,
    /// Too many clients or processes.
    Busy,
    /// The request makes no sense.
    Invalid,
    /// The engine refused.
    Engine,
    /// The session is full, and paused.
    Paused,
    /// Another turn runs, or is just being ended.
    Turn,
    /// Another client has the turn to pause the command.
    Taken,
    /// The session has no network.
    NoNetwork,
    /// The gateway is gone, or takes nothing.
    GatewayLost,
}

/// Where a kept session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperStatus {
    /// In one word.
    pub state: KeeperState,
    /// The keeper's process.
    pub pid: u32,
    /// Clients that are attached.
    pub attached: usize,
    /// Whether one of them drives.
    pub driven: bool,
    /// Processes beside the command.
    pub execs: usize,
    /// Seconds for which nothing has happened.
    pub quiet_s: u64,
    /// After how many of those the session is stopped; `None` for never.
    pub idle_s: Option<u64>,
    /// How many seconds it may last in all; `None` for ever.
    pub life_s: Option<u64>,
    /// How many bytes its volume may hold, and holds as far as that is known.
    pub disk: Stored,
    /// How many inodes.
    pub inodes: Stored,
    /// Its services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceStatus>,
}

/// How much of something a volume holds, and may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stored {
    /// When it was counted last; `None` if it was not yet.
    pub used: Option<u64>,
    /// The most.
    pub limit: u64,
}

/// What a kept session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeeperState {
    /// Its command runs.
    Running,
    /// Its command has ended, and its container stays.
    Idle,
    /// Its volume is full, and its command is paused.
    Paused,
    /// It is being stopped, and then collected.
    Ending,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code: of the process, or of lazaret.
    pub code: u8,
    /// Whether the client that began it is to ask the user what becomes of the changes.
    #[serde(default)]
    pub ask: bool,
}

impl Exit {
    /// Returns an end that leaves no question.
    pub fn of_process(code: u8) -> Self {
        Self { code, ask: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_to_do() {
        let text = r#"{"do":"attach","mode":"drive","size":{"cols":120,"rows":40},"new":1}"#;
        let size = Size {
            cols: 120,
            rows: 40,
        };
        let request: Request = serde_json::from_str(text).unwrap();
        let attach = Attach {
            mode: AttachMode::Drive,
            size: Some(size),
            report: false,
        };
        assert_eq!(request, Request::Attach(attach));
        let bare: Request = serde_json::from_str(r#"{"do":"exec","argv":["id"]}"#).unwrap();
        let Request::Exec(exec) = bare else {
            panic!("{bare:?}");
        };
        assert!(!exec.stdin && !exec.leave && exec.terminal.is_none());
        serde_json::from_str::<Request>(r#"{"do":"dance"}"#).expect_err("unknown");
    }
}

//! `TurnEnd`: an agent's answer to a task.

/// The end of a turn: the editor hears of it once the changes were looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// The session of the agent's.
    pub(crate) session: String,
    /// The answer.
    pub(crate) line: Vec<u8>,
    /// Whether the agent says that it has done what it was asked for, and no other turn runs.
    pub is_complete: bool,
}

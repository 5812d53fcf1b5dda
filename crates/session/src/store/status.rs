//! `Status`: where a session is, in the words that `ls` and `show` print.

use lazaret_transfer::HistoryState;
use serde::Serialize;

use crate::store::history::applies;
use crate::store::record::{Outcome, Phase, Record};
use crate::store::unfinished::Unfinished;
use crate::store::{SessionDir, Store};

/// Where a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Status {
    /// In one word.
    pub state: State,
    /// Whether a launcher is at work on it.
    pub live: bool,
    /// What was cut off, and is for `recover` to finish.
    pub unfinished: Option<Unfinished>,
}

/// Where a session is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A launcher makes its volume and its container, and copies the workspace in.
    Starting,
    /// A launcher brings its volume up to date.
    Syncing,
    /// Its command runs.
    Running,
    /// Its command has ended; a launcher collects what it changed.
    Collecting,
    /// A launcher changes the workspace.
    Applying,
    /// A launcher does something else with it, such as a review.
    InUse,
    /// Its launcher was killed at work.
    Broken,
    /// Its changes wait for a decision.
    Kept,
    /// Its changes broke a rule; the volume is kept.
    Rejected,
    /// Its changes are in the workspace.
    Applied,
    /// Its changes were thrown away.
    Discarded,
    /// Its changes were applied and taken back.
    Undone,
    /// Commits that hold its changes are in the user's repository.
    Landed,
    /// There was nothing to apply.
    Done,
}

impl State {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Syncing => "syncing",
            Self::Running => "running",
            Self::Collecting => "collecting",
            Self::Applying => "applying",
            Self::InUse => "in use",
            Self::Broken => "broken",
            Self::Kept => "kept",
            Self::Rejected => "rejected",
            Self::Applied => "applied",
            Self::Discarded => "discarded",
            Self::Undone => "undone",
            Self::Landed => "landed",
            Self::Done => "done",
        }
    }

    /// Returns what a record says of a session that no launcher is at work on.
    pub fn at_rest(record: &Record) -> Self {
        match (record.phase, record.outcome) {
            (
                Phase::Preparing
                | Phase::Syncing
                | Phase::Running
                | Phase::Stopped
                | Phase::Applying,
                _,
            ) => Self::Broken,
            (Phase::Collected, _) => Self::Kept,
            (Phase::Rejected, _) => Self::Rejected,
            (Phase::Settled, Some(Outcome::Applied)) => Self::Applied,
            (Phase::Settled, Some(Outcome::Discarded)) => Self::Discarded,
            (Phase::Settled, Some(Outcome::Undone)) => Self::Undone,
            (Phase::Settled, Some(Outcome::Landed)) => Self::Landed,
            (Phase::Settled, _) => Self::Done,
        }
    }

    /// Returns what a record says of a session while a launcher is at work on it.
    fn at_work(record: &Record) -> Self {
        match record.phase {
            Phase::Preparing => Self::Starting,
            Phase::Syncing => Self::Syncing,
            Phase::Running => Self::Running,
            Phase::Stopped => Self::Collecting,
            Phase::Applying => Self::Applying,
            Phase::Collected | Phase::Rejected | Phase::Settled => Self::InUse,
        }
    }
}

impl Status {
    /// Finds out where a session is: by its lock, its record and its journals.
    pub fn of(store: &Store, dir: &SessionDir, record: &Record) -> Self {
        // One whose lock can't be looked at, or that was removed just now, is not live.
        if store.is_live(dir.id()).unwrap_or(false) {
            return Self {
                state: State::at_work(record),
                live: true,
                unfinished: None,
            };
        }
        // A journal that the disk does not give is not known to be finished.
        let unfinished = dir.unfinished().unwrap_or(Some(Unfinished::Unreadable));
        let state = match (unfinished, State::at_rest(record)) {
            (Some(_), _) => State::Broken,
            (None, state @ (State::Applied | State::Undone)) => turned(dir).unwrap_or(state),
            (None, state) => state,
        };
        Self {
            state,
            live: false,
            unfinished,
        }
    }
}

/// Says by the journals whether anything that was applied is in force: a launcher that was
/// killed after an undo may not have written it into the record. `None` where they say nothing.
fn turned(dir: &SessionDir) -> Option<State> {
    let applies = applies(dir).ok()?;
    let is_in_force = |state| state == HistoryState::Applied;
    match applies.iter().any(|apply| is_in_force(apply.state)) {
        true => Some(State::Applied),
        false if applies.is_empty() => None,
        false => Some(State::Undone),
    }
}

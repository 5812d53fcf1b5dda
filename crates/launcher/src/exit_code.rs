//! Every exit code of `lazaret`, as documented constants.

use std::fmt;

use lazaret_session::store::record::{Outcome, Record};

/// What the process ends with.
///
/// `run` passes on the command's own code when the command failed; everything else
/// is one of the constants below. They are a stable interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the exit code is the verb's answer to its caller"]
pub struct ExitCode(u8);

impl ExitCode {
    /// The verb did its work; of `run`: the command succeeded and the gate is settled
    /// (applied, nothing to apply, or discarded by the user).
    pub const SUCCESS: Self = Self(0);
    /// What was asked for can't be done, such as a session that does not exist.
    pub const REFUSED: Self = Self(1);
    /// The command line can't be understood.
    pub const USAGE: Self = Self(2);
    /// Changes are kept in the session and wait for review, or commits wait in its copy.
    pub const KEPT: Self = Self(120);
    /// The batch of changes was rejected.
    pub const REJECTED: Self = Self(121);
    /// The session is in a state in which the verb can't be done: no command of it runs.
    pub const WRONG_STATE: Self = Self(122);
    /// Another client drives the session.
    pub const DRIVEN: Self = Self(123);
    /// The command ran into its time limit (the code of coreutils' `timeout`).
    pub const TIMEOUT: Self = Self(124);
    /// lazaret or the engine failed (as `docker run` and `podman run`); profile and
    /// workspace errors too.
    pub const FAILED: Self = Self(125);
    /// The command exists inside but can't be executed.
    pub const NOT_EXECUTABLE: Self = Self(126);
    /// The command does not exist inside.
    pub const NOT_FOUND: Self = Self(127);
    /// Interrupted by Ctrl-C, SIGTERM or SIGHUP.
    pub const INTERRUPTED: Self = Self(130);

    /// Passes on the code of the command that ran inside: 0 to 255, where 128 + n
    /// stands for signal n. Anything else is [`ExitCode::FAILED`].
    pub fn of_command(code: i32) -> Self {
        u8::try_from(code).map_or(Self::FAILED, Self)
    }

    /// Returns the code of `run`: what went wrong first wins, in the order of time.
    pub fn of_run(record: &Record, outcome: Outcome) -> Self {
        match record.end {
            Some(end) if end.interrupted => Self::INTERRUPTED,
            Some(end) if end.timed_out => Self::TIMEOUT,
            Some(end) if end.exit_code != 0 => Self::of_command(end.exit_code),
            _ => Self::of_outcome(outcome),
        }
    }

    /// Returns the code that says how the gate ended.
    pub fn of_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Applied
            | Outcome::Nothing
            | Outcome::Discarded
            | Outcome::Undone
            | Outcome::Landed => Self::SUCCESS,
            Outcome::Kept => Self::KEPT,
            Outcome::Rejected => Self::REJECTED,
        }
    }

    /// Returns the number.
    pub fn value(self) -> u8 {
        self.0
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.0)
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Every code and what it means, in words for the manual.
pub(crate) const ALL: [(ExitCode, &str); 12] = [
    (
        ExitCode::SUCCESS,
        "done; of `run`: the command succeeded and the gate is settled (applied, nothing to apply, or discarded by you)",
    ),
    (
        ExitCode::REFUSED,
        "the request can't be fulfilled, such as a session that does not exist",
    ),
    (ExitCode::USAGE, "the command line can't be parsed"),
    (
        ExitCode::KEPT,
        "changes are kept in the session and wait for review, or commits made inside wait in its copy",
    ),
    (ExitCode::REJECTED, "the changes were rejected"),
    (
        ExitCode::WRONG_STATE,
        "no command of the session runs, so it can't be reached",
    ),
    (ExitCode::DRIVEN, "another client drives the session"),
    (ExitCode::TIMEOUT, "the command ran into its time limit"),
    (
        ExitCode::FAILED,
        "lazaret or the engine failed; also a wrong profile or workspace",
    ),
    (
        ExitCode::NOT_EXECUTABLE,
        "the command can't be executed inside",
    ),
    (ExitCode::NOT_FOUND, "the command does not exist inside"),
    (
        ExitCode::INTERRUPTED,
        "interrupted by Ctrl-C, SIGTERM or SIGHUP",
    ),
];

//! Pauses the command of a live session, in the process that keeps it: for one client at a time,
//! and for as long as the session is full (CON-28).
//!
//! Nothing of this is written down. A command whose keeper was killed during a pause is still
//! paused: whatever ends it later asks the engine first ([`unpause`]).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lazaret_protocol::Verb;
use lazaret_runtime::{ContainerName, ContainerState, Engine, EngineError, Pausing, Stdin};

use crate::porter::freeze::{FreezeError, SignalFreezer};
use crate::porter::porter;

/// Why a command could not be paused, or did not stay paused.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The porter could not stop its processes.
    #[error(transparent)]
    SignalFreezer(#[from] FreezeError),
    /// The engine knows no way.
    #[error("this engine can neither pause a container nor show its volume to another one")]
    Unsupported,
    /// It resumed before the end of the pause.
    #[error("the command went on before that was done")]
    WentOn(#[source] EngineError),
}

/// Why a turn can't be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTurn {
    /// Another client has it for longer than that.
    #[error("another lazaret looks into the session, and has for {} s", .0.as_secs())]
    Taken(Duration),
    /// The command has ended, or is being ended.
    #[error("the command is being ended")]
    Over,
}

/// The longest pause for a client: that process may itself have been stopped.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Between two attempts to resume a command.
const RETRY: Duration = Duration::from_millis(500);

/// The pauses of one command.
#[derive(Debug)]
pub struct Pauses {
    engine: Arc<dyn Engine>,
    agent: ContainerName,
    pausing: Pausing,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a client has the turn.
    is_taken: bool,
    /// Whether the command is paused until the session has room again.
    is_held: bool,
    /// Whether the command is still paused for a client, since the engine did not resume it.
    is_owed: bool,
    /// Whether the command may not be paused any more.
    is_over: bool,
}

/// The right to pause a command. Dropping it resumes the command, if the engine did not do that
/// before, and lets the next client have the turn.
#[derive(Debug)]
#[must_use = "dropping it releases the turn"]
pub struct Turn<'a>(&'a Pauses);

/// A paused command. Dropping it resumes the command, unless it was held before.
#[derive(Debug)]
#[must_use = "the command is paused until this is ended"]
pub struct PausedCommand<'a> {
    pauses: &'a Pauses,
    freezer: Option<SignalFreezer>,
    since: Instant,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Paused for a client.
    Looked,
    /// Paused until the session has room.
    Held,
    /// Held already: it stays so.
    Left,
    /// Resumed.
    Over,
}

impl Pauses {
    /// Begins without a pause.
    pub fn new(engine: &Arc<dyn Engine>, pausing: Pausing, agent: ContainerName) -> Self {
        Self {
            engine: Arc::clone(engine),
            agent,
            pausing,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Takes the turn, and waits for it for `patience` at most.
    ///
    /// # Errors
    /// See [`NoTurn`].
    pub fn take(&self, patience: Duration) -> Result<Turn<'_>, NoTurn> {
        let is_waiting = |state: &mut State| state.is_taken && !state.is_over;
        let waited = (self.changed).wait_timeout_while(self.lock(), patience, is_waiting);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        match (state.is_over, state.is_taken) {
            (true, _) => Err(NoTurn::Over),
            (false, true) => Err(NoTurn::Taken(patience)),
            (false, false) => {
                state.is_taken = true;
                Ok(Turn(self))
            }
        }
    }

    /// Resumes the command for good, even if a client has the turn, so that it can be ended.
    ///
    /// # Errors
    /// The engine's. That it is not paused is none.
    pub(crate) fn end(&self) -> Result<(), EngineError> {
        self.give_up();
        unpause(&*self.engine, &self.agent)
    }

    /// Refuses further pauses, and waits for the client that has the turn, for `patience` at most.
    pub(crate) fn close(&self, patience: Duration) -> Closed {
        self.give_up();
        let waited = (self.changed).wait_timeout_while(self.lock(), patience, |s| s.is_taken);
        match waited.unwrap_or_else(PoisonError::into_inner).0.is_taken {
            true => Closed::InUse,
            false => Closed::Unused,
        }
    }

    /// Does what [`Self::end`] does without the engine when the returned guard is dropped: also on
    /// the way out of an error or a panic.
    pub(crate) fn give_up_on_drop(&self) -> GiveUpOnDrop<'_> {
        GiveUpOnDrop(self)
    }

    fn give_up(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Pauses the command for [`Stage::Looked`] or [`Stage::Held`]. `None` if its container does
    /// not run any more.
    fn pause(&self, stage: Stage) -> Result<Option<PausedCommand<'_>>, PauseError> {
        let (engine, agent) = (&*self.engine, &self.agent);
        let stage = match self.lock().is_held {
            true => Stage::Left,
            false => stage,
        };
        let mut freezer = match (stage, self.pausing) {
            (Stage::Left, _) | (_, Pausing::Freezer) => None,
            (_, Pausing::Signals) => Some(SignalFreezer::prepare(engine, agent)?),
            (_, Pausing::None) => return Err(PauseError::Unsupported),
        };
        match engine.container(agent)?.map(|container| container.state) {
            // Another program has paused it.
            Some(ContainerState::Paused) if stage != Stage::Left => {
                engine.unpause_container(agent)?;
            }
            Some(ContainerState::Running | ContainerState::Paused) => {}
            _ => return Ok(None),
        }
        let mut paused = PausedCommand {
            pauses: self,
            freezer: None,
            since: Instant::now(),
            stage,
        };
        if stage == Stage::Left {
            return Ok(Some(paused));
        }
        match &mut freezer {
            Some(freezer) => {
                let begun = freezer.begin();
                begun.map_err(|error| after_freeze(engine, agent, error))?;
            }
            None => {
                if let Err(error) = pause(engine, agent) {
                    return match is_up(engine, agent) {
                        Ok(false) => Ok(None),
                        Ok(true) | Err(_) => Err(error.into()),
                    };
                }
            }
        }
        paused.freezer = freezer;
        let mut state = self.lock();
        if state.is_over {
            // Its end was asked for while the engine was at work, and a paused command hears
            // nothing of that. Dropping it takes the lock.
            drop(state);
            return Ok(None);
        }
        state.is_held = stage == Stage::Held;
        drop(state);
        Ok(Some(paused))
    }

    /// Resumes the command. While the engine is away it tries again, until the command may not be
    /// paused any more.
    fn resume(&self) {
        while free(&*self.engine, &self.agent).is_err() {
            let waited =
                (self.changed).wait_timeout_while(self.lock(), RETRY, |state| !state.is_over);
            if waited.unwrap_or_else(PoisonError::into_inner).0.is_over {
                // Who ends it resumes it.
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a client still has the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It has: it hangs, or was itself stopped.
    InUse,
    /// None has.
    Unused,
}

/// See [`Pauses::give_up_on_drop`].
#[derive(Debug)]
#[must_use = "no pause is possible once this is dropped"]
pub(crate) struct GiveUpOnDrop<'a>(&'a Pauses);

impl Drop for GiveUpOnDrop<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl<'a> Turn<'a> {
    /// Pauses the command; `None` if its container does not run any more, or it is being ended.
    ///
    /// # Errors
    /// See [`PauseError`].
    pub fn pause(&self) -> Result<Option<PausedCommand<'_>>, PauseError> {
        self.0.pause(Stage::Looked)
    }

    /// Resumes the command if the engine did not do that at the end of a pause.
    pub(crate) fn settle(&self) {
        if std::mem::take(&mut self.0.lock().is_owed) {
            self.0.resume();
        }
    }

    /// Pauses the command for longer than the turn. Clients that take it meanwhile leave the
    /// command paused.
    ///
    /// # Errors
    /// See [`PauseError`].
    pub(crate) fn hold(self) -> Result<Option<PausedCommand<'a>>, PauseError> {
        self.0.pause(Stage::Held)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.settle();
        self.0.lock().is_taken = false;
        self.0.changed.notify_all();
    }
}

impl PausedCommand<'_> {
    /// Resumes the command, and returns how long it was paused.
    ///
    /// # Errors
    /// If it was not paused all the time, or the engine fails. Dropping it then resumes it.
    pub fn end(&mut self) -> Result<Duration, PauseError> {
        let Pauses { engine, agent, .. } = self.pauses;
        match (self.stage, self.freezer.take()) {
            (Stage::Left | Stage::Over, _) => {}
            (Stage::Looked | Stage::Held, Some(freezer)) => {
                let ended = freezer.end();
                ended.map_err(|error| after_freeze(&**engine, agent, error))?;
            }
            (Stage::Looked | Stage::Held, None) => {
                (engine.unpause_container(agent)).map_err(PauseError::WentOn)?;
            }
        }
        let took = self.since.elapsed();
        self.note_end();
        Ok(took)
    }

    fn note_end(&mut self) {
        if self.stage == Stage::Held {
            self.pauses.lock().is_held = false;
        }
        self.stage = Stage::Over;
    }
}

impl Drop for PausedCommand<'_> {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Left | Stage::Over) {
            return;
        }
        match self.freezer.take() {
            // What goes wrong here has a failure before it, which says more.
            Some(freezer) => {
                if let Err(error) = freezer.end() {
                    let Pauses { engine, agent, .. } = self.pauses;
                    drop(after_freeze(&**engine, agent, error));
                }
            }
            None if self.stage == Stage::Held => self.pauses.resume(),
            None => {
                // The client gets its answer before a retry: see `Turn::settle`.
                let freed = free(&*self.pauses.engine, &self.pauses.agent);
                self.pauses.lock().is_owed |= freed.is_err();
            }
        }
        self.note_end();
    }
}

/// Has the engine pause a container. runc gives up to freeze a cgroup of version 1 in which
/// processes are made all the time, and leaves the retry to its caller
/// (opencontainers/runc#4388). Docker passes on its "unable to freeze", Podman its exit status
/// alone: so the container is asked.
fn pause(engine: &dyn Engine, agent: &ContainerName) -> Result<(), EngineError> {
    const ATTEMPTS: usize = 10;
    for _ in 1..ATTEMPTS {
        match engine.pause_container(agent) {
            Err(EngineError::Refused { .. }) if is_running(engine, agent)? => {}
            done => return done,
        }
    }
    engine.pause_container(agent)
}

fn is_running(engine: &dyn Engine, agent: &ContainerName) -> Result<bool, EngineError> {
    let state = engine.container(agent)?.map(|found| found.state);
    Ok(state == Some(ContainerState::Running))
}

/// Continues stopped processes if the porter will not: one that gave up has done so itself, one
/// that was killed, or does not answer, has not.
fn after_freeze(engine: &dyn Engine, agent: &ContainerName, error: FreezeError) -> PauseError {
    if !matches!(error, FreezeError::GaveUp { .. }) {
        let unfreeze = engine.exec(agent, &porter(&Verb::Unfreeze, Stdin::Closed));
        // There may be no process left to continue: the first failure is the one to report.
        drop(unfreeze.and_then(|process| process.control.wait()));
    }
    error.into()
}

/// Resumes a container. That it is not paused, or is not there, is no error.
fn free(engine: &dyn Engine, agent: &ContainerName) -> Result<(), EngineError> {
    match engine.unpause_container(agent) {
        Err(EngineError::NotFound { .. } | EngineError::Refused { .. }) => Ok(()),
        other => other,
    }
}

/// Resumes a container that is paused, also by another program, so that it can be ended.
///
/// # Errors
/// The engine's. That it is not paused is none.
pub(crate) fn unpause(engine: &dyn Engine, agent: &ContainerName) -> Result<(), EngineError> {
    match engine.container(agent)?.map(|container| container.state) {
        Some(ContainerState::Paused) => free(engine, agent),
        _ => Ok(()),
    }
}

/// Whether a container runs, or would if it were not paused.
///
/// # Errors
/// The engine's.
pub fn is_up(engine: &dyn Engine, container: &ContainerName) -> Result<bool, EngineError> {
    let state = engine.container(container)?.map(|found| found.state);
    Ok(matches!(
        state,
        Some(ContainerState::Running | ContainerState::Paused)
    ))
}

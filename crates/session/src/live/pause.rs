//! Pauses the command of a live session while another lazaret process uses its volume.
//!
//! A process that pauses holds the [`PauseLock`] and writes a marker first. It removes the marker
//! once the command runs again. A marker without a lock was left by a killed process: the
//! session's launcher checks for one all the time and resumes the command. The next process that
//! takes the lock does so too. If the engine has no freezer, the porter stops the processes from
//! inside. It continues them by itself if the heartbeat stops.
//!
//! A command whose session is full stays paused by its own launcher, which has another marker,
//! `held`: who looks meanwhile leaves the pause as it is (CON-28).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lazaret_protocol::Verb;
use lazaret_runtime::{ContainerName, ContainerState, Engine, EngineError, Pausing, Stdin};
use lazaret_tree::{AtPath as _, PathError};

use crate::context::SessionContext;
use crate::live::pause_lock::PauseLock;
use crate::porter::freeze::{FreezeError, SignalFreezer};
use crate::porter::porter;
use crate::store::SessionDir;
use crate::store::file::remove_file;
use crate::store::record::Record;

/// Why a command could not be paused, or did not stay paused.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
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

/// The longest pause. The session's launcher ends a longer one even if another process holds the
/// lock: that process may itself have been stopped.
pub const LONGEST: Duration = Duration::from_secs(60);

/// How long a pause may still take effect after its owner was killed: a busy engine carries out
/// late what it was asked for.
const UNDER_WAY: Duration = Duration::from_secs(30);

/// What is needed for a pause, made ready beforehand to keep the pause short.
#[derive(Debug)]
pub struct PreparedPause<'a> {
    engine: &'a dyn Engine,
    agent: ContainerName,
    mark: PathBuf,
    /// Of a command that is held already.
    held: PathBuf,
    freezer: Option<SignalFreezer>,
}

/// A paused command. Dropping it resumes the command, unless it was held before.
#[derive(Debug)]
#[must_use = "the command is paused until this is ended"]
pub struct PausedCommand<'a> {
    engine: &'a dyn Engine,
    agent: ContainerName,
    mark: PathBuf,
    freezer: Option<SignalFreezer>,
    since: Instant,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Paused by this process.
    Ours,
    /// Paused by the launcher of its session.
    Held,
    /// Resumed.
    Over,
}

impl<'a> PreparedPause<'a> {
    /// Makes a pause ready.
    ///
    /// # Errors
    /// The engine's, or that it knows no way.
    pub fn new(
        cx: &'a SessionContext<'_>,
        dir: &SessionDir,
        record: &Record,
    ) -> Result<Self, PauseError> {
        Self::marked(cx, record, mark(dir), held(dir))
    }

    /// Makes a pause ready that lasts until the session has room again.
    ///
    /// # Errors
    /// The engine's, or that it knows no way.
    pub(crate) fn to_hold(
        cx: &'a SessionContext<'_>,
        dir: &SessionDir,
        record: &Record,
    ) -> Result<Self, PauseError> {
        Self::marked(cx, record, held(dir), held(dir))
    }

    fn marked(
        cx: &'a SessionContext<'_>,
        record: &Record,
        mark: PathBuf,
        held: PathBuf,
    ) -> Result<Self, PauseError> {
        let (engine, agent) = (&*cx.engine, record.agent());
        let freezer = match cx.info.capabilities.pausing {
            Pausing::Freezer => None,
            Pausing::Signals => Some(SignalFreezer::prepare(engine, &agent)?),
            Pausing::None => return Err(PauseError::Unsupported),
        };
        Ok(Self {
            engine,
            agent,
            mark,
            held,
            freezer,
        })
    }

    /// Pauses the command; `None` if its container does not run any more.
    ///
    /// # Errors
    /// The engine's, or the disk's.
    pub fn begin(self, _turn: &PauseLock) -> Result<Option<PausedCommand<'a>>, PauseError> {
        let is_held = self.held.exists();
        let state = self.engine.container(&self.agent)?;
        match state.map(|container| container.state) {
            Some(ContainerState::Running | ContainerState::Paused) if is_held => {}
            Some(ContainerState::Running) => {}
            // The last holder of the lock was killed during its pause.
            Some(ContainerState::Paused) => self.engine.unpause_container(&self.agent)?,
            _ => return Ok(None),
        }
        let mut paused = PausedCommand {
            engine: self.engine,
            agent: self.agent,
            mark: self.mark,
            freezer: None,
            since: Instant::now(),
            stage: Stage::Held,
        };
        if is_held {
            return Ok(Some(paused));
        }
        fs::write(&paused.mark, b"").at(&paused.mark)?;
        paused.stage = Stage::Ours;
        match self.freezer {
            Some(mut freezer) => {
                let begun = freezer.begin();
                begun.map_err(|error| after_freeze(paused.engine, &paused.agent, error))?;
                paused.freezer = Some(freezer);
            }
            None => {
                if let Err(error) = pause(paused.engine, &paused.agent) {
                    return match is_up(paused.engine, &paused.agent) {
                        Ok(false) => Ok(None),
                        Ok(true) | Err(_) => Err(error.into()),
                    };
                }
            }
        }
        Ok(Some(paused))
    }
}

/// Has the engine pause a container. runc gives up to freeze a cgroup of version 1 in which
/// processes are made all the time ("unable to freeze"), about once in thirty times: the next
/// attempt succeeds.
fn pause(engine: &dyn Engine, agent: &ContainerName) -> Result<(), EngineError> {
    const ATTEMPTS: usize = 5;
    for _ in 1..ATTEMPTS {
        match engine.pause_container(agent) {
            Err(error) if error.to_string().contains("unable to freeze") => {}
            done => return done,
        }
    }
    engine.pause_container(agent)
}

impl PausedCommand<'_> {
    /// Resumes the command, and returns how long it was paused.
    ///
    /// # Errors
    /// If it was not paused all the time, or the engine fails. It goes on in any case.
    pub fn end(mut self) -> Result<Duration, PauseError> {
        if self.stage == Stage::Held {
            return Ok(self.since.elapsed());
        }
        let released = match self.freezer.take() {
            Some(freezer) => {
                let ended = freezer.end();
                ended.map_err(|error| after_freeze(self.engine, &self.agent, error))
            }
            None => (self.engine.unpause_container(&self.agent)).map_err(PauseError::WentOn),
        };
        let took = self.since.elapsed();
        if released.is_ok() {
            self.stage = Stage::Over;
            remove_file(&self.mark)?;
        }
        released.map(|()| took)
    }
}

impl Drop for PausedCommand<'_> {
    fn drop(&mut self) {
        if self.stage != Stage::Ours {
            return;
        }
        match self.freezer.take() {
            // What goes wrong here has a failure before it, which says more.
            Some(freezer) => {
                if let Err(error) = freezer.end() {
                    drop(after_freeze(self.engine, &self.agent, error));
                }
                drop(fs::remove_file(&self.mark));
            }
            None => drop(resume(self.engine, &self.agent, &self.mark)),
        }
    }
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

/// Resumes the command, and removes the marker once it runs.
fn resume(engine: &dyn Engine, agent: &ContainerName, mark: &Path) -> Result<(), PauseError> {
    let _either = free(engine, agent)?;
    remove_file(mark)?;
    Ok(())
}

/// Whether a command had been paused before it was resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freed {
    FromAPause,
    /// It was not paused, or is not there.
    FromNothing,
}

fn free(engine: &dyn Engine, agent: &ContainerName) -> Result<Freed, EngineError> {
    match engine.unpause_container(agent) {
        Ok(()) => Ok(Freed::FromAPause),
        Err(EngineError::NotFound { .. } | EngineError::Refused { .. }) => Ok(Freed::FromNothing),
        Err(error) => Err(error),
    }
}

/// Checks whether the command was left paused, for the launcher of its session.
#[derive(Debug)]
pub struct StalePauseWatch {
    dir: SessionDir,
    agent: ContainerName,
    /// Since when the marker is there.
    seen: Option<Instant>,
    /// Since when it has no lock.
    forgotten: Option<Instant>,
}

impl StalePauseWatch {
    /// How often to check. Each check costs one look at a directory.
    pub const TICK: Duration = Duration::from_millis(500);

    /// Makes one for a session.
    pub fn new(dir: &SessionDir, record: &Record) -> Self {
        Self {
            dir: dir.clone(),
            agent: record.agent(),
            seen: None,
            forgotten: None,
        }
    }

    /// Resumes the command if its pause has lost its lock, or lasts longer than [`LONGEST`]. The
    /// next call retries what failed.
    pub fn look(&mut self, engine: &dyn Engine) {
        let mark = mark(&self.dir);
        if !mark.exists() {
            (self.seen, self.forgotten) = (None, None);
            return;
        }
        let seen = *self.seen.get_or_insert_with(Instant::now);
        let pause_lock = PauseLock::try_take(&self.dir).ok().flatten();
        // Again, under the lock: its last holder may just have ended the pause.
        if !mark.exists() {
            return;
        }
        if pause_lock.is_some() {
            // The holder was killed, perhaps before the engine carried out its request.
            let forgotten = *self.forgotten.get_or_insert_with(Instant::now);
            let freed = free(engine, &self.agent);
            if matches!(freed, Ok(Freed::FromAPause))
                || (freed.is_ok() && forgotten.elapsed() > UNDER_WAY)
            {
                drop(fs::remove_file(&mark));
            }
        } else if seen.elapsed() > LONGEST {
            drop(resume(engine, &self.agent, &mark));
        } else {
            self.forgotten = None;
        }
    }

    /// Resumes the command even if a process holds the pause lock, so that it can be ended.
    ///
    /// # Errors
    /// The engine's. That it is not paused is none.
    pub fn resume(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        let state = engine.container(&self.agent)?;
        match state.map(|container| container.state) {
            Some(ContainerState::Paused) => match engine.unpause_container(&self.agent) {
                Err(EngineError::Refused { .. } | EngineError::NotFound { .. }) => Ok(()),
                other => other,
            },
            _ => Ok(()),
        }
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

fn mark(dir: &SessionDir) -> PathBuf {
    dir.file("paused")
}

/// Forgets that an earlier command was held, whose launcher was killed.
///
/// # Errors
/// The disk's.
pub(crate) fn forget_hold(dir: &SessionDir) -> Result<(), PathError> {
    remove_file(&held(dir))
}

/// The marker of a command that is held: its launcher waits for room.
fn held(dir: &SessionDir) -> PathBuf {
    dir.file("held")
}

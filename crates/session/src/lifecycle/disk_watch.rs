//! Pauses a command whose session holds more than it may, and ends it if no user makes room
//! (CON-28).
//!
//! The exporter's porter, which stands by beside the command, counts. No engine that has no quota
//! could stop a volume at its limit, so what is written within one look may go over it.

use std::time::{Duration, Instant};

use lazaret_protocol::usage::Amount;
use lazaret_runtime::{EngineError, Spawner};

use crate::context::SessionContext;
use crate::engine::counted::CountedVolumes;
use crate::event::Event;
use crate::lifecycle::command_io::CommandIo;
use crate::lifecycle::disk_limits::{DiskState, Estimate, LOOK};
use crate::lifecycle::latch::{CommandEnded, Latch};
use crate::live::pause::{LONGEST, NoTurn, PauseError, PausedCommand, Pauses};
use crate::porter::usage::{Counted, Unknown, UsageCounter};
use crate::store::SessionDir;
use crate::store::record::Record;

/// How long a command has the machine to itself: most need no more. Also between two attempts.
const PAUSE: Duration = Duration::from_secs(2);

/// Between two looks whether a command may go on.
const TICK: Duration = Duration::from_millis(200);

/// How long a command stays paused until its session is stopped.
const PATIENCE: Duration = Duration::from_secs(600);

/// Why a session is not watched any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiskWatchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Pause(#[from] PauseError),
    #[error(transparent)]
    NoTurn(#[from] NoTurn),
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// What is watched.
#[derive(Clone, Copy)]
pub(super) struct DiskWatch<'a> {
    pub(super) cx: &'a SessionContext<'a>,
    pub(super) pauses: &'a Pauses,
    pub(super) dir: &'a SessionDir,
    pub(super) record: &'a Record,
    /// What counts beside the copy of the workspace.
    pub(super) counted: &'a CountedVolumes,
    pub(super) io: &'a dyn CommandIo,
    pub(super) over: &'a Latch<CommandEnded>,
}

impl DiskWatch<'_> {
    /// Watches until the command has ended. What goes wrong is said once, and tried again.
    pub(super) fn until_ended(self, counter: &Spawner) -> CommandEnded {
        if self.io.disk_limits().is_none() {
            return self.over.wait();
        }
        let mut has_complained = false;
        loop {
            if let Some(ended) = self.over.wait_for(PAUSE) {
                return ended;
            }
            match self.watch(counter) {
                Ok(ended) => return ended,
                Err(_) if self.is_ending() => {}
                Err(error) if !std::mem::replace(&mut has_complained, true) => {
                    self.cx.events.event(Event::DiskNotWatched(&error));
                }
                Err(_) => {}
            }
        }
    }

    /// Whether the command is being ended, or has ended.
    fn is_ending(self) -> bool {
        self.cx.cancel.level().is_some() || self.over.get().is_some()
    }

    fn watch(self, counter: &Spawner) -> Result<CommandEnded, DiskWatchError> {
        let mut counter = UsageCounter::start(counter, self.counted.targets())?.ok_or(Unknown)?;
        let (mut held, mut estimate) = self.count(&mut counter)?;
        loop {
            let limits = self.io.disk_limits();
            let is_full = limits.is_some_and(|limits| limits.may_be_exceeded(held));
            // A command that is being ended must not be paused.
            if is_full && !self.is_ending() {
                (held, estimate) = self.hold(&mut counter)?;
                continue;
            }
            if let Some(ended) = self.over.wait_for(LOOK) {
                return Ok(ended);
            }
            let free = counter.free()?;
            if limits.is_some_and(|limits| estimate.is_due(free, limits)) {
                (held, estimate) = self.count(&mut counter)?;
            }
        }
    }

    /// Pauses the command, and counts what does not change any more. If that is too much, the
    /// command stays paused until there is room.
    fn hold(self, counter: &mut UsageCounter) -> Result<(Counted, Estimate), DiskWatchError> {
        let paused = self.pauses.take(LONGEST)?.hold()?;
        let (counted, estimate) = self.count(counter)?;
        let limits = self.io.disk_limits();
        let used = counted.amount();
        if let Some(excess) = limits.and_then(|limits| limits.exceeded(used)) {
            self.io.disk(DiskState::Full(excess));
            self.await_room(used);
            self.io.disk(DiskState::Released);
        }
        if let Some(paused) = paused {
            self.go_on(paused)?;
        }
        // What could not be read now, a further pause would not read either.
        Ok((Counted::All(used), estimate))
    }

    /// Waits until the limits are high enough, or the command is to end, or has ended.
    fn await_room(self, used: Amount) {
        let since = Instant::now();
        let is_full = || {
            let limits = self.io.disk_limits();
            limits.and_then(|limits| limits.exceeded(used)).is_some()
        };
        while is_full() && !self.is_ending() {
            let _ended = self.over.wait_for(TICK);
            if since.elapsed() >= PATIENCE {
                self.io.disk(DiskState::StaysFull);
                return;
            }
        }
    }

    /// Lets the command go on, once no other process reads what must not change meanwhile.
    fn go_on(self, mut paused: PausedCommand<'_>) -> Result<(), DiskWatchError> {
        let turn = self.pauses.take(LONGEST);
        let resumed = paused.end();
        drop(turn);
        match resumed {
            // It was ended, which resumed it.
            Err(_) if self.is_ending() => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    fn count(self, counter: &mut UsageCounter) -> Result<(Counted, Estimate), Unknown> {
        let (counted, estimate) = Estimate::count(counter)?;
        self.io.disk(DiskState::Counted(counted.amount()));
        Ok((counted, estimate))
    }
}

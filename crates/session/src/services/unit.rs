//! `Unit`: one service: what is known of it, and what it is to do.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lazaret_runtime::HardenedSpec;
use lazaret_tree::{AtPath as _, PathError};

use super::Service;
use super::status::{ServiceState, ServiceStatus};
use crate::store::SessionDir;
use crate::store::file::{ok_if_absent, private_dir};
use crate::store::run_log::{LogFile, last_lines, service_dir};

/// How many lines of a log say why its service does not run.
const LAST_LINES: usize = 20;

/// One service of a session.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) service: Service,
    pub(super) spec: HardenedSpec,
    pub(super) log: LogFile,
    log_dir: PathBuf,
    desk: Mutex<Desk>,
    changed: Condvar,
}

#[derive(Debug)]
struct Desk {
    state: ServiceState,
    restarts: u32,
    desired: DesiredState,
    /// The number of the process that runs.
    process: u64,
    /// How it ended.
    ended: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DesiredState {
    Running,
    Restart,
    End,
}

/// What comes next for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Its process has ended, with this exit code.
    Died(i32),
    /// A user asked for a restart.
    Restart,
    /// Its session ends.
    End,
    /// The time was up.
    Time,
}

impl Unit {
    /// Begins a new log; that of an earlier start goes.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn new(
        service: Service,
        spec: HardenedSpec,
        dir: &SessionDir,
    ) -> Result<Self, PathError> {
        let log_dir = service_dir(dir, &service.name);
        ok_if_absent(fs::remove_dir_all(&log_dir)).at(&log_dir)?;
        private_dir(&log_dir)?;
        Ok(Self {
            log: LogFile::create(&log_dir)?,
            log_dir,
            service,
            spec,
            desk: Mutex::new(Desk {
                state: ServiceState::Starting,
                restarts: 0,
                desired: DesiredState::Running,
                process: 0,
                ended: None,
            }),
            changed: Condvar::new(),
        })
    }

    /// Returns the end of its log; nothing if that can't be read.
    pub(super) fn last_lines(&self) -> Vec<String> {
        last_lines(&self.log_dir, LAST_LINES).unwrap_or_default()
    }

    pub(super) fn status(&self) -> ServiceStatus {
        let desk = self.desk();
        ServiceStatus {
            name: self.service.name.to_string(),
            state: desk.state,
            restarts: desk.restarts,
        }
    }

    /// Begins with another process. Returns its number.
    pub(super) fn begin_process(&self) -> u64 {
        let mut desk = self.desk();
        desk.state = ServiceState::Starting;
        desk.process += 1;
        desk.ended = None;
        desk.process
    }

    /// Notes that a process has ended; of one that was replaced since nothing is noted.
    pub(super) fn process_ended(&self, number: u64, code: i32) {
        let mut desk = self.desk();
        if desk.process == number {
            desk.ended = Some(code);
            self.changed.notify_all();
        }
    }

    /// Notes that it could not be started, which counts as a death.
    pub(super) fn start_failed(&self, code: i32) {
        self.desk().ended = Some(code);
    }

    /// Counts a start after the first.
    pub(super) fn count_restart(&self) {
        let mut desk = self.desk();
        desk.state = ServiceState::Starting;
        desk.restarts += 1;
    }

    pub(super) fn want_restart(&self) {
        let mut desk = self.desk();
        if desk.desired == DesiredState::Running {
            desk.desired = DesiredState::Restart;
            self.changed.notify_all();
        }
    }

    pub(super) fn want_end(&self) {
        self.desk().desired = DesiredState::End;
        self.changed.notify_all();
    }

    /// Whether its session ends.
    pub(super) fn ends(&self) -> bool {
        self.desk().desired == DesiredState::End
    }

    /// Waits until its supervisor has stopped it.
    pub(super) fn await_stopped(&self) {
        let desk = self.desk();
        let stopped = |desk: &mut Desk| desk.state != ServiceState::Stopped;
        drop(self.changed.wait_while(desk, stopped));
    }

    /// Waits until the process has ended, for `limit` at most. Returns its exit code.
    pub(super) fn await_end(&self, limit: Duration) -> Option<i32> {
        let desk = self.desk();
        let waited = (self.changed).wait_timeout_while(desk, limit, |desk| desk.ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    /// Waits for what comes next while the process runs.
    pub(super) fn next(&self) -> Next {
        let waited = self.changed.wait_while(self.desk(), |desk| {
            desk.desired == DesiredState::Running && desk.ended.is_none()
        });
        let mut desk = waited.unwrap_or_else(PoisonError::into_inner);
        desk.take_wish(|desk| Next::Died(desk.ended.unwrap_or_default()))
    }

    /// Waits for what comes next while no process runs, for `limit` at most; `None` for ever.
    pub(super) fn next_wish(&self, limit: Option<Duration>) -> Next {
        let limit = limit.unwrap_or(Duration::MAX);
        let desk = self.desk();
        let waited = (self.changed)
            .wait_timeout_while(desk, limit, |desk| desk.desired == DesiredState::Running);
        let mut desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        desk.take_wish(|_| Next::Time)
    }

    pub(super) fn set(&self, state: ServiceState) {
        self.desk().state = state;
        self.changed.notify_all();
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    fn take_wish(&mut self, otherwise: impl FnOnce(&Self) -> Next) -> Next {
        match self.desired {
            DesiredState::End => Next::End,
            DesiredState::Restart => {
                self.desired = DesiredState::Running;
                Next::Restart
            }
            DesiredState::Running => otherwise(self),
        }
    }
}

/// How often a service has died lately.
#[derive(Debug, Default)]
pub(super) struct Deaths(VecDeque<Instant>);

impl Deaths {
    /// How long a death counts.
    const LATELY: Duration = Duration::from_secs(5 * 60);

    /// How long after each the service is started again.
    const PAUSES: [Duration; 3] = [
        Duration::from_secs(1),
        Duration::from_secs(5),
        Duration::from_secs(25),
    ];

    /// Notes a death. Returns how long after it the service is started again; `None` if that
    /// were once too often.
    pub(super) fn note(&mut self, now: Instant) -> Option<Duration> {
        while self
            .0
            .front()
            .is_some_and(|death| now - *death > Self::LATELY)
        {
            self.0.pop_front();
        }
        let pause = Self::PAUSES.get(self.0.len()).copied();
        if pause.is_some() {
            self.0.push_back(now);
        }
        pause
    }

    /// Forgets them: a user asked for a restart.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_started_again_three_times_in_five_minutes() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut deaths = Deaths::default();
        let pauses = [0, 2, 8].map(|at| deaths.note(after(at)).map(|pause| pause.as_secs()));
        assert_eq!(pauses, [Some(1), Some(5), Some(25)]);
        assert_eq!(deaths.note(after(40)), None);
        assert_eq!(deaths.note(after(300)), None);
        // The first of them counts no more.
        assert_eq!(deaths.note(after(301)), Some(Duration::from_secs(25)));
        deaths.forget();
        assert_eq!(deaths.note(after(302)), Some(Duration::from_secs(1)));
    }
}

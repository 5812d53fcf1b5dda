//! `Cancel`: Ctrl-C, SIGTERM and SIGHUP as a flag, guards and messages.
//!
//! A signal never ends the process by itself. It raises a flag that the phases poll,
//! and runs the guards, which make blocked calls return; the main thread then unwinds
//! through its leases and rollbacks as after any other failure. A second signal does
//! the same at a higher level, and skips no rollback either (FLT-08, FLT-10).

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The user wants an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// How often the user has asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelLevel {
    /// Once: end in good order, with the usual grace.
    Asked,
    /// Again: no grace for the command any more. Rollback and cleanup still happen.
    Insisted,
}

type Action = Box<dyn FnMut(CancelLevel) + Send>;

#[derive(Default)]
struct Guards {
    next_id: u64,
    actions: Vec<(u64, Arc<Mutex<Action>>)>,
}

#[derive(Default)]
struct Shared {
    raised: AtomicU32,
    guards: Mutex<Guards>,
    changed: Condvar,
}

/// The one cancel flag of the process. Clones share it.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.level()).finish()
    }
}

/// A panic in one guard must not disable the others.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cancel {
    /// Makes a flag that no signal reaches yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Does what a signal does.
    pub fn raise(&self) {
        let actions: Vec<_> = {
            // Counted under the lock: a guard that registers meanwhile either sees the
            // flag or is in the list.
            let guards = locked(&self.0.guards);
            self.0.raised.fetch_add(1, Ordering::SeqCst);
            self.0.changed.notify_all();
            guards
                .actions
                .iter()
                .map(|(_, action)| action.clone())
                .collect()
        };
        let Some(level) = self.level() else {
            return;
        };
        for action in actions {
            locked(&action)(level);
        }
    }

    /// Returns how urgent the end is, or `None` if no end was asked for.
    pub fn level(&self) -> Option<CancelLevel> {
        match self.0.raised.load(Ordering::SeqCst) {
            0 => None,
            1 => Some(CancelLevel::Asked),
            _ => Some(CancelLevel::Insisted),
        }
    }

    /// Says that what was asked for once has been done, such as ending the command: a
    /// signal after that asks for something else. A user who has insisted stays heard.
    pub fn acknowledge(&self) {
        // Under the lock, as every raise: a signal is never lost between the two.
        let _guards = locked(&self.0.guards);
        let _ = self
            .0
            .raised
            .compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Fails when an end was asked for. Call it between steps and in loops.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.level() {
            None => Ok(()),
            Some(_) => Err(Interrupted),
        }
    }

    /// Sleeps for `duration`, or until an end is asked for.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn sleep(&self, duration: Duration) -> Result<(), Interrupted> {
        let deadline = Instant::now() + duration;
        let mut guards = locked(&self.0.guards);
        loop {
            self.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            guards = self
                .0
                .changed
                .wait_timeout(guards, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Runs `action` on every signal, on the handler's thread, after the guards that
    /// were registered before it, until the returned guard is dropped. When an end was
    /// asked for already, it runs here and now.
    ///
    /// The action makes blocked calls return (stops a container, closes a channel).
    /// What has to be undone belongs into the `Drop` of what did it, so that it is
    /// undone after failures too.
    pub fn guard(&self, action: impl FnMut(CancelLevel) + Send + 'static) -> Guard {
        let action: Arc<Mutex<Action>> = Arc::new(Mutex::new(Box::new(action)));
        let (id, level) = {
            let mut guards = locked(&self.0.guards);
            let id = guards.next_id;
            guards.next_id += 1;
            guards.actions.push((id, action.clone()));
            (id, self.level())
        };
        if let Some(level) = level {
            locked(&action)(level);
        }
        Guard {
            id,
            shared: Arc::downgrade(&self.0),
        }
    }

    /// Makes a queue in which both values and signals arrive: the way to block on
    /// "the process ended, or the user wants an end".
    pub fn event_queue<T: Send + 'static>(&self) -> (Sender<Event<T>>, EventQueue<T>) {
        let (sender, receiver) = mpsc::channel();
        let signals = sender.clone();
        let guard = self.guard(move |level| {
            // A queue that is gone needs no signal.
            drop(signals.send(Event::Cancel(level)));
        });
        (
            sender,
            EventQueue {
                receiver,
                _guard: guard,
            },
        )
    }
}

/// Keeps an action registered. Dropping it takes the action out.
#[must_use = "dropping the guard takes the action out again"]
#[derive(Debug)]
pub struct Guard {
    id: u64,
    shared: Weak<Shared>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            locked(&shared.guards)
                .actions
                .retain(|(id, _)| *id != self.id);
        }
    }
}

/// What arrives in an [`EventQueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<T> {
    /// A sender's value.
    Value(T),
    /// A signal.
    Cancel(CancelLevel),
    /// The deadline has passed.
    Deadline,
}

/// Receives values and signals in the order in which they happened.
#[derive(Debug)]
pub struct EventQueue<T> {
    receiver: Receiver<Event<T>>,
    _guard: Guard,
}

impl<T> EventQueue<T> {
    /// Blocks until something arrives or `deadline` (monotonic) has passed.
    pub fn wait(&self, deadline: Option<Instant>) -> Event<T> {
        // The guard holds a sender for as long as the queue lives, so "disconnected"
        // can't happen; it would be the end of all news, which a deadline is too.
        match deadline {
            None => self.receiver.recv().unwrap_or(Event::Deadline),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                match self.receiver.recv_timeout(left) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                        Event::Deadline
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn flt_08_a_signal_raises_the_flag_and_runs_the_guards_in_order() {
        let cancel = Cancel::new();
        let (sender, receiver) = mpsc::channel();
        let first = sender.clone();
        let _a = cancel.guard(move |level| first.send(("a", level)).unwrap());
        let second = sender.clone();
        let b = cancel.guard(move |level| second.send(("b", level)).unwrap());
        assert_eq!(cancel.check(), Ok(()));

        cancel.raise();
        assert_eq!(cancel.check(), Err(Interrupted));
        drop(b);
        cancel.raise();
        let events: Vec<_> = receiver.try_iter().collect();
        assert_eq!(
            events,
            [
                ("a", CancelLevel::Asked),
                ("b", CancelLevel::Asked),
                ("a", CancelLevel::Insisted)
            ]
        );
    }

    #[test]
    fn flt_08_a_guard_that_comes_after_the_signal_runs_at_once() {
        let cancel = Cancel::new();
        cancel.raise();
        let (sender, receiver) = mpsc::channel();
        let _guard = cancel.guard(move |level| sender.send(level).unwrap());
        assert_eq!(receiver.try_recv(), Ok(CancelLevel::Asked));
    }

    #[test]
    fn flt_08_a_mailbox_takes_values_signals_and_deadlines() {
        let cancel = Cancel::new();
        let (sender, event_queue) = cancel.event_queue();
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(event_queue.wait(Some(soon)), Event::Deadline);
        let raiser = cancel.clone();
        let thread = thread::spawn(move || {
            raiser.raise();
            raiser.raise();
            sender.send(Event::Value(7)).unwrap();
        });
        assert_eq!(event_queue.wait(None), Event::Cancel(CancelLevel::Asked));
        assert_eq!(event_queue.wait(None), Event::Cancel(CancelLevel::Insisted));
        assert_eq!(event_queue.wait(None), Event::Value(7));
        thread.join().unwrap();
    }

    #[test]
    fn flt_08_an_answered_signal_does_not_end_what_follows() {
        let cancel = Cancel::new();
        cancel.raise();
        cancel.acknowledge();
        assert_eq!(cancel.check(), Ok(()));
        cancel.raise();
        assert_eq!(cancel.level(), Some(CancelLevel::Asked));
        cancel.raise();
        cancel.acknowledge();
        assert_eq!(cancel.level(), Some(CancelLevel::Insisted));
    }

    #[test]
    fn a_sleep_ends_with_a_signal() {
        let cancel = Cancel::new();
        assert_eq!(cancel.sleep(Duration::from_millis(1)), Ok(()));
        let raiser = cancel.clone();
        let thread = thread::spawn(move || raiser.raise());
        assert_eq!(cancel.sleep(Duration::from_secs(60)), Err(Interrupted));
        thread.join().unwrap();
    }

    #[test]
    fn a_panic_in_a_guard_leaves_the_others() {
        let cancel = Cancel::new();
        let _bad = cancel.guard(|level| assert_eq!(level, CancelLevel::Insisted));
        let raiser = cancel.clone();
        assert!(thread::spawn(move || raiser.raise()).join().is_err());
        let (sender, receiver) = mpsc::channel();
        let _good = cancel.guard(move |level| sender.send(level).unwrap());
        cancel.raise();
        assert_eq!(receiver.try_iter().last(), Some(CancelLevel::Insisted));
    }
}

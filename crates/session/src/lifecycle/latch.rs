//! `Latch`: a value that is set once, and waited for by any number of threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a command has the machine to itself, so that it starts no later for this.
pub(crate) const BACKGROUND_DELAY: Duration = Duration::from_millis(300);

/// How a command came to its end, for what is done beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnded {
    /// Its changes are collected next.
    Collect,
    /// The launcher lost it; nothing is collected now.
    Lost,
}

/// A value that is set once. Later values are ignored.
#[derive(Debug)]
pub struct Latch<T> {
    value: Mutex<Option<T>>,
    is_set: Condvar,
}

impl<T> Default for Latch<T> {
    fn default() -> Self {
        Self {
            value: Mutex::default(),
            is_set: Condvar::new(),
        }
    }
}

impl<T: Copy> Latch<T> {
    /// Sets the value, unless it is set already.
    pub fn set(&self, value: T) {
        self.lock().get_or_insert(value);
        self.is_set.notify_all();
    }

    /// Sets the value when the returned guard is dropped, unless it is set already.
    pub(crate) fn set_on_drop(&self, value: T) -> SetOnDrop<'_, T> {
        SetOnDrop { latch: self, value }
    }

    /// Returns the value, if it is set.
    pub fn get(&self) -> Option<T> {
        *self.lock()
    }

    /// Waits for the value.
    pub(crate) fn wait(&self) -> T {
        let mut value = self.lock();
        loop {
            match *value {
                Some(value) => return value,
                None => {
                    value = self
                        .is_set
                        .wait(value)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }

    /// Waits for the value, for `limit` at most.
    pub(crate) fn wait_for(&self, limit: Duration) -> Option<T> {
        let waited = (self.is_set).wait_timeout_while(self.lock(), limit, |value| value.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets a latch when it is dropped: also on the way out of an error or a panic.
#[derive(Debug)]
#[must_use = "the latch is set when this is dropped"]
pub(crate) struct SetOnDrop<'a, T: Copy> {
    latch: &'a Latch<T>,
    value: T,
}

impl<T: Copy> Drop for SetOnDrop<'_, T> {
    fn drop(&mut self) {
        self.latch.set(self.value);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_first_value_stays_and_wakes_everyone() {
        let latch = Latch::default();
        assert_eq!(latch.wait_for(Duration::from_millis(1)), None);
        thread::scope(|scope| {
            let waiting = [(); 2].map(|()| scope.spawn(|| latch.wait()));
            {
                let _lost = latch.set_on_drop(CommandEnded::Lost);
                latch.set(CommandEnded::Collect);
            }
            for waiting in waiting {
                assert_eq!(waiting.join().unwrap(), CommandEnded::Collect);
            }
        });
        assert_eq!(latch.get(), Some(CommandEnded::Collect));
        assert_eq!(latch.wait_for(Duration::MAX), Some(CommandEnded::Collect));
    }
}

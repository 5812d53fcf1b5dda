//! `ConnectionChanges`: tells when the connections of a container's processes are lost, and when they
//! are resumed.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What became of the connection to another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionChange {
    /// A process has lost it. Its input and output wait.
    Lost,
    /// Every process that goes on has it again.
    Resumed,
}

/// Counts the processes that have lost their connection, which they mostly do at once.
#[derive(Debug, Default)]
pub(crate) struct ConnectionChanges(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lost: usize,
    listener: Option<Sender<ConnectionChange>>,
}

/// A process without a connection.
pub(super) struct LostConnection(Arc<ConnectionChanges>);

impl ConnectionChanges {
    /// Returns what changes from here on; it ends with [`Self::end`].
    pub(crate) fn listen(&self) -> Receiver<ConnectionChange> {
        let (listener, changes) = channel();
        self.state().listener = Some(listener);
        changes
    }

    pub(crate) fn end(&self) {
        self.state().listener = None;
    }

    pub(super) fn lose(self: &Arc<Self>) -> LostConnection {
        let mut state = self.state();
        state.lost += 1;
        if state.lost == 1 {
            state.tell(ConnectionChange::Lost);
        }
        LostConnection(Arc::clone(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&self, change: ConnectionChange) {
        if let Some(listener) = &self.listener {
            // It may have gone.
            let _gone = listener.send(change);
        }
    }
}

impl LostConnection {
    /// The process has another connection. Dropped without that, the process is gone.
    pub(super) fn resume(self) {
        let state = self.0.state();
        if state.lost == 1 {
            state.tell(ConnectionChange::Resumed);
        }
    }
}

impl Drop for LostConnection {
    fn drop(&mut self) {
        self.0.state().lost -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_processes_lose_is_told_once() {
        let changes = Arc::new(ConnectionChanges::default());
        drop(changes.lose());
        let told = changes.listen();
        let (one, two) = (changes.lose(), changes.lose());
        one.resume();
        two.resume();
        drop(changes.lose());
        changes.end();
        changes.lose().resume();
        let (lost, resumed) = (ConnectionChange::Lost, ConnectionChange::Resumed);
        assert_eq!(told.iter().collect::<Vec<_>>(), [lost, resumed, lost]);
    }
}

//! `ConnectionNews`: tells that the connections of a container's processes are lost, and that they
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
pub(crate) struct ConnectionNews(Mutex<News>);

#[derive(Debug, Default)]
struct News {
    lost: usize,
    listener: Option<Sender<ConnectionChange>>,
}

/// A process without a connection.
pub(super) struct LostConnection(Arc<ConnectionNews>);

impl ConnectionNews {
    /// Returns what changes from here on; it ends with [`Self::end`].
    pub(crate) fn listen(&self) -> Receiver<ConnectionChange> {
        let (listener, changes) = channel();
        self.news().listener = Some(listener);
        changes
    }

    pub(crate) fn end(&self) {
        self.news().listener = None;
    }

    pub(super) fn lose(self: &Arc<Self>) -> LostConnection {
        let mut news = self.news();
        news.lost += 1;
        if news.lost == 1 {
            news.tell(ConnectionChange::Lost);
        }
        LostConnection(Arc::clone(self))
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl News {
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
        let news = self.0.news();
        if news.lost == 1 {
            news.tell(ConnectionChange::Resumed);
        }
    }
}

impl Drop for LostConnection {
    fn drop(&mut self) {
        self.0.news().lost -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_processes_lose_is_told_once() {
        let news = Arc::new(ConnectionNews::default());
        drop(news.lose());
        let changes = news.listen();
        let (one, two) = (news.lose(), news.lose());
        one.resume();
        two.resume();
        drop(news.lose());
        news.end();
        news.lose().resume();
        let (lost, resumed) = (ConnectionChange::Lost, ConnectionChange::Resumed);
        assert_eq!(changes.iter().collect::<Vec<_>>(), [lost, resumed, lost]);
    }
}

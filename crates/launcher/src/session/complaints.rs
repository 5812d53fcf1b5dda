//! `Complaints`: what a process of ours says on stderr, read beside its streams.

use std::io::Read;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::populate::{STDERR_CAP, read_capped};

/// They end with the process; nobody has to wait for them.
#[derive(Debug)]
pub(super) struct Complaints(Receiver<Vec<u8>>);

impl Complaints {
    /// Begins to read.
    pub(super) fn of(stderr: impl Read + Send + 'static) -> Self {
        let (complain, complaints) = mpsc::channel();
        // Not joined: it ends with the process.
        thread::spawn(move || {
            let said = read_capped(stderr, STDERR_CAP).unwrap_or_default();
            let _unheard = complain.send(said);
        });
        Self(complaints)
    }

    /// Waits until all was said, for that long at most; as much of it as is kept.
    ///
    /// # Errors
    /// When the process has not ended by then.
    pub(super) fn within(&self, limit: Duration) -> Result<Vec<u8>, RecvTimeoutError> {
        self.0.recv_timeout(limit)
    }
}

//! `EventLog`: reports events to the launcher, whole lines in order.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use lazaret_egress::Event;

/// Reports events to the launcher, whole lines in order.
///
/// [`EventLog::append`] returns after the line is written and flushed, so the launcher can know
/// of everything before it happens.
pub struct EventLog {
    output: Mutex<Box<dyn Write + Send>>,
    last: AtomicU64,
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl EventLog {
    /// Writes to `output`.
    pub fn new(output: Box<dyn Write + Send>) -> Self {
        Self {
            output: Mutex::new(output),
            last: AtomicU64::new(0),
        }
    }

    /// Returns the number of the next connection, from 1.
    pub fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes one event and flushes it.
    ///
    /// # Errors
    ///
    /// The launcher does not read: the caller passes nothing on that it could not report.
    pub fn append(&self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(&line)?;
        output.flush()
    }
}

/// Returns the milliseconds since 1970, by this machine's clock.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

//! `wait_past`: no later write shares a tick with an earlier one.

use std::time::{Duration, Instant};

use lazaret_protocol::FileTime;
use rustix::time::{ClockId, clock_gettime};

/// The coarse clock moves every 1 to 10 ms; it stands behind only when it was set back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until the clock that file systems take their times from has passed every one of
/// `ctimes`: a write after this cannot share a tick with one before, and so moves ctime.
///
/// Gives up after a second: then the clock was set back, and an equal time to the nanosecond
/// would be chance.
pub(crate) fn wait_past(ctimes: impl Iterator<Item = FileTime>) {
    let Some(newest) = ctimes.max() else { return };
    let start = Instant::now();
    loop {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let now = FileTime {
            seconds: now.tv_sec,
            nanos: u32::try_from(now.tv_nsec).unwrap_or(0),
        };
        if now > newest || start.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

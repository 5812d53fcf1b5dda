//! The clock that file systems take their times from.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Waits until that clock has passed this moment: what is written after this shares no time
/// with anything that was written before.
///
/// Times come from the coarse clock, or from the fine one where a file is looked at often
/// (multigrain timestamps, Linux 6.13), which is ahead of it by up to a tick.
pub fn wait_past_tick() {
    let now = clock_gettime(ClockId::Realtime);
    let is_past = || {
        let coarse = clock_gettime(ClockId::RealtimeCoarse);
        (coarse.tv_sec, coarse.tv_nsec) > (now.tv_sec, now.tv_nsec)
    };
    while !is_past() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

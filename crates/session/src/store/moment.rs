//! `Moment`: a point in time from which an age can be told although clocks are set.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// Changes whenever the machine is started (random(4)).
#[cfg(target_os = "linux")]
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A point in time, by two clocks.
///
/// The wall clock goes on over restarts, and can be set. The clock that counts since the
/// machine was started, suspended time included (`CLOCK_BOOTTIME`, clock_gettime(2)), can't be
/// set: where both moments are of one start, it alone counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Seconds since 1970.
    pub unix: u64,
    /// The same by the other clock; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime: Option<Uptime>,
}

/// Seconds since the machine was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uptime {
    /// Which start it was.
    pub boot: String,
    /// How long ago.
    pub seconds: u64,
}

impl Moment {
    /// Reads both clocks.
    pub fn now() -> Self {
        Self {
            uptime: Uptime::now(),
            ..Self::at(SystemTime::now())
        }
    }

    /// Makes one that only the wall clock tells, such as the time of a file.
    pub fn at(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Self {
            unix: since.map_or(0, |since| since.as_secs()),
            uptime: None,
        }
    }

    /// Returns the later of this and a time in seconds since 1970: what is known to have
    /// happened before corrects a wall clock that was set back.
    #[must_use]
    pub fn not_before(self, unix: u64) -> Self {
        Self {
            unix: self.unix.max(unix),
            ..self
        }
    }

    /// Returns how long before `now` it was; nothing where it seems to be later.
    pub fn age(&self, now: &Self) -> Duration {
        let seconds = match (&self.uptime, &now.uptime) {
            (Some(then), Some(now)) if then.boot == now.boot => {
                now.seconds.saturating_sub(then.seconds)
            }
            _ => now.unix.saturating_sub(self.unix),
        };
        Duration::from_secs(seconds)
    }
}

impl Uptime {
    #[cfg(target_os = "linux")]
    fn now() -> Option<Self> {
        let boot = std::fs::read_to_string(BOOT_ID).ok()?;
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Some(Self {
            boot: boot.trim_end().to_owned(),
            seconds: u64::try_from(time.tv_sec).ok()?,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(unix: u64, boot: &str, seconds: u64) -> Moment {
        let boot = boot.to_owned();
        Moment {
            unix,
            uptime: Some(Uptime { boot, seconds }),
        }
    }

    #[test]
    fn app_30_a_clock_that_is_set_makes_nothing_older() {
        const DAY: u64 = 86_400;
        let days = |days| Duration::from_secs(days * DAY);
        let settled = moment(1_000 * DAY, "a", DAY);
        // Within one start of the machine the wall clock has no say.
        for wall in [0, 900 * DAY, 1_001 * DAY, 90_000 * DAY] {
            assert_eq!(settled.age(&moment(wall, "a", 2 * DAY)), days(1));
        }
        // Over a restart it has; set back, it says "just now".
        assert_eq!(settled.age(&moment(1_003 * DAY, "b", 5)), days(3));
        assert_eq!(settled.age(&moment(900 * DAY, "b", 5)), days(0));
        // A clock that was set back when it happened is corrected by what was before.
        let early = moment(DAY, "a", DAY).not_before(999 * DAY);
        assert_eq!(early.age(&moment(1_000 * DAY, "b", 5)), days(1));
        let by_wall = Moment::at(SystemTime::UNIX_EPOCH + days(998));
        assert_eq!(by_wall.age(&settled), days(2));
    }

    #[test]
    fn app_30_both_clocks_are_read() {
        let (first, second) = (Moment::now(), Moment::now());
        assert!(second.unix >= first.unix && first.unix > 1_700_000_000);
        assert_eq!(first.uptime.is_some(), cfg!(target_os = "linux"));
        assert!(first.age(&second) < Duration::from_secs(60));
        assert_eq!(
            second.age(&Moment::at(SystemTime::UNIX_EPOCH)),
            Duration::ZERO
        );
    }
}

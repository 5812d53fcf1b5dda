//! `Times`: which modification time a file gets that an update brings.
//!
//! Build tools compare the time of a source with that of what was built of it. So nothing that
//! an update brings may be older than a product inside, whatever its time on the host: it may
//! have been edited before the build and sent after it, or replaced by an old file. The host's
//! times still count where they say more: among the files of one update, and for git, whose
//! index knows them.

use std::time::Duration;

use lazaret_protocol::FileTime;
use lazaret_tree::{RelPath, is_git_index};
use rustix::time::{ClockId, clock_gettime};

const SECOND: i128 = 1_000_000_000;
/// Times that are moved get within this of the moment that they are moved to, in nanoseconds.
const SPAN: u64 = 1 << 23;
/// The longest tick of the clock that file systems take their times from, in nanoseconds.
const TICK: u64 = 10_000_000;
/// [`Times::GAP`], in nanoseconds.
const GAP: u64 = 20_000_000;
const _: () = assert!(SPAN + TICK < GAP);
/// The clocks of a host and of a virtual machine on it are no further apart.
const MARGIN: i128 = 2 * SECOND;

/// How an update times what it brings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// In nanoseconds since 1970. Nothing inside is newer, but for what the agent gave a time
    /// in the future. What is older on the host is moved here.
    moment: i128,
}

impl Times {
    /// From the last moment at which the agent can have written, to the earliest one that times
    /// are moved to: [`SPAN`] and [`TICK`].
    pub(super) const GAP: Duration = Duration::from_nanos(GAP);

    /// Chooses the moment: just after the agent's last process had ended, if that is known,
    /// so that the host's later times stay what they are; else now.
    pub(super) fn choose(quiet_since: Option<FileTime>) -> Self {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let now = i128::from(now.tv_sec) * SECOND + i128::from(now.tv_nsec);
        Self::at(now, quiet_since)
    }

    fn at(now: i128, quiet_since: Option<FileTime>) -> Self {
        let moment = match quiet_since.map(nanos) {
            // A clock that was set back is before the end of the agent's last process.
            Some(quiet) => now.clamp(quiet + i128::from(GAP), quiet + MARGIN),
            None => now,
        };
        Self { moment }
    }

    /// Returns the time for a file that has `sent` on the host.
    ///
    /// Of two files of one update, the newer one stays the newer one, as far as nanoseconds
    /// can tell: at an age of an hour, to 30 ms.
    pub(super) fn of(self, path: &RelPath, sent: FileTime) -> FileTime {
        let (host, moment) = (nanos(sent), self.moment);
        // A later time would have git believe entries of the index that it has to look into.
        if host > moment || is_git_index(path) {
            return sent;
        }
        let age = u64::try_from(moment - host).unwrap_or(u64::MAX);
        time(moment - i128::from(shorten(age)))
    }
}

/// Maps any age to one below [`SPAN`], and no older one to a younger one: as a floating-point
/// number does, by the place of the first bit and the 17 bits behind it.
///
/// Two ages that differ by more than 1 part in 131,072 stay apart.
fn shorten(age: u64) -> u64 {
    const BITS: u32 = 17;
    let exponent = age.checked_ilog2().unwrap_or(0);
    let Some(places) = exponent.checked_sub(BITS) else {
        return age;
    };
    // What is left of the age has its first bit set, so each place follows on the one before.
    (u64::from(places) << BITS) + (age >> places)
}

fn nanos(time: FileTime) -> i128 {
    i128::from(time.seconds) * SECOND + i128::from(time.nanos)
}

fn time(nanos: i128) -> FileTime {
    FileTime {
        seconds: i64::try_from(nanos.div_euclid(SECOND)).unwrap_or(i64::MAX),
        nanos: u32::try_from(nanos.rem_euclid(SECOND)).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: i128 = super::GAP as i128;
    const HOUR: i128 = 3600 * SECOND;
    /// When the agent's last process ended.
    const QUIET: i128 = 1_790_000_000 * SECOND + 123_456_789;

    fn path(text: &str) -> &RelPath {
        RelPath::new(text).unwrap()
    }

    fn of(times: Times, host: i128) -> i128 {
        nanos(times.of(path("a.c"), time(host)))
    }

    #[test]
    fn ages_keep_their_order_within_the_span() {
        let mut last = 0;
        let ages = (0..64).flat_map(|bit| {
            let bit = 1_u64 << bit;
            [bit.saturating_sub(1), bit, bit + bit / 3, bit + bit / 2]
        });
        for age in ages.chain([u64::MAX]) {
            let shortened = shorten(age);
            assert!(shortened >= last, "{age}");
            assert!(shortened < SPAN, "{age}");
            last = shortened;
        }
        for age in (1 << 17)..(1 << 19) {
            assert!(shorten(age) >= shorten(age - 1), "{age}");
        }
    }

    #[test]
    fn what_arrives_is_newer_than_whatever_was_built() {
        for now in [QUIET - HOUR, QUIET, QUIET + SECOND, QUIET + 24 * HOUR] {
            let times = Times::at(now, Some(time(QUIET)));
            for host in [
                0,
                QUIET - 300 * HOUR,
                QUIET - 1,
                QUIET,
                QUIET + GAP,
                QUIET + 9 * HOUR,
            ] {
                assert!(of(times, host) > QUIET, "{now} {host}");
            }
        }
        // Of a paused command it is known that it has been for a while.
        let times = Times::at(QUIET + GAP, None);
        for host in [0, QUIET - 1, QUIET + 1] {
            assert!(of(times, host) > QUIET, "{host}");
            assert!(of(times, host) <= QUIET + GAP, "{host}");
        }
    }

    #[test]
    fn edits_after_the_end_keep_their_times() {
        let times = Times::at(QUIET + HOUR, Some(time(QUIET)));
        for edit in [QUIET + MARGIN + 1, QUIET + HOUR, QUIET + 99 * HOUR] {
            assert_eq!(of(times, edit), edit);
        }
        let index = time(QUIET - HOUR);
        assert_eq!(times.of(path(".git/modules/m/index"), index), index);
        assert_ne!(times.of(path("src/index"), index), index);
        assert_ne!(times.of(path(".git/HEAD"), index), index);
    }

    #[test]
    fn what_was_newer_on_the_host_is_newer_inside() {
        let times = Times::at(QUIET + HOUR, Some(time(QUIET)));
        let edits = [
            QUIET - 10_000 * HOUR,
            QUIET - HOUR,
            QUIET - HOUR + SECOND,
            QUIET - SECOND / 10,
            QUIET - SECOND / 20,
            QUIET,
            QUIET + SECOND / 100,
            QUIET + MARGIN,
            QUIET + MARGIN + 1,
            QUIET + HOUR,
        ];
        let inside = edits.map(|edit| of(times, edit));
        assert!(inside.is_sorted_by(|one, other| one < other), "{inside:?}");
    }
}

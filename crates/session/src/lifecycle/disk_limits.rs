//! `DiskLimits`: how much the volume of a session may hold, and when it is worth a walk.

use std::time::{Duration, Instant};

use lazaret_protocol::usage::Amount;
use serde::{Deserialize, Serialize};

use crate::porter::usage::{Counted, Unknown, UsageCounter};

/// Between two looks at what the file system has left.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// How much the volume of a session may hold: allocated blocks, and inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimits {
    /// The most bytes.
    pub bytes: u64,
    /// The most files, directories and everything else.
    pub inodes: u64,
}

/// What a volume has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskExcess {
    /// What it holds, at least.
    pub used: Amount,
    /// What it may hold.
    pub limits: DiskLimits,
    /// Which limit was found to be exceeded first.
    pub by: ExceededBy,
}

/// What is known of a volume, and what becomes of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskState {
    /// It holds that much.
    Counted(Amount),
    /// It holds too much, and its command is paused.
    Full(DiskExcess),
    /// The command is no longer paused: there is room, or it is being ended.
    Released,
    /// The command was paused for too long: its session is to be stopped.
    StaysFull,
}

/// A limit that a volume can exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceededBy {
    /// `limits.disk`.
    Bytes,
    /// `limits.inodes`.
    Inodes,
}

impl DiskLimits {
    /// Returns what a volume has too much of, if anything.
    pub(crate) fn exceeded(self, used: Amount) -> Option<DiskExcess> {
        let by = match used {
            Amount { bytes, .. } if bytes > self.bytes => ExceededBy::Bytes,
            Amount { inodes, .. } if inodes > self.inodes => ExceededBy::Inodes,
            _ => return None,
        };
        Some(DiskExcess {
            used,
            limits: self,
            by,
        })
    }

    /// Whether a volume may hold too much. Where directories were moved while it was counted, only
    /// a count while the command is paused can tell.
    pub(crate) fn may_be_exceeded(self, counted: Counted) -> bool {
        match counted {
            Counted::All(used) => self.exceeded(used).is_some(),
            Counted::AtLeast(_) => true,
        }
    }
}

/// What is known of a volume since its last walk.
///
/// Walking a large volume takes seconds, asking its file system what is left takes microseconds.
/// A volume holds at most what it held at its last walk, and what the file system has lost since
/// then, unless others made room there: so it is walked once a minute in any case.
#[derive(Debug)]
pub(crate) struct Estimate {
    held: Amount,
    free: Amount,
    walked: Instant,
    took: Duration,
}

impl Estimate {
    /// The longest time between two walks, unless a walk takes long.
    const LONGEST: Duration = Duration::from_secs(60);

    /// How much longer than a walk the time to the next one is: 5 % of a core at most, and 20 % of
    /// a volume that may be nearly full.
    const REST: u32 = 20;
    const REST_WHEN_NEAR: u32 = 4;

    /// Counts what the volumes hold. What the file system has left is asked first, so that what is
    /// written during the walk is not missed.
    ///
    /// # Errors
    /// The porter is gone, or makes no sense.
    pub(crate) fn count(counter: &mut UsageCounter) -> Result<(Counted, Self), Unknown> {
        let started = Instant::now();
        let free = counter.free()?;
        let counted = counter.walk()?;
        let estimate = Self::new(counted.amount(), free, started.elapsed());
        Ok((counted, estimate))
    }

    /// Takes down what a walk found that ends now.
    fn new(held: Amount, free: Amount, took: Duration) -> Self {
        Self {
            held,
            free,
            walked: Instant::now(),
            took,
        }
    }

    /// Whether the volume is to be walked again, when `free` is left.
    pub(crate) fn is_due(&self, free: Amount, limits: DiskLimits) -> bool {
        let rest = match self.may_be_near(free, limits) {
            true => self.took * Self::REST_WHEN_NEAR,
            false => Self::LONGEST.max(self.took * Self::REST),
        };
        self.walked.elapsed() >= rest
    }

    /// Whether it may hold nine tenths of what it may hold. A file system whose inodes are not
    /// counted may have made any number.
    fn may_be_near(&self, free: Amount, limits: DiskLimits) -> bool {
        let near = |limit: u64| limit - limit / 10;
        let most =
            |held: u64, before: u64, now: u64| held.saturating_add(before.saturating_sub(now));
        let bytes = most(self.held.bytes, self.free.bytes, free.bytes);
        let inodes = most(self.held.inodes, self.free.inodes, free.inodes);
        bytes > near(limits.bytes) || inodes > near(limits.inodes) || self.free.inodes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: DiskLimits = DiskLimits {
        bytes: 1000,
        inodes: 100,
    };

    fn amount(bytes: u64, inodes: u64) -> Amount {
        Amount { bytes, inodes }
    }

    #[test]
    fn con_28_a_volume_exceeds_either_limit() {
        for (bytes, inodes, found) in [
            (1000, 100, None),
            (1001, 100, Some(ExceededBy::Bytes)),
            (1000, 101, Some(ExceededBy::Inodes)),
            (1001, 101, Some(ExceededBy::Bytes)),
        ] {
            let excess = LIMITS.exceeded(amount(bytes, inodes));
            assert_eq!(excess.map(|excess| excess.by), found);
        }
    }

    #[test]
    fn a_volume_is_walked_when_it_may_be_nearly_full() {
        let walked = Estimate::new(amount(500, 50), amount(10_000, 10_000), Duration::ZERO);
        for (free, is_due) in [
            (amount(10_000, 10_000), false),
            // Others made room.
            (amount(20_000, 20_000), false),
            (amount(9_600, 9_960), false),
            (amount(9_599, 10_000), true),
            (amount(10_000, 9_959), true),
        ] {
            assert_eq!(walked.is_due(free, LIMITS), is_due, "{free:?}");
        }
    }

    #[test]
    fn a_walk_that_takes_long_is_not_repeated_at_once() {
        let hour = Duration::from_secs(3600);
        let walked = Estimate::new(amount(999, 0), amount(10_000, 10_000), hour);
        assert!(!walked.is_due(amount(0, 0), LIMITS));
    }

    #[test]
    fn a_file_system_that_counts_no_inodes_is_walked_often() {
        let walked = Estimate::new(amount(0, 0), amount(10_000, 0), Duration::ZERO);
        assert!(walked.is_due(amount(10_000, 0), LIMITS));
    }
}

//! `[limits]`: what a container may use, and for how long.

use std::time::Duration;

use super::LimitRules;
use super::raw::RawLimits;
use super::source::{ProfileError, Source};
use super::units::{ByteSize, Span};
use super::values::{LEAST_MEMORY, LEAST_PIDS};

impl LimitRules {
    /// What holds when a profile says nothing.
    pub(super) const DEFAULT: Self = Self {
        memory: 4 << 30,
        cpus: 2.0,
        pids: 4096,
        tmp: 512 << 20,
        timeout: Duration::from_secs(5 * 60),
        idle: Duration::from_secs(12 * 3600),
        life: Duration::from_secs(14 * 24 * 3600),
        disk: 20 << 30,
        inodes: 1_000_000,
    };
}

/// Reads `[limits]` over `base`.
pub(super) fn limits(
    source: &Source<'_>,
    raw: &RawLimits,
    base: &LimitRules,
) -> Result<LimitRules, ProfileError> {
    let size = |value: &Option<toml::Spanned<ByteSize>>, default: u64| {
        value.as_ref().map_or(default, |value| value.get_ref().0)
    };
    let span = |value: &Option<toml::Spanned<Span>>, default: Duration| {
        value.as_ref().map_or(default, |value| value.get_ref().0)
    };
    let limits = LimitRules {
        memory: size(&raw.memory, base.memory),
        cpus: raw.cpus.as_ref().map_or(base.cpus, |cpus| cpus.get_ref().0),
        pids: raw.pids.as_ref().map_or(base.pids, |pids| pids.get_ref().0),
        tmp: size(&raw.tmp, base.tmp),
        timeout: span(&raw.timeout, base.timeout),
        idle: span(&raw.idle, base.idle),
        life: span(&raw.life, base.life),
        disk: size(&raw.disk, base.disk),
        inodes: (raw.inodes.as_ref()).map_or(base.inodes, |inodes| inodes.get_ref().0),
    };
    if let Some(memory) = raw
        .memory
        .as_ref()
        .filter(|memory| memory.get_ref().0 < LEAST_MEMORY)
    {
        return Err(source.error(
            &memory.span(),
            &format!(
                "`limits.memory`: found {}, expected at least {}",
                memory.get_ref(),
                ByteSize(LEAST_MEMORY)
            ),
        ));
    }
    if let Some(pids) = raw
        .pids
        .as_ref()
        .filter(|pids| pids.get_ref().0 < LEAST_PIDS)
    {
        return Err(source.error(
            &pids.span(),
            &format!(
                "`limits.pids`: found {}, expected at least {LEAST_PIDS}",
                pids.get_ref().0
            ),
        ));
    }
    if let Some(tmp) = raw.tmp.as_ref().filter(|tmp| tmp.get_ref().0 == 0) {
        return Err(source.error(&tmp.span(), "`limits.tmp`: found 0, expected at least 1"));
    }
    // A tmpfs is memory: what is larger could never be filled. A default follows instead.
    let Some(tmp) = &raw.tmp else {
        return Ok(LimitRules {
            tmp: limits.tmp.min(limits.memory / 2),
            ..limits
        });
    };
    if limits.tmp > limits.memory {
        return Err(source.error(
            &tmp.span(),
            &format!(
                "`limits.tmp` ({}) is more than `limits.memory` ({}), of which it is a part",
                ByteSize(limits.tmp),
                ByteSize(limits.memory)
            ),
        ));
    }
    Ok(limits)
}

//! `Budget`: how much all tunnels of a gateway may carry (NET-14).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazaret_egress::Denied;

/// How much all tunnels together may carry, and how long one may carry nothing.
#[derive(Debug)]
pub struct Budget {
    /// The longest time without a byte in either direction.
    pub idle: Duration,
    /// Bytes that clients may still send.
    pub sent: AtomicU64,
    /// Bytes that they may still receive.
    pub received: AtomicU64,
}

impl Budget {
    /// Returns a budget without limits, for a relay: the gateway has one.
    pub fn unlimited() -> Self {
        Self {
            idle: Duration::MAX,
            sent: AtomicU64::new(u64::MAX),
            received: AtomicU64::new(u64::MAX),
        }
    }

    /// Takes some of what is left.
    ///
    /// # Errors
    ///
    /// [`Denied::Bytes`] if less is left; then nothing is left for any tunnel.
    pub fn take(left: &AtomicU64, count: usize) -> Result<(), Denied> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(count)
        });
        match taken {
            Ok(_) => Ok(()),
            Err(_) => {
                left.store(0, Ordering::Relaxed);
                Err(Denied::Bytes)
            }
        }
    }
}

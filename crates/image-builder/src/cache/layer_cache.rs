//! The one protocol of the cache: lock, reuse what is young enough, else make it anew, else
//! keep the old with a warning.

use std::fmt::Display;
use std::time::Duration;

use super::entry::{Aged, CacheEntry, CacheError, CacheLock};
use crate::BuildEvent;

/// Something that the cache keeps in one entry: a layer, or the layers of a base.
pub(crate) trait Cached {
    /// What is returned of it.
    type Value;
    /// Why it can't be made.
    type Error: Display + From<CacheError>;

    /// The image that it is for, for events.
    fn image(&self) -> &str;

    /// Where it is kept.
    fn entry(&self) -> CacheEntry<'_>;

    /// Returns what the entry holds, if that is whole.
    fn load(&self) -> Option<Aged<Self::Value>>;

    /// Makes it and puts it into the entry.
    ///
    /// # Errors
    /// The entry holds what it held before.
    fn make(
        &self,
        lock: &CacheLock,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Self::Value, Self::Error>;
}

/// Returns `wanted` from the cache, or makes it if it is missing or older than `max_age`.
///
/// If what is there is too old and can't be made anew, it is kept, [`BuildEvent::KeptOld`] says
/// why, and nothing is tried for an hour.
///
/// # Errors
/// It is not there and can't be made.
pub(crate) fn ensure<C: Cached>(
    wanted: &C,
    max_age: Option<Duration>,
    on_event: &mut dyn FnMut(BuildEvent),
) -> Result<Aged<C::Value>, C::Error> {
    let image = || wanted.image().to_owned();
    let entry = wanted.entry();
    let lock = entry.lock(|| on_event(BuildEvent::WaitingForOther { image: image() }))?;
    let cached = match wanted.load() {
        Some(found)
            if max_age.is_none_or(|max_age| found.age <= max_age) || entry.tried_lately() =>
        {
            return Ok(found);
        }
        cached => cached,
    };
    match (wanted.make(&lock, on_event), cached) {
        (Ok(value), _) => Ok(Aged {
            value,
            age: Duration::ZERO,
        }),
        (Err(error), Some(old)) => {
            entry.note_try()?;
            on_event(BuildEvent::KeptOld {
                image: image(),
                reason: error.to_string(),
            });
            Ok(old)
        }
        (Err(error), None) => Err(error),
    }
}

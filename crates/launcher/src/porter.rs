//! The porter: the static program that every image carries, embedded at build time.

use crate::failure::{Failure, FailureKind};

/// Embedded by `build.rs` from the file that `LAZARET_PORTER` names; else empty.
static PORTER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/porter"));

/// What to do when it is missing.
pub(crate) const HOW_TO_BUILD: &str = "Build lazaret with `cargo xtask image` or `cargo xtask \
    dist`, which build the porter first; or set LAZARET_PORTER to the static porter and build again.";

/// Returns the porter's bytes.
///
/// # Errors
/// When this `lazaret` was built without it.
pub fn bytes() -> Result<&'static [u8], Failure> {
    if PORTER.is_empty() {
        return Err(Failure::message(
            FailureKind::Image,
            "this lazaret was built without its porter, the program that moves files in containers",
        )
        .hinted(HOW_TO_BUILD));
    }
    Ok(PORTER)
}

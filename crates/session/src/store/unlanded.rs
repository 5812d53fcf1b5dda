//! What was committed in a copy, and not brought out.

use std::io::Read as _;

use lazaret_transfer::{BlobStore, Tips, VolumeState, new_refs};
use lazaret_tree::{Digest, Tree};

pub use lazaret_gate::unlanded::Unlanded;

/// Finds what lies in a volume that was just collected.
pub(crate) fn find(
    baseline: &Tree,
    volume: &VolumeState,
    tips: &Tips,
    quarantine: &BlobStore,
) -> Unlanded {
    let text = |digest: &Digest, size: u64| {
        let mut bytes = Vec::new();
        let mut blob = quarantine.blob(digest, size).ok()?;
        blob.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    new_refs(baseline, volume, tips, &text).into()
}

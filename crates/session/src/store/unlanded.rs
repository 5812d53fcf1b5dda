//! What was committed in a copy, and not brought out.

use std::io::Read as _;

use lazaret_transfer::{BlobStore, OwnWork, Tips, VolumeState, new_refs, own_work};
use lazaret_tree::{Digest, Tree};

pub use lazaret_gate::unlanded::Unlanded;

/// What the repository of a copy names that its workspace's did not send.
pub(crate) struct FoundWork {
    /// What the user's repository lacks.
    pub(crate) unlanded: Unlanded,
    /// All of it; `None` if that can't be told.
    pub(crate) own: Option<OwnWork>,
}

/// Finds what lies in a volume that was just collected.
pub(crate) fn find(
    baseline: &Tree,
    volume: &VolumeState,
    tips: &Tips,
    quarantine: &BlobStore,
) -> FoundWork {
    let text = |digest: &Digest, size: u64| {
        let mut bytes = Vec::new();
        let mut blob = quarantine.blob(digest, size).ok()?;
        blob.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    FoundWork {
        unlanded: new_refs(baseline, volume, tips, &text).into(),
        own: own_work(baseline, volume, tips, &text),
    }
}

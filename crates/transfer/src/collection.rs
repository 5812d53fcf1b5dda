//! `Collection`: what came out of a session, before its contents are fetched.

use lazaret_protocol::Wanted;
use lazaret_tree::{Adjustment, Entry, RejectedEntry, RelPathBuf, Tree, escape};

use crate::Skipped;

/// What the volume holds now, as far as lazaret carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// What lies in the volume and is carried. What stays behind, and
    /// everything below it, is as it was in the baseline: what cannot be carried
    /// is neither a change nor a deletion.
    pub tree: Tree,
    /// What lies in the volume and is not carried.
    pub refusals: Vec<RejectedEntry>,
    /// Cache directories that appeared: as on the way in, they stay where they are.
    pub left_out: Vec<Skipped>,
    /// What was made safe: `mode.special`, `link.hard`.
    pub notes: Vec<Adjustment>,
}

/// A blob that did not arrive as it was announced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: what was sent is not what was surveyed", escape(.path.as_str().as_bytes()))]
pub struct SurveyMismatch {
    /// Where.
    pub path: RelPathBuf,
}

/// Compares what arrived with what was asked for.
///
/// # Errors
/// The first file that is missing, or has other bytes.
pub fn verify_received(wanted: &[Wanted], arrived: &Tree) -> Result<(), SurveyMismatch> {
    for Wanted {
        path,
        identity,
        digest,
    } in wanted
    {
        match arrived.get(path) {
            Some(Entry::File {
                size,
                digest: arrived,
                ..
            }) if *size == identity.size && digest.is_none_or(|digest| digest == *arrived) => {}
            _ => return Err(SurveyMismatch { path: path.clone() }),
        }
    }
    Ok(())
}

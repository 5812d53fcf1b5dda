//! `walk_untrusted`: reads a directory that is not trusted into its manifest.

use lazaret_protocol::StreamLimits;
use lazaret_tree::{Adjustment, RejectedEntry, Tree, finding_code};

use super::limiter::Limiter;
use super::tree_builder::{BuildOptions, build_tree};
use super::{WalkError, hash_threads};
use crate::{FileSelector, SkipReason, Skipped, WorkspaceDir};

/// A directory, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedTree {
    /// What can be carried.
    pub tree: Tree,
    /// What can't: FIFOs, sockets, devices, other file systems, odd names and targets.
    pub refusals: Vec<RejectedEntry>,
    /// What an apply would make safe: `mode.special`.
    pub notes: Vec<Adjustment>,
    /// What the selector leaves out.
    pub left_out: Vec<Skipped>,
}

/// Reads everything below `root` that `selector` takes in, by the same walk as
/// [`walk`](super::walk), and what can't be carried becomes a refusal.
///
/// `limits` hold for what `known` does not have: entries at other paths, and files of
/// another size. So a hostile directory costs no more than they say, and a large one that
/// is as it was is no attack. Nothing is read of a file before its size was counted.
///
/// # Errors
/// The first entry that can't be read or that changes while it is read, or a limit.
pub fn walk_untrusted(
    root: &WorkspaceDir,
    selector: &FileSelector,
    known: &Tree,
    limits: StreamLimits,
) -> Result<UntrustedTree, WalkError> {
    let options = BuildOptions {
        threads: Some(hash_threads()),
        cache: None,
        limiter: Some(Limiter::new(known, limits)),
    };
    let built = build_tree(root, selector, options)?;
    let mut untrusted = UntrustedTree {
        tree: built.tree,
        refusals: Vec::new(),
        notes: built.notes,
        left_out: Vec::new(),
    };
    for skip in built.skipped {
        match refusal(&skip) {
            Kept::Refused(refusal) => untrusted.refusals.push(refusal),
            Kept::LeftOut => untrusted.left_out.push(skip),
            Kept::Silent => {}
        }
    }
    Ok(untrusted)
}

/// What becomes of something that the walk did not take.
enum Kept {
    Refused(RejectedEntry),
    LeftOut,
    Silent,
}

fn refusal(skip: &Skipped) -> Kept {
    let code = match skip.reason {
        SkipReason::GitPart => return Kept::Silent,
        SkipReason::Mount => finding_code::TYPE_MOUNT,
        SkipReason::Target(error) => error.code(),
        SkipReason::Fifo => finding_code::TYPE_FIFO,
        SkipReason::Socket => finding_code::TYPE_SOCKET,
        SkipReason::Device => finding_code::TYPE_DEVICE,
        SkipReason::Unknown => finding_code::TYPE_UNKNOWN,
        SkipReason::Name(error) => error.code(),
        SkipReason::Secret
        | SkipReason::LikelySecret
        | SkipReason::PrivateKey
        | SkipReason::Cache
        | SkipReason::LazaretIgnore
        | SkipReason::GitIgnore
        | SkipReason::Profile
        | SkipReason::Elsewhere
        | SkipReason::GitNone
        | SkipReason::GitNested
        | SkipReason::GitFile
        | SkipReason::Git(_)
        | SkipReason::GitShallow
        | SkipReason::GitPartial
        | SkipReason::Reserved => return Kept::LeftOut,
    };
    Kept::Refused(RejectedEntry::new(
        skip.name.clone(),
        code,
        skip.reason.to_string(),
    ))
}

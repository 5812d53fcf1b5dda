//! A candidate, read: a directory or an archive into a tree and a quarantine.

use std::io::{self, Read};

use lazaret_protocol::{StreamError, StreamLimits};
use lazaret_transfer::{
    BlobStore, BlobStoreError, FileSelector, InsertError, Skipped, StreamEnd, UnpackError,
    UntrustedTree, WalkError, WorkspaceDir, unpack, walk_untrusted,
};
use lazaret_tree::{Adjustment, Entry, RejectedEntry, RelPathBuf, Tree, escape};

/// Why a candidate can't be read.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// The directory can't be walked.
    #[error("the candidate can't be read")]
    Walk(#[source] WalkError),
    /// A file of it is not what it was a moment ago.
    #[error("{} changed while the candidate was read", escape(.path.as_str().as_bytes()))]
    Changed {
        /// Where.
        path: RelPathBuf,
    },
    /// A file of it can't be copied.
    #[error(transparent)]
    Copy(InsertError),
    /// The archive's reader fails.
    #[error("the candidate can't be read")]
    Archive(#[source] io::Error),
    /// Copies can't be kept.
    #[error(transparent)]
    Store(BlobStoreError),
}

/// What a candidate holds.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) tree: Tree,
    pub(super) refusals: Vec<RejectedEntry>,
    pub(super) notes: Vec<Adjustment>,
    pub(super) left_out: Vec<Skipped>,
}

/// The result of reading a candidate. The inner error rejects the candidate for what it holds;
/// the outer one says why it could not be read.
type Attempt = Result<Result<Collected, StreamError>, CandidateError>;

/// Reads a directory: first its manifest, then the contents of what the base does not have.
pub(super) fn of_dir(
    dir: &WorkspaceDir,
    selector: &FileSelector,
    base: &UntrustedTree,
    limits: StreamLimits,
    quarantine: &BlobStore,
) -> Attempt {
    let untrusted = match walk_untrusted(dir, selector, &base.tree, limits) {
        Ok(untrusted) => untrusted,
        Err(WalkError::Limit(limit)) => return Ok(Err(limit)),
        Err(error) => return Err(CandidateError::Walk(error)),
    };
    for (path, entry) in untrusted.tree.iter() {
        let Entry::File { size, digest, .. } = entry else {
            continue;
        };
        let known = matches!(base.tree.get(path),
            Some(Entry::File { digest: old, .. }) if old == digest);
        if known || path.components().next() == Some(".git") {
            continue;
        }
        let changed = || CandidateError::Changed {
            path: path.to_owned(),
        };
        let mut file = dir.open_file(path).map_err(|_| changed())?;
        let (inserted, _) = match quarantine.insert(&mut file, *size) {
            Ok(inserted) => inserted,
            Err(InsertError::TooBig { .. }) => return Err(changed()),
            Err(error) => return Err(CandidateError::Copy(error)),
        };
        if inserted != *digest {
            return Err(changed());
        }
    }
    let UntrustedTree {
        tree,
        refusals,
        notes,
        left_out,
    } = untrusted;
    Ok(Ok(Collected {
        tree,
        refusals,
        notes,
        left_out,
    }))
}

/// Reads an archive by the grammar of streams. Without a trailer nothing proves that its
/// writer had finished; the end mark proves that the archive had.
pub(super) fn of_tar(
    reader: &mut dyn Read,
    selector: &FileSelector,
    limits: StreamLimits,
    quarantine: &BlobStore,
) -> Attempt {
    let mut reader = io::BufReader::with_capacity(64 << 10, reader);
    let unpacked = match unpack(&mut reader, limits, quarantine, StreamEnd::Plain) {
        Ok(unpacked) => unpacked,
        Err(UnpackError::Stream(StreamError::Read(error))) => {
            return Err(CandidateError::Archive(error));
        }
        Err(UnpackError::Store(error)) => return Err(CandidateError::Store(error)),
        Err(UnpackError::Stream(lie)) => return Ok(Err(lie)),
    };
    let (tree, left_out) = selector.filter(unpacked.tree);
    Ok(Ok(Collected {
        tree,
        refusals: unpacked.refusals,
        notes: unpacked.notes,
        left_out,
    }))
}

//! A candidate, read: a directory or an archive into a tree and a quarantine.

use std::io::{self, Read};

use lazaret_protocol::{StreamError, StreamLimits};
use lazaret_transfer::{
    Ending, Quarantine, ScanError, Scanned, Selector, Skipped, UnpackError, WorkspaceDir, scan,
    unpack,
};
use lazaret_tree::{Entry, Note, Refusal, Tree, escape};

use crate::failure::{Failure, FailureKind};

/// What a candidate holds.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) tree: Tree,
    pub(super) refusals: Vec<Refusal>,
    pub(super) notes: Vec<Note>,
    pub(super) left_out: Vec<Skipped>,
}

/// What came of reading one: a candidate that lies is rejected, a failure is nobody's lie.
type Attempt = Result<Result<Collected, StreamError>, Failure>;

/// Reads a directory: first its manifest, then the contents of what the base does not have.
pub(super) fn of_dir(
    dir: &WorkspaceDir,
    selector: &Selector,
    base: &Scanned,
    limits: StreamLimits,
    quarantine: &Quarantine,
) -> Attempt {
    let scanned = match scan(dir, selector, &base.tree, limits) {
        Ok(scanned) => scanned,
        Err(ScanError::Limit(limit)) => return Ok(Err(limit)),
        Err(ScanError::Walk(error)) => {
            return Err(Failure::from(error).context("the candidate can't be read"));
        }
    };
    for (path, entry) in scanned.tree.iter() {
        let Entry::File { size, digest, .. } = entry else {
            continue;
        };
        let known = matches!(base.tree.get(path),
            Some(Entry::File { digest: old, .. }) if old == digest);
        if known || path.components().next() == Some(".git") {
            continue;
        }
        let changed = || {
            let name = escape(path.as_str().as_bytes());
            let text = format!("{name} changed while the candidate was read");
            Failure::message(FailureKind::Refused, text)
                .hinted("Nothing may write to the candidate while it is judged.")
        };
        let mut file = dir.open_file(path).map_err(|_| changed())?;
        let (inserted, _) = match quarantine.insert(&mut file, *size) {
            Ok(inserted) => inserted,
            Err(lazaret_transfer::InsertError::TooBig { .. }) => return Err(changed()),
            Err(error) => return Err(error.into()),
        };
        if inserted != *digest {
            return Err(changed());
        }
    }
    let Scanned {
        tree,
        refusals,
        notes,
        left_out,
    } = scanned;
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
    selector: &Selector,
    limits: StreamLimits,
    quarantine: &Quarantine,
) -> Attempt {
    let mut reader = io::BufReader::with_capacity(64 << 10, reader);
    let unpacked = match unpack(&mut reader, limits, quarantine, Ending::Plain) {
        Ok(unpacked) => unpacked,
        Err(UnpackError::Stream(StreamError::Read(error))) => {
            return Err(
                Failure::new(FailureKind::Transfer, error).context("the candidate can't be read")
            );
        }
        Err(UnpackError::Store(error)) => return Err(error.into()),
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

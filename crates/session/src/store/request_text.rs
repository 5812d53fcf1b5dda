//! The text of a pull request that a command left behind, kept in its session.
//!
//! It outlives the quarantine, so a request can be opened once the session is settled.

use std::fs::File;
use std::io::Read as _;

use lazaret_transfer::{BlobStore, BlobStoreError};
use lazaret_tree::{AtPath as _, Entry, PathError};

use crate::store::SessionDir;
use crate::store::file::{ok_if_absent, remove_file, write_atomically};
use crate::store::record::Record;
use crate::store::sync_state::SyncState;

/// The most bytes that such a file may have. One more is kept of a larger file, to tell.
pub const MAX_BYTES: u64 = 256 << 10;

const NAME: &str = "pull-request.json";

/// Keeps what the command wrote at [`Record::pr_file`], as it is. A file that is as it was sent in
/// is not the command's; then, and if there is no regular file, nothing is kept, and what an
/// earlier command left is removed.
///
/// # Errors
/// When the quarantine is damaged, or the disk fails.
pub(crate) fn keep(
    dir: &SessionDir,
    record: &Record,
    SyncState { baseline, volume }: &SyncState,
    quarantine: &BlobStore,
) -> Result<(), BlobStoreError> {
    let kept = dir.file(NAME);
    let found = record.pr_file.as_deref().and_then(|path| {
        let entry = volume.get(path)?;
        (baseline.get(path) != Some(entry)).then_some(entry)
    });
    let Some(Entry::File { digest, size, .. }) = found else {
        return Ok(remove_file(&kept)?);
    };
    let mut text = Vec::new();
    let blob = quarantine.blob(digest, *size)?;
    blob.take(MAX_BYTES + 1).read_to_end(&mut text).at(&kept)?;
    Ok(write_atomically(&kept, &text)?)
}

/// Reads what was kept, at most [`MAX_BYTES`] and one; `None` if the command left nothing.
///
/// # Errors
/// The disk's.
pub fn read(dir: &SessionDir) -> Result<Option<Vec<u8>>, PathError> {
    let path = dir.file(NAME);
    let Some(file) = ok_if_absent(File::open(&path)).at(&path)? else {
        return Ok(None);
    };
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text).at(&path)?;
    Ok(Some(text))
}

//! `pack`: a workspace into a stream.

mod batch;
mod overlay;
mod read_stage;
mod subset;
mod write_stage;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::sync_channel;
use std::thread;

use lazaret_tree::{Digest, RelPath, is_git_index};
use rustix::fs::Stat;

use lazaret_protocol::{FileTime, Manifest, ManifestWriter, SendFileError, StreamWriter, Trailer};
pub use overlay::Overlay;
pub use subset::pack_subset;

use crate::walk::{Traversed, check_unchanged, in_order, mode, size, traverse};
use crate::{FileSelector, Skipped, StatCacheWriter, Tips, WalkError, WorkspaceDir};
use batch::{BATCHES, Batch};
use read_stage::{ReadStage, Stopped};
use write_stage::WriteStage;

/// How far a pack has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries sent or being sent.
    pub entries: u64,
    /// Bytes of file contents sent.
    pub bytes: u64,
}

/// A workspace, sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// What was sent: the baseline of the session.
    pub manifest: Manifest,
    /// What stayed behind, in path order.
    pub skipped: Vec<Skipped>,
    /// What the refs of the repositories name that were sent.
    pub tips: Tips,
    /// Bytes of file contents.
    pub bytes: u64,
    /// What the stream ended with; the receipt has to say the same.
    pub trailer: Trailer,
}

/// Why a stream is not complete. The other side sees it cut off and refuses it.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The workspace could not be read as one consistent tree.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The stream could not be written.
    #[error("the stream cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// Sends everything below `workspace` that `selector` takes in to `out`.
///
/// One walk, one read per file for contents and digest, no staging; beside the manifest
/// the memory does not grow. A thread of its own walks; reading and hashing is shared
/// with this one, which sends.
/// Hard links become files of their own, holes are sent as zeros, extended attributes and
/// owners are not sent. `progress` is called for each 256 KiB or less: return soon.
///
/// # Errors
/// The first entry that cannot be read or changes meanwhile, or a failing `out`.
pub fn pack(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
) -> Result<Packed, PackError> {
    send(workspace, selector, out, progress, None)
}

/// As [`pack`], and has `stats` remember what was read, so that it need not be read again.
///
/// # Errors
/// As [`pack`]; those of `stats` show at its own end.
pub fn pack_and_record(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
    stats: &mut StatCacheWriter<'_>,
) -> Result<Packed, PackError> {
    send(workspace, selector, out, progress, Some(stats))
}

fn send(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
    stats: Option<&mut StatCacheWriter<'_>>,
) -> Result<Packed, PackError> {
    let (full, filled) = sync_channel(BATCHES);
    let (empty, emptied) = sync_channel(BATCHES);
    let left = AtomicUsize::new(0);
    for _ in 0..BATCHES {
        // It has room for all of them.
        drop(empty.send(Batch::new()));
    }
    let mut manifest = Manifest::default();
    let mut write_stage = WriteStage::new(out, progress, stats, ManifestWriter::new(&mut manifest));
    let (walked, taken) = thread::scope(|scope| {
        let left = &left;
        let walking = scope.spawn(move || {
            let mut read_stage = ReadStage::new(full, emptied, left)?;
            let traversed = traverse(workspace, selector, &mut read_stage)?;
            read_stage.finish()?;
            Ok::<_, Stopped>(traversed)
        });
        let taken = write_stage.take_all(&filled, &empty, left);
        // A walk that waits on either channel finds it closed, and ends.
        drop((filled, empty));
        let walked = walking.join();
        (walked.unwrap_or_else(|panic| resume_unwind(panic)), taken)
    });
    let Traversed { skipped, tips } = match (walked, taken) {
        // What became of the workspace matters more than that the other side hung up.
        (Err(Stopped::Walk(error)), Ok(()) | Err(PackError::Write(_))) => return Err(error.into()),
        (_, Err(error)) => return Err(error),
        (Err(error), Ok(())) => {
            let error = io::Error::other(format!("the walk stopped: {error:?}"));
            return Err(PackError::Write(error));
        }
        (Ok(traversed), Ok(())) => traversed,
    };
    let skipped = in_order(skipped, write_stage.take_skipped());
    let trailer = write_stage.finish().map_err(PackError::Write)?;
    Ok(Packed {
        manifest,
        skipped,
        tips,
        bytes: trailer.bytes,
        trailer,
    })
}

/// Returns the time that a file is sent with.
///
/// That of a git index is rounded down to its second. Git takes an entry of the same second as
/// its index for one that may have changed since, and looks into the file; the copy's
/// configuration (`checkStat = minimal`) compares nothing finer than seconds.
fn mtime(path: &RelPath, stat: &Stat) -> FileTime {
    let mtime = FileTime::modified(stat);
    match is_git_index(path) {
        true => FileTime { nanos: 0, ..mtime },
        false => mtime,
    }
}

/// Sends an open file that is at its start. `progress` is told the bytes of each piece.
fn send_file(
    stream: &mut StreamWriter<&mut dyn Write>,
    path: &RelPath,
    file: &OwnedFd,
    stat: &Stat,
    progress: &mut dyn FnMut(u64),
) -> Result<Digest, PackError> {
    let name = path.as_str().as_bytes();
    let mut hasher = blake3::Hasher::new();
    let mut tee = |piece: &[u8]| {
        hasher.update(piece);
        progress(piece.len() as u64);
    };
    let sent = stream.file(
        path,
        mode(stat),
        size(stat),
        mtime(path, stat),
        file,
        &mut tee,
    );
    sent.map_err(|error| match error {
        SendFileError::Write(error) => PackError::Write(error),
        SendFileError::Read(error) => WalkError::io(name, error).into(),
        SendFileError::Shrank => WalkError::Shrank {
            name: name.to_vec(),
        }
        .into(),
    })?;
    let digest = hasher.finalize().into();
    check_unchanged(file, stat, name)?;
    Ok(digest)
}

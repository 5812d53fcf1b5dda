//! `pack`: a workspace into a stream.

mod header;
mod order;
mod stream;

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::Stat;

pub use order::pack_order;
pub use stream::{SendFileError, StreamWriter};

use crate::stat_cache::Seen;
use crate::walk::{Sink, check_unchanged, descend, mode, seconds, size};
use crate::{
    BaseWriter, Digest, LinkTarget, Mode, RelPath, Selector, Skipped, StatRecorder, Trailer, Tree,
    WalkError, WorkspaceDir,
};

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
    pub tree: Tree,
    /// What stayed behind, in path order.
    pub skipped: Vec<Skipped>,
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
/// One walk, one read per file for contents and digest, no staging; beside the tree
/// the memory does not grow. Hard links become files of their own, holes are sent
/// as zeros, extended attributes and owners are not sent. `progress` is called for
/// every entry and every chunk: return soon.
///
/// # Errors
/// The first entry that cannot be read or changes meanwhile, or a failing `out`.
pub fn pack(
    workspace: &WorkspaceDir,
    selector: &Selector,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
) -> Result<Packed, PackError> {
    send(workspace, selector, out, progress, None)
}

/// What a pack keeps beside the stream. Neither shows here when it fails: both say so at
/// their own ends.
#[derive(Debug)]
pub struct Keeping<'a, 'w> {
    /// Takes what it wants of all that is read.
    pub base: &'a mut BaseWriter,
    /// Remembers what was read, so that it need not be read again.
    pub stats: &'a mut StatRecorder<'w>,
}

/// As [`pack`], and keeps what is read.
///
/// # Errors
/// As [`pack`].
pub fn pack_and_keep(
    workspace: &WorkspaceDir,
    selector: &Selector,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
    keeping: Keeping<'_, '_>,
) -> Result<Packed, PackError> {
    send(workspace, selector, out, progress, Some(keeping))
}

fn send(
    workspace: &WorkspaceDir,
    selector: &Selector,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
    keeping: Option<Keeping<'_, '_>>,
) -> Result<Packed, PackError> {
    let mut sink = Sending {
        stream: StreamWriter::new(out),
        so_far: Progress::default(),
        progress,
        keeping,
    };
    let skipped = descend(workspace, selector, &mut sink)?;
    let bytes = sink.so_far.bytes;
    let (tree, trailer) = sink.stream.finish().map_err(PackError::Write)?;
    Ok(Packed {
        tree,
        skipped,
        bytes,
        trailer,
    })
}

struct Sending<'a, 'w> {
    stream: StreamWriter<&'a mut dyn Write>,
    so_far: Progress,
    progress: &'a mut dyn FnMut(Progress),
    keeping: Option<Keeping<'a, 'w>>,
}

impl Sending<'_, '_> {
    fn entry(&mut self) {
        self.so_far.entries += 1;
        (self.progress)(self.so_far);
    }
}

impl Sink for Sending<'_, '_> {
    type Error = PackError;

    fn dir(&mut self, path: &RelPath, mtime: i64) -> Result<(), PackError> {
        self.entry();
        self.stream.dir(path, mtime).map_err(PackError::Write)
    }

    fn symlink(&mut self, path: &RelPath, target: LinkTarget, mtime: i64) -> Result<(), PackError> {
        self.entry();
        let sent = self.stream.symlink(path, target, mtime);
        sent.map_err(PackError::Write)
    }

    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), PackError> {
        self.entry();
        let Self {
            stream,
            so_far,
            progress,
            keeping,
        } = self;
        let (base, stats) = match keeping {
            Some(Keeping { base, stats }) => (Some(&mut **base), Some(stats)),
            None => (None, None),
        };
        let digest = send_file(stream, base, path, &file, stat, &mut |bytes| {
            so_far.bytes += bytes;
            progress(*so_far);
        })?;
        if let (Some(stats), Some(seen)) = (stats, Seen::of(stat)) {
            stats.record(path, seen, &digest);
        }
        Ok(())
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), PackError> {
        self.entry();
        self.so_far.bytes += contents.len() as u64;
        let sent = self.stream.contents(path, Mode::Plain, contents, 0);
        sent.map_err(PackError::Write)
    }
}

/// Sends an open file that is at its start, and hands what is read to `base` as well.
/// `progress` is told the bytes of each piece.
fn send_file(
    stream: &mut StreamWriter<&mut dyn Write>,
    mut base: Option<&mut BaseWriter>,
    path: &RelPath,
    file: &OwnedFd,
    stat: &Stat,
    progress: &mut dyn FnMut(u64),
) -> Result<Digest, PackError> {
    let name = path.as_str().as_bytes();
    if let Some(base) = &mut base {
        base.begin(path, size(stat));
    }
    let mut tee = |piece: &[u8]| {
        progress(piece.len() as u64);
        if let Some(base) = &mut base {
            base.piece(piece);
        }
    };
    let sent = stream.file(path, mode(stat), size(stat), seconds(stat), file, &mut tee);
    let digest = sent.map_err(|error| match error {
        SendFileError::Write(error) => PackError::Write(error),
        SendFileError::Read(error) => WalkError::io(name, error).into(),
        SendFileError::Shrank => WalkError::Shrank {
            name: name.to_vec(),
        }
        .into(),
    })?;
    check_unchanged(file, stat, name)?;
    if let Some(base) = base {
        base.end(digest);
    }
    Ok(digest)
}

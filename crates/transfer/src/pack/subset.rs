//! `pack_subset`: what an update sends, and nothing else.

use std::io::Write;
use std::iter::Peekable;
use std::os::fd::OwnedFd;

use lazaret_protocol::{FileTime, StreamWriter, Trailer, UpdateRequest};
use lazaret_tree::{Digest, Entry, LinkTarget, Mode, RelPath, Tree};
use rustix::fs::Stat;

use super::{Overlay, PackError, Progress, send_file};
use crate::walk::{KeyCheck, Visitor, mode, size, traverse};
use crate::{FileSelector, WalkError, WorkspaceDir};

/// Sends what `request` says to `out`, in the form of [`pack`](crate::pack). It is the
/// same walk as that of a pack, with the same rules, which passes over every directory that
/// nothing is sent of. What lies in `overlay` is sent from there.
///
/// # Errors
/// The first entry that is not what it was when the order was made, or a failing `out`. The
/// other side sees the stream cut off then, and gives no receipt.
pub fn pack_subset(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    request: &UpdateRequest,
    overlay: &Overlay,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
) -> Result<Trailer, PackError> {
    let ordered: Vec<(&RelPath, &Entry)> = request.send.iter().collect();
    let mut visitor = SubsetPacker {
        request: &request.send,
        overlay,
        // What a `.git` further down says is known once the one at the root was walked.
        has_pointers: ordered
            .iter()
            .any(|(path, _)| path.as_str().ends_with("/.git")),
        waiting: ordered.into_iter().peekable(),
        stream: StreamWriter::new(out),
        so_far: Progress::default(),
        progress,
    };
    if !request.send.is_empty() {
        traverse(workspace, selector, &mut visitor)?;
    }
    while let Some((path, entry)) = visitor.waiting.next() {
        if !visitor.send_own(path, entry)? {
            return Err(changed(path).into());
        }
    }
    visitor.stream.finish().map_err(PackError::Write)
}

struct SubsetPacker<'a> {
    request: &'a Tree,
    overlay: &'a Overlay,
    has_pointers: bool,
    /// What was not met yet, in the order of the walk.
    waiting: Peekable<std::vec::IntoIter<(&'a RelPath, &'a Entry)>>,
    stream: StreamWriter<&'a mut dyn Write>,
    so_far: Progress,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> SubsetPacker<'a> {
    /// Returns what was ordered at `path`; `None` when nothing was.
    fn ordered(&mut self, path: &RelPath) -> Result<Option<&'a Entry>, PackError> {
        while let Some((waiting, entry)) = self.waiting.next_if(|(waiting, _)| *waiting <= path) {
            if self.send_own(waiting, entry)? {
                continue;
            }
            if waiting != path {
                // The walk is past it, and did not meet it.
                return Err(changed(waiting).into());
            }
            self.so_far.entries += 1;
            (self.progress)(self.so_far);
            return Ok(Some(entry));
        }
        Ok(None)
    }

    /// Sends what the launcher has at `path`; returns false if it has nothing there.
    fn send_own(&mut self, path: &RelPath, ordered: &Entry) -> Result<bool, PackError> {
        let Self {
            stream,
            so_far,
            progress,
            overlay,
            ..
        } = self;
        if *ordered == Entry::Dir && overlay.tree().below(path).next().is_some() {
            so_far.entries += 1;
            stream.dir(path).map_err(PackError::Write)?;
            return Ok(true);
        }
        let sent = overlay.send(path, stream, &mut |bytes| {
            so_far.bytes += bytes;
            progress(*so_far);
        });
        match sent.transpose()? {
            None => Ok(false),
            Some(entry) if entry == *ordered => {
                so_far.entries += 1;
                Ok(true)
            }
            Some(_) => Err(changed(path).into()),
        }
    }
}

impl Visitor for SubsetPacker<'_> {
    type Error = PackError;

    fn wants(&mut self, path: &[u8]) -> bool {
        let Ok(path) = RelPath::from_bytes(path) else {
            return false;
        };
        self.request.below(path).next().is_some() || self.has_pointers && path.as_str() == ".git"
    }

    fn dir(&mut self, path: &RelPath) -> Result<(), PackError> {
        match self.ordered(path)? {
            None => Ok(()),
            Some(Entry::Dir) => self.stream.dir(path).map_err(PackError::Write),
            Some(_) => Err(changed(path).into()),
        }
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        mtime: FileTime,
    ) -> Result<(), PackError> {
        match self.ordered(path)? {
            None => Ok(()),
            Some(Entry::Symlink { target: ordered }) if *ordered == target => {
                let sent = self.stream.symlink(path, &target, mtime);
                sent.map_err(PackError::Write)
            }
            Some(_) => Err(changed(path).into()),
        }
    }

    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        // What is ordered was looked into before it was.
        _: KeyCheck,
    ) -> Result<(), PackError> {
        let Some(ordered) = self.ordered(path)? else {
            return Ok(());
        };
        let (mode, size) = (mode(stat), size(stat));
        if !matches!(ordered, Entry::File { mode: m, size: s, .. } if (mode, size) == (*m, *s)) {
            return Err(changed(path).into());
        }
        let Self {
            stream,
            so_far,
            progress,
            ..
        } = self;
        let digest = send_file(stream, path, &file, stat, &mut |bytes| {
            so_far.bytes += bytes;
            progress(*so_far);
        })?;
        match *ordered == (Entry::File { mode, size, digest }) {
            true => Ok(()),
            false => Err(changed(path).into()),
        }
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), PackError> {
        let Some(ordered) = self.ordered(path)? else {
            return Ok(());
        };
        let found = Entry::File {
            mode: Mode::Plain,
            size: contents.len() as u64,
            digest: Digest::of(contents),
        };
        if found != *ordered {
            return Err(changed(path).into());
        }
        self.so_far.bytes += contents.len() as u64;
        let sent = self
            .stream
            .contents(path, Mode::Plain, contents, FileTime::default());
        sent.map_err(PackError::Write)
    }
}

/// Something is not as it was when it was read last (FLT-04).
fn changed(path: &RelPath) -> WalkError {
    WalkError::Changed {
        name: path.as_str().as_bytes().to_vec(),
    }
}

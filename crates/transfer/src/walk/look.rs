//! `Look`: whether known files are as they were, found out beside the walk that lists them.

use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::WalkError;
use super::engine::size;
use super::hash::Jobs;
use super::open::OpenDir;
use crate::stat_cache::{Known, Seen};
use crate::{Entry, RelPath, RelPathBuf, SkipReason, Skipped};

/// Files that are handed over at once: a wake-up for many of them.
const FILES: usize = 256;
/// Directories that are open for a bundle.
const DIRS: usize = 8;
/// Bundles that may wait; with [`DIRS`] this bounds the open descriptors.
pub(super) const BUNDLES: usize = 4;
/// What opening a file costs, in bytes that could be read instead.
const OPENING: u64 = 4 << 10;

/// Files of a few directories.
#[derive(Debug, Default)]
pub(super) struct Bundle<'a> {
    dirs: Vec<Arc<OpenDir>>,
    /// Each with the number of its directory.
    files: Vec<(usize, &'a Known)>,
}

/// Bundles files up, in path order.
pub(super) struct Bundling<'a> {
    bundle: Bundle<'a>,
    send: SyncSender<Bundle<'a>>,
}

impl<'a> Bundling<'a> {
    pub(super) fn new(send: SyncSender<Bundle<'a>>) -> Self {
        Self {
            bundle: Bundle::default(),
            send,
        }
    }

    /// Adds a file that lies in `dir`. Fails when the other side has failed, which tells why.
    pub(super) fn add(&mut self, known: &'a Known, dir: &Arc<OpenDir>) -> Result<(), WalkError> {
        let Bundle { dirs, files } = &mut self.bundle;
        if !dirs.last().is_some_and(|last| Arc::ptr_eq(last, dir)) {
            dirs.push(Arc::clone(dir));
        }
        files.push((dirs.len() - 1, known));
        match dirs.len() == DIRS || files.len() == FILES {
            true => self.hand_over(),
            false => Ok(()),
        }
    }

    /// Hands over what is left.
    pub(super) fn finish(mut self) -> Result<(), WalkError> {
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<(), WalkError> {
        let bundle = std::mem::take(&mut self.bundle);
        let sent = self.send.send(bundle);
        sent.map_err(|_| WalkError::io(b"", Errno::CANCELED))
    }
}

/// A file, as it was met.
pub(super) enum Met<'a> {
    Known(&'a Known),
    /// It is hashed elsewhere.
    Read(Box<(RelPathBuf, Seen)>),
}

impl Met<'_> {
    pub(super) fn path(&self) -> &RelPath {
        match self {
            Self::Known(known) => &known.path,
            Self::Read(file) => &file.0,
        }
    }
}

/// What was found out.
#[derive(Default)]
pub(super) struct Looked<'a> {
    /// The files that are as they were.
    pub(super) entries: Vec<(RelPathBuf, Entry)>,
    pub(super) met: Vec<Met<'a>>,
    /// What reading again costs that the cache does not know, in bytes.
    pub(super) lacking: u64,
    pub(super) skipped: Vec<Skipped>,
}

impl Looked<'_> {
    /// Takes a file that has to be read.
    pub(super) fn read(&mut self, path: RelPathBuf, seen: Seen) {
        self.lacking += seen.size() + OPENING;
        self.met.push(Met::Read(Box::new((path, seen))));
    }
}

/// Looks at files.
pub(super) struct Look<'a, 'scope> {
    jobs: Jobs<'scope>,
    looked: Looked<'a>,
}

impl<'a, 'scope> Look<'a, 'scope> {
    /// `jobs` gets what has to be read.
    pub(super) fn new(jobs: Jobs<'scope>) -> Self {
        let looked = Looked::default();
        Self { jobs, looked }
    }

    /// Takes bundles until there will be no more.
    pub(super) fn run(mut self, bundles: Receiver<Bundle<'a>>) -> Result<Looked<'a>, WalkError> {
        for Bundle { dirs, files } in bundles {
            for (dir, known) in files {
                self.look(&dirs[dir], known)?;
            }
        }
        self.jobs.finish()?;
        Ok(self.looked)
    }

    fn look(&mut self, dir: &OpenDir, known: &'a Known) -> Result<(), WalkError> {
        let (path, name) = (&known.path, known.path.file_name());
        let failed = |error: io::Error| WalkError::io(path.as_str().as_bytes(), error);
        let stat = rustix::fs::statat(dir.fd(), name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|errno| failed(errno.into()))?;
        if Seen::of(&stat) == Some(known.seen) {
            let entry = known.seen.entry(known.digest);
            // The text is shared.
            self.looked.entries.push((path.clone(), entry));
            self.looked.met.push(Met::Known(known));
            return Ok(());
        }
        let name = CString::new(name).map_err(|error| failed(error.into()))?;
        match dir.open_file(&name, path)? {
            None => self.looked.skipped.push(Skipped {
                name: path.as_str().as_bytes().to_vec(),
                reason: SkipReason::Mount,
                bytes: Some(size(&stat)),
            }),
            Some((file, stat)) => {
                if let Some(seen) = Seen::of(&stat) {
                    self.looked.read(path.clone(), seen);
                }
                self.jobs.hash(path.clone(), file, stat)?;
            }
        }
        Ok(())
    }
}

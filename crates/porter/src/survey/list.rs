//! Listing what lies below a directory, in path order: on a thread of its own, ahead of whoever
//! compares it with what is known.

use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use lazaret_transfer::{
    CACHEDIR_SIGNATURE, CacheInside, RESERVED_NAME, RelPath, RelPathBuf, VolumeIdentity,
    is_cache_beside,
};
use rustix::fs::{AtFlags, FileType};

use super::SurveyFailure;
use crate::root::{self, LOST_AND_FOUND, Root};

/// Entries that are handed over together: a wake-up is worth more than one.
const BATCH: usize = 512;
/// Batches that may wait, some tens of MiB at most: a whole project, in most cases.
const WAITING: usize = 256;

/// One entry, as it was found.
#[derive(Debug)]
pub(super) struct Listed {
    /// Raw where lazaret does not carry the name; nothing is looked at below it then.
    pub(super) path: Result<RelPathBuf, Vec<u8>>,
    pub(super) kind: FileType,
    pub(super) identity: VolumeIdentity,
    pub(super) links: u32,
    /// A directory that is a cache by the rules that keep one out of the copy. What lies in
    /// it is not listed.
    pub(super) is_cache: bool,
}

/// What takes a listing; an error ends it.
pub(super) trait Sink {
    fn listed(&mut self, listed: Listed) -> Result<(), SurveyFailure>;
}

/// Lists everything below `dir`, whose path is `below`; empty for the root.
pub(super) fn list(
    dir: BorrowedFd<'_>,
    below: &[u8],
    sink: &mut dyn Sink,
) -> Result<(), SurveyFailure> {
    let mut path = below.to_vec();
    let names = root::names(dir).map_err(|errno| SurveyFailure::read(&path, errno))?;
    Lister {
        path: &mut path,
        sink,
    }
    .names(dir, &names)
}

struct Lister<'a> {
    /// The raw path of the current entry.
    path: &'a mut Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl Lister<'_> {
    fn names(&mut self, dir: BorrowedFd<'_>, names: &[CString]) -> Result<(), SurveyFailure> {
        let length = self.path.len();
        for name in names {
            if length != 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            self.entry(dir, name, names)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        siblings: &[CString],
    ) -> Result<(), SurveyFailure> {
        // What an update left half-done, or what the agent put there, which the next
        // update removes.
        if *self.path == RESERVED_NAME.to_bytes() {
            return Ok(());
        }
        let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| SurveyFailure::read(self.path, errno))?;
        // Root made it, with the file system: the agent cannot make one like it.
        if *self.path == LOST_AND_FOUND.to_bytes() && stat.st_uid == 0 {
            return Ok(());
        }
        let mut listed = Listed {
            path: RelPath::from_bytes(self.path)
                .map(ToOwned::to_owned)
                .map_err(|_| self.path.clone()),
            kind: FileType::from_raw_mode(stat.st_mode),
            identity: VolumeIdentity::from(&stat),
            links: u32::try_from(stat.st_nlink as u64).unwrap_or(u32::MAX),
            is_cache: false,
        };
        if listed.kind != FileType::Directory || listed.path.is_err() {
            return self.sink.listed(listed);
        }
        let failed = |path: &[u8], errno| SurveyFailure::read(path, errno);
        let inside = root::open_dir(dir, name).map_err(|errno| failed(self.path, errno))?;
        let names = root::names(&inside).map_err(|errno| failed(self.path, errno))?;
        listed.is_cache = is_cache(name, siblings, &inside, &names);
        let is_entered = !listed.is_cache;
        self.sink.listed(listed)?;
        match is_entered {
            true => self.names(inside.as_fd(), &names),
            false => Ok(()),
        }
    }
}

/// Whether a directory is a cache, by the rules that keep such a one out of the copy.
fn is_cache(name: &CStr, siblings: &[CString], dir: &OwnedFd, inside: &[CString]) -> bool {
    let among = |names: &[CString], name: &CStr| {
        let found = names.binary_search_by(|other| (**other).cmp(name));
        found.is_ok()
    };
    if is_cache_beside(name, |other| among(siblings, other)) {
        return true;
    }
    match CacheInside::of(|other| among(inside, other)) {
        CacheInside::No => false,
        CacheInside::Yes => true,
        CacheInside::Tag => {
            let mut start = [0; CACHEDIR_SIGNATURE.len()];
            let tag = root::open_regular(dir, c"CACHEDIR.TAG");
            // A tag that cannot be read is none: then everything is looked at.
            tag.is_ok_and(|mut tag| tag.read_exact(&mut start).is_ok())
                && start == *CACHEDIR_SIGNATURE
        }
    }
}

/// What one thread hands to another.
type Batch = Result<Vec<Listed>, SurveyFailure>;

/// A listing of the whole volume that is being made.
#[derive(Debug)]
pub(crate) struct Ahead {
    batches: Option<Receiver<Batch>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Begins now.
    ///
    /// # Errors
    /// When there is no thread to be had, or no descriptor.
    pub(crate) fn begin(root: &Root) -> std::io::Result<Self> {
        let root = root.as_fd().try_clone_to_owned()?;
        let (full, batches) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().spawn(move || {
            let mut out = Batches {
                full,
                batch: Vec::with_capacity(BATCH),
            };
            let ended = list(root.as_fd(), b"", &mut out);
            let last = match ended {
                Ok(()) => Ok(out.batch),
                Err(failure) => Err(failure),
            };
            // Whoever hears no more has his reasons.
            drop(out.full.send(last));
        })?;
        Ok(Self {
            batches: Some(batches),
            thread: Some(thread),
        })
    }

    /// Hands everything to `sink`.
    pub(super) fn drain(mut self, sink: &mut dyn Sink) -> Result<(), SurveyFailure> {
        for batch in self.batches.iter().flatten() {
            for listed in batch? {
                sink.listed(listed)?;
            }
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => Ok(()),
        }
    }
}

impl Drop for Ahead {
    /// Ends the thread: its next batch finds nobody.
    fn drop(&mut self) {
        drop(self.batches.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

struct Batches {
    full: SyncSender<Batch>,
    batch: Vec<Listed>,
}

impl Sink for Batches {
    fn listed(&mut self, listed: Listed) -> Result<(), SurveyFailure> {
        self.batch.push(listed);
        if self.batch.len() < BATCH {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.full
            .send(Ok(batch))
            .map_err(|_| SurveyFailure::Unheard)
    }
}

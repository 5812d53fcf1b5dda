//! `porter survey ROOT`: what differs from what stdin says is known, to stdout.
//!
//! Runs in a container of its own, over a read-only volume, once every process of the agent
//! is gone or paused. What is as it was known is not read; the rest is hashed on every
//! core. The order is that of the walk, whichever thread is faster.

mod hash;

use std::ffi::{CStr, CString, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::iter::Peekable;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use lazaret_transfer::wire::{Found, FoundKind, OddType};
use lazaret_transfer::{
    CACHEDIR_SIGNATURE, CacheInside, Digest, FileTime, PathError, RESERVED_NAME, RelPath,
    RelPathBuf, StreamError, Survey, SurveyRequest, VolumeIdentity, WireError, Writers, escape,
    is_cache_beside,
};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::clock::outwait;
use crate::root::{self, LOST_AND_FOUND, Root};
use hash::hash_all;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SurveyFailure {
    #[error("usage: porter survey ROOT")]
    Usage,
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the request: {0}")]
    Request(#[from] WireError),
    #[error("{}: {source}", escape(.name))]
    Read { name: Vec<u8>, source: io::Error },
    #[error("{}: changed during the survey", escape(.name))]
    Changed { name: Vec<u8> },
    #[error("the survey: {0}")]
    Pipe(#[source] io::Error),
    #[error(transparent)]
    Limit(#[from] StreamError),
}

impl SurveyFailure {
    fn read(name: &[u8], errno: Errno) -> Self {
        Self::Read {
            name: name.to_vec(),
            source: errno.into(),
        }
    }

    fn changed(path: &RelPath) -> Self {
        Self::Changed {
            name: path.as_str().as_bytes().to_vec(),
        }
    }
}

/// Runs the verb. A volume over the limits is an answer, not a failure.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let surveyed = match (arguments.next(), arguments.next()) {
        (Some(root), None) => survey(Path::new(&root)),
        _ => Err(SurveyFailure::Usage),
    };
    crate::settle("survey", surveyed)
}

fn survey(path: &Path) -> Result<(), SurveyFailure> {
    let root = Root::open(path)?;
    let mut stdin = root::stdin().map_err(SurveyFailure::Pipe)?;
    answer(&root, &mut stdin).map(drop)
}

/// What became of a survey that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    Whole,
    /// The volume holds more than the limits allow.
    GivenUp,
}

/// Reads the request from `stdin` and answers it on stdout.
pub(crate) fn answer(root: &Root, stdin: &mut File) -> Result<Answered, SurveyFailure> {
    let request = SurveyRequest::read_from(stdin)?;
    if request.writers == Writers::Held {
        // A store into a mapped page that is dirty already does not move ctime until the
        // page has been written back. A mapping that is made later does, by its first store.
        rustix::fs::syncfs(root).map_err(|errno| SurveyFailure::read(b"", errno))?;
    }
    let mut stdout = root::stdout().map_err(SurveyFailure::Pipe)?;
    let (written, answered) = match compare(root, &request) {
        Ok(survey) => {
            // Whoever reads this may let the agent go on.
            outwait(survey.found.iter().filter_map(ctime));
            (survey.write_to(&mut stdout), Answered::Whole)
        }
        Err(SurveyFailure::Limit(limit)) => {
            let written = Survey::write_given_up(&limit, &mut stdout);
            (written, Answered::GivenUp)
        }
        Err(failure) => return Err(failure),
    };
    written.map_err(SurveyFailure::Pipe)?;
    Ok(answered)
}

fn ctime(found: &Found) -> Option<FileTime> {
    match &found.kind {
        FoundKind::Dir { identity }
        | FoundKind::File { identity, .. }
        | FoundKind::Symlink { identity, .. } => Some(identity.ctime),
        FoundKind::Odd(_) | FoundKind::Cache | FoundKind::BadName => None,
    }
}

fn compare(root: &Root, request: &SurveyRequest) -> Result<Survey, SurveyFailure> {
    let mut walk = Walk {
        request,
        known: request.known.iter().peekable(),
        path: Vec::new(),
        survey: Survey::default(),
        changed: Vec::new(),
        entries: 0,
        name_bytes: 0,
        total_bytes: 0,
    };
    walk.directory(root)?;
    walk.gone_before(None);
    let Walk {
        mut survey,
        changed,
        ..
    } = walk;
    for (index, digest) in hash_all(root, &changed)? {
        if let FoundKind::File { digest: unset, .. } = &mut survey.found[index].kind {
            *unset = digest;
        }
    }
    Ok(survey)
}

type Identities<'a> = std::collections::btree_map::Iter<'a, RelPathBuf, VolumeIdentity>;

/// One pass over the volume and what is known of it together: both are in path order.
struct Walk<'a> {
    request: &'a SurveyRequest,
    known: Peekable<Identities<'a>>,
    /// The raw path of the current entry.
    path: Vec<u8>,
    survey: Survey,
    changed: Vec<Changed>,
    entries: u64,
    name_bytes: u64,
    total_bytes: u64,
}

/// A file to hash.
struct Changed {
    /// Where it stands in [`Survey::found`].
    index: usize,
    path: RelPathBuf,
    identity: VolumeIdentity,
}

impl Walk<'_> {
    fn directory(&mut self, dir: impl AsFd) -> Result<(), SurveyFailure> {
        let names = root::names(&dir).map_err(|errno| SurveyFailure::read(&self.path, errno))?;
        self.names(&dir, &names)
    }

    fn names(&mut self, dir: impl AsFd, names: &[CString]) -> Result<(), SurveyFailure> {
        let length = self.path.len();
        for name in names {
            if length != 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            self.entry(dir.as_fd(), name, names)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: impl AsFd,
        name: &CStr,
        siblings: &[CString],
    ) -> Result<(), SurveyFailure> {
        let failed = |path: &[u8], errno| SurveyFailure::read(path, errno);
        let stat = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed(&self.path, errno))?;
        // Root made it, with the file system: the agent cannot make one like it.
        if self.path == LOST_AND_FOUND.to_bytes() && stat.st_uid == 0 {
            return Ok(());
        }
        // What an update left half-done, or what the agent put there, which the next
        // update removes.
        if self.path == RESERVED_NAME.to_bytes() {
            return Ok(());
        }
        self.count()?;
        let Ok(path) = RelPath::from_bytes(&self.path).map(ToOwned::to_owned) else {
            self.found(FoundKind::BadName);
            return Ok(());
        };
        let known = self.known(&path);
        let identity = VolumeIdentity::from(&stat);
        let unchanged = known == Some(identity);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let inside =
                    root::open_dir(&dir, name).map_err(|errno| failed(&self.path, errno))?;
                let names = root::names(&inside).map_err(|errno| failed(&self.path, errno))?;
                // What is built inside must not cost the batch its limits.
                if !known.is_some_and(is_dir) && is_cache(name, siblings, &inside, &names) {
                    self.found(FoundKind::Cache);
                    return Ok(());
                }
                // Its times tell of its entries, and those are visited anyway.
                if known.map(|known| known.mode) != Some(identity.mode) {
                    self.found(FoundKind::Dir { identity });
                }
                self.names(inside, &names)
            }
            _ if unchanged => Ok(()),
            FileType::RegularFile => self.file(path, identity, &stat),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&dir, name, Vec::new())
                    .map_err(|errno| failed(&self.path, errno))?;
                let target = target.into_bytes();
                self.charge(target.len())?;
                self.found(FoundKind::Symlink { identity, target });
                Ok(())
            }
            odd => {
                self.found(FoundKind::Odd(odd_type(odd)));
                Ok(())
            }
        }
    }

    #[expect(clippy::unnecessary_cast, reason = "the width differs between systems")]
    fn file(
        &mut self,
        path: RelPathBuf,
        identity: VolumeIdentity,
        stat: &Stat,
    ) -> Result<(), SurveyFailure> {
        let limits = &self.request.limits;
        let size = identity.size;
        if size > limits.file_bytes {
            let (name, limit) = (self.path.clone(), limits.file_bytes);
            return Err(StreamError::FileTooBig { name, size, limit }.into());
        }
        self.total_bytes = self.total_bytes.saturating_add(size);
        if self.total_bytes > limits.total_bytes {
            let limit = limits.total_bytes;
            return Err(StreamError::TooManyBytes { limit }.into());
        }
        self.changed.push(Changed {
            index: self.survey.found.len(),
            path,
            identity,
        });
        self.found(FoundKind::File {
            identity,
            links: u32::try_from(stat.st_nlink as u64).unwrap_or(u32::MAX),
            digest: Digest::of(b""),
        });
        Ok(())
    }

    fn found(&mut self, kind: FoundKind) {
        let name = self.path.clone();
        self.survey.found.push(Found { name, kind });
    }

    fn count(&mut self) -> Result<(), SurveyFailure> {
        self.entries += 1;
        let limit = self.request.limits.entries;
        if self.entries > limit {
            return Err(StreamError::TooManyEntries { limit }.into());
        }
        self.charge(self.path.len())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), SurveyFailure> {
        self.name_bytes += bytes as u64;
        let limit = self.request.limits.name_bytes;
        match self.name_bytes > limit {
            true => Err(StreamError::TooManyNames { limit }.into()),
            false => Ok(()),
        }
    }

    /// Returns what is known of `path`, and notes what is known of paths before it
    /// that were not met.
    fn known(&mut self, path: &RelPath) -> Option<VolumeIdentity> {
        self.gone_before(Some(path));
        let known = self.known.next_if(|(known, _)| &***known == path);
        known.map(|(_, identity)| *identity)
    }

    fn gone_before(&mut self, path: Option<&RelPath>) {
        let before = |known: &RelPath| path.is_none_or(|path| known < path);
        while let Some((gone, _)) = self.known.next_if(|(known, _)| before(known)) {
            self.survey.gone.push(gone.as_str().as_bytes().to_vec());
        }
    }
}

fn is_dir(identity: VolumeIdentity) -> bool {
    FileType::from_raw_mode(identity.mode) == FileType::Directory
}

/// Whether a directory is a cache, by the rules that keep such a one out of the copy.
fn is_cache(name: &CStr, siblings: &[CString], dir: impl AsFd, inside: &[CString]) -> bool {
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

fn odd_type(file_type: FileType) -> OddType {
    match file_type {
        FileType::Fifo => OddType::Fifo,
        FileType::Socket => OddType::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => OddType::Device,
        _ => OddType::Unknown,
    }
}

//! The one walk: what `walk` lists, `pack` sends.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::WalkError;
use super::open::{OpenError, open_below};
use super::small::{SMALL_FILE_BYTES, Small};
use crate::select::{
    CACHEDIR_SIGNATURE, CacheInside, GitPart, IgnoreFile, Ignores, Kind, Opinion, PEEK_BYTES,
    Rules, Suspicion, git_part, is_cache_beside, is_ordinary, suspicion,
};
use crate::{GitMode, LinkTarget, RelPath, Selector, SkipReason, Skipped, WorkspaceDir};

/// Who takes what the walk finds, in path order.
pub(crate) trait Sink {
    type Error: From<WalkError>;

    fn dir(&mut self, path: &RelPath, mtime: i64) -> Result<(), Self::Error>;

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        mtime: i64,
    ) -> Result<(), Self::Error>;

    /// Takes an open regular file at its start.
    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), Self::Error>;

    /// Is told how many names a directory has, while it is listed.
    fn listed(&mut self, _names: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Is told of each entry before it is judged, by its raw path. Whoever has limits says
    /// no in one of the two.
    fn meet(&mut self, _path: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Takes a file that exists only in the copy.
    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), Self::Error>;
}

/// Walks everything below `root` that `selector` takes in.
///
/// One descriptor per level is open, each opened relative to the one above it,
/// never through a link. A name is listed once and opened once.
pub(crate) fn descend<S: Sink>(
    root: &WorkspaceDir,
    selector: &Selector,
    sink: &mut S,
) -> Result<Vec<Skipped>, S::Error> {
    let mut walk = Walk {
        selector,
        device: root.identity().dev,
        sink,
        path: Vec::with_capacity(1024),
        ignores: Ignores::default(),
        skipped: Vec::new(),
    };
    // An own descriptor: reading a directory moves its position.
    let dir = open_below(root.fd(), c".", OFlags::DIRECTORY, walk.device);
    let dir = dir.map_err(|error| walk.error(error))?;
    let listing = walk.list(dir)?;
    walk.directory(&listing, Place::Workspace)?;
    Ok(walk.skipped)
}

pub(super) struct Walk<'a, S> {
    selector: &'a Selector,
    pub(super) device: u64,
    pub(super) sink: &'a mut S,
    /// The raw path of the current entry.
    pub(super) path: Vec<u8>,
    pub(super) ignores: Ignores,
    skipped: Vec<Skipped>,
}

/// Where the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Workspace,
    /// In the `.git` of the root, whose parts are chosen.
    Git,
    /// In the `.git` of the root, of which all that matters is taken.
    WholeGit,
}

/// One directory, open, with its names in order.
pub(super) struct Listing {
    dir: Dir,
    entries: Vec<(CString, FileType)>,
}

impl Listing {
    fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.dir.fd()
    }

    pub(super) fn has(&self, name: &CStr) -> bool {
        let entries = &self.entries;
        entries
            .binary_search_by(|(other, _)| (**other).cmp(name))
            .is_ok()
    }
}

/// Whether what lies in a directory may still keep it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheCheck {
    None,
    Inside,
}

/// What the rules make of one entry.
enum Judgement {
    TakeIn,
    /// A directory may still be a cache by what lies in it.
    TakeInUnlessCache,
    LeaveOut(SkipReason),
}

impl<S: Sink> Walk<'_, S> {
    pub(super) fn error(&self, error: OpenError) -> WalkError {
        match error {
            OpenError::Errno(errno) => WalkError::io(&self.path, errno),
            OpenError::Mount => self.changed(),
        }
    }

    pub(super) fn errno(&self, errno: Errno) -> WalkError {
        WalkError::io(&self.path, errno)
    }

    /// Reads the names of a directory, sorted by bytes: that is path order.
    fn list(&mut self, dir: OwnedFd) -> Result<Listing, S::Error> {
        let mut dir = Dir::new(dir).map_err(|errno| self.errno(errno))?;
        let mut entries = Vec::new();
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(|errno| self.errno(errno))?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                entries.push((name.to_owned(), entry.file_type()));
                self.sink.listed(entries.len())?;
            }
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Listing { dir, entries })
    }

    /// Walks what a directory holds; the directory itself was taken already.
    fn directory(&mut self, listing: &Listing, place: Place) -> Result<(), S::Error> {
        let depth = self.ignores.depth();
        let fd = listing.fd().map_err(|errno| self.errno(errno))?;
        if place == Place::Workspace && self.selector.rules() == Rules::Usual {
            self.read_ignore_files(listing, fd)?;
        }
        let length = self.path.len();
        let mut pending = match (place, &self.path[..]) {
            (Place::Git, b".git") => Some(c"config"),
            _ => None,
        };
        for (name, file_type) in &listing.entries {
            if let Some(made) = pending
                && **name >= *made
            {
                self.git_config(fd)?;
                pending = None;
            }
            if length != 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            self.entry(listing, fd, name, *file_type, place)?;
            self.path.truncate(length);
        }
        if pending.is_some() {
            self.git_config(fd)?;
        }
        self.ignores.truncate(depth);
        Ok(())
    }

    /// Handles the entry at `self.path`.
    fn entry(
        &mut self,
        listing: &Listing,
        parent: BorrowedFd<'_>,
        name: &CStr,
        file_type: FileType,
        place: Place,
    ) -> Result<(), S::Error> {
        self.sink.meet(&self.path)?;
        let file_type = match file_type {
            FileType::Unknown => FileType::from_raw_mode(self.stat(parent, name)?.st_mode),
            known => known,
        };
        if let Err(error) = RelPath::from_bytes(&self.path) {
            self.skip(parent, name, file_type, SkipReason::Name(error));
            return Ok(());
        }
        let judgement = match place {
            Place::Workspace => self.judge(listing, parent, name, file_type)?,
            Place::Git => self.judge_git(file_type),
            Place::WholeGit => match self.path.strip_prefix(b".git/").is_some_and(is_ordinary) {
                true => Judgement::LeaveOut(SkipReason::GitPart),
                false => Judgement::TakeIn,
            },
        };
        let cache = match judgement {
            Judgement::TakeIn => CacheCheck::None,
            Judgement::TakeInUnlessCache => CacheCheck::Inside,
            Judgement::LeaveOut(reason) => {
                self.skip(parent, name, file_type, reason);
                return Ok(());
            }
        };
        match file_type {
            FileType::Directory => {
                let place = match (&self.path[..], self.selector.rules()) {
                    (b".git", Rules::Usual) => Place::Git,
                    (b".git", Rules::ExcludeOnly) => Place::WholeGit,
                    _ => place,
                };
                self.enter(parent, name, place, cache)
            }
            FileType::RegularFile => self.file(parent, name),
            FileType::Symlink => self.symlink(parent, name),
            odd => {
                self.skip(parent, name, odd, odd_reason(odd));
                Ok(())
            }
        }
    }

    /// Applies the rules that [`Selector`] documents, in that order.
    fn judge(
        &self,
        listing: &Listing,
        parent: BorrowedFd<'_>,
        name: &CStr,
        file_type: FileType,
    ) -> Result<Judgement, WalkError> {
        let kind = match file_type {
            FileType::Directory => Kind::Dir,
            _ => Kind::Other,
        };
        let all = self.selector.rules() == Rules::ExcludeOnly;
        if name == c".git" && all {
            return Ok(Judgement::TakeIn);
        }
        if name == c".git" {
            return Ok(match (kind, self.selector.git(), &self.path[..]) {
                (Kind::Other, ..) => Judgement::LeaveOut(SkipReason::GitFile),
                (_, _, path) if path != b".git" => Judgement::LeaveOut(SkipReason::GitNested),
                (_, GitMode::None, _) => Judgement::LeaveOut(SkipReason::GitNone),
                (_, GitMode::Full, _) => Judgement::TakeIn,
            });
        }
        match self.selector.profile(&self.path, kind) {
            Some(Opinion::TakeIn) => return Ok(Judgement::TakeIn),
            Some(Opinion::LeaveOut) => return Ok(Judgement::LeaveOut(SkipReason::Profile)),
            None if all => return Ok(Judgement::TakeIn),
            None => {}
        }
        let secret = match suspicion(&self.path, kind) {
            Suspicion::None => false,
            Suspicion::Secret => true,
            Suspicion::Look(peek) if file_type == FileType::RegularFile => {
                match self.read_small(parent, name, PEEK_BYTES)? {
                    Small::Whole(contents) => peek.is_secret(&contents),
                    Small::TooLong => true,
                    Small::NotAFile => false,
                }
            }
            Suspicion::Look(_) => false,
        };
        if secret {
            return Ok(Judgement::LeaveOut(SkipReason::Secret));
        }
        let ignores = |file| self.ignores.opinion(file, &self.path, kind);
        match ignores(IgnoreFile::Lazaret) {
            Some(Opinion::TakeIn) => return Ok(Judgement::TakeIn),
            Some(Opinion::LeaveOut) => return Ok(Judgement::LeaveOut(SkipReason::LazaretIgnore)),
            None => {}
        }
        if kind == Kind::Dir && is_cache_beside(name, |other| listing.has(other)) {
            return Ok(Judgement::LeaveOut(SkipReason::Cache));
        }
        Ok(match ignores(IgnoreFile::Git) {
            Some(Opinion::LeaveOut) => Judgement::LeaveOut(SkipReason::GitIgnore),
            Some(Opinion::TakeIn) | None => Judgement::TakeInUnlessCache,
        })
    }

    fn judge_git(&self, file_type: FileType) -> Judgement {
        let kind = match file_type {
            FileType::Directory => Kind::Dir,
            FileType::RegularFile => Kind::Other,
            _ => return Judgement::LeaveOut(SkipReason::GitPart),
        };
        let inside = self.path.strip_prefix(b".git/").unwrap_or_default();
        match git_part(inside, kind) {
            GitPart::Send => Judgement::TakeIn,
            GitPart::LeaveOut => Judgement::LeaveOut(SkipReason::GitPart),
        }
    }

    fn enter(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        place: Place,
        cache: CacheCheck,
    ) -> Result<(), S::Error> {
        let dir = match open_below(parent, name, OFlags::DIRECTORY, self.device) {
            Ok(dir) => dir,
            Err(OpenError::Mount) => {
                self.skip(parent, name, FileType::Directory, SkipReason::Mount);
                return Ok(());
            }
            Err(OpenError::Errno(Errno::NOTDIR | Errno::LOOP)) => {
                return Err(self.changed().into());
            }
            Err(error) => return Err(self.error(error).into()),
        };
        let stat = rustix::fs::fstat(&dir).map_err(|errno| self.errno(errno))?;
        let listing = self.list(dir)?;
        if cache == CacheCheck::Inside && self.is_cache(&listing)? {
            self.skip(parent, name, FileType::Directory, SkipReason::Cache);
            return Ok(());
        }
        self.sink.dir(rel(&self.path)?, seconds(&stat))?;
        self.directory(&listing, place)
    }

    fn is_cache(&self, inside: &Listing) -> Result<bool, WalkError> {
        match CacheInside::of(|name| inside.has(name)) {
            CacheInside::No => Ok(false),
            CacheInside::Yes => Ok(true),
            CacheInside::Tag => {
                let fd = inside.fd().map_err(|errno| self.errno(errno))?;
                let tag = self.read_small(fd, c"CACHEDIR.TAG", SMALL_FILE_BYTES)?;
                Ok(matches!(tag, Small::Whole(tag) if tag.starts_with(CACHEDIR_SIGNATURE)))
            }
        }
    }

    fn file(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<(), S::Error> {
        let file = match open_below(parent, name, OFlags::empty(), self.device) {
            Ok(file) => file,
            Err(OpenError::Mount) => {
                self.skip(parent, name, FileType::RegularFile, SkipReason::Mount);
                return Ok(());
            }
            Err(OpenError::Errno(Errno::LOOP | Errno::NXIO)) => return Err(self.changed().into()),
            Err(error) => return Err(self.error(error).into()),
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| self.errno(errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(self.changed().into());
        }
        self.sink.file(rel(&self.path)?, file, &stat)
    }

    fn symlink(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<(), S::Error> {
        let target = match rustix::fs::readlinkat(parent, name, Vec::new()) {
            Ok(target) => target,
            Err(Errno::INVAL) => return Err(self.changed().into()),
            Err(errno) => return Err(self.errno(errno).into()),
        };
        let stat = self.stat(parent, name)?;
        match LinkTarget::from_bytes(target.to_bytes()) {
            Ok(target) => self.sink.symlink(rel(&self.path)?, target, seconds(&stat)),
            Err(error) => {
                self.skip(parent, name, FileType::Symlink, SkipReason::Target(error));
                Ok(())
            }
        }
    }

    fn skip(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        file_type: FileType,
        reason: SkipReason,
    ) {
        let bytes = match file_type {
            // A size is a courtesy: what stays out may vanish as it likes.
            FileType::RegularFile => self.stat(parent, name).ok().map(|stat| size(&stat)),
            _ => None,
        };
        self.skipped.push(Skipped {
            name: self.path.clone(),
            reason,
            bytes,
        });
    }

    fn stat(&self, parent: BorrowedFd<'_>, name: &CStr) -> Result<Stat, WalkError> {
        rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| self.errno(errno))
    }

    fn changed(&self) -> WalkError {
        let name = self.path.clone();
        WalkError::Changed { name }
    }
}

/// The path was checked before the entry was judged.
pub(super) fn rel(path: &[u8]) -> Result<&RelPath, WalkError> {
    RelPath::from_bytes(path).map_err(|error| WalkError::io(path, io::Error::other(error)))
}

fn odd_reason(file_type: FileType) -> SkipReason {
    match file_type {
        FileType::Fifo => SkipReason::Fifo,
        FileType::Socket => SkipReason::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => SkipReason::Device,
        _ => SkipReason::Unknown,
    }
}

/// Returns the modification time, in whole seconds since 1970.
#[expect(clippy::unnecessary_cast, reason = "the width differs between systems")]
pub(crate) fn seconds(stat: &Stat) -> i64 {
    stat.st_mtime as i64
}

/// Returns the size, in bytes; no file system has a negative one.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

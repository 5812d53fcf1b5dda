//! The one walk: what `walk` lists, `pack` sends.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use lazaret_protocol::FileTime;
use lazaret_tree::{
    CACHEDIR_SIGNATURE, CacheInside, INCOMING_DIR, LinkTarget, RelPath, is_cache_beside,
};
use rustix::fs::{AtFlags, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::WalkError;
use super::listing::Listing;
use super::open::{OpenError, open_below};
use super::small_file::{SMALL_FILE_BYTES, Small};
use super::state::{CacheCheck, Region, Walk};
use super::visitor::{KeyCheck, Visitor};
use crate::select::{
    GitPart, IgnoreFile, IgnoreMatch, Ignores, Kind, PROBE_BYTES, Rules, ScopeMatch, SecretMatch,
    git_part, is_ordinary, secret_match,
};
use crate::{FileSelector, Repository, SkipReason, Skipped, Tips, WorkspaceDir};

/// Says that a file stays out for its contents.
pub(crate) fn holds_key(path: &RelPath, stat: &Stat) -> Skipped {
    Skipped {
        name: path.as_str().as_bytes().to_vec(),
        reason: SkipReason::PrivateKey,
        bytes: Some(size(stat)),
    }
}

/// What a walk met beside what it handed over.
pub(crate) struct Traversed {
    /// What stays out, in path order.
    pub(crate) skipped: Vec<Skipped>,
    /// What the refs of the repositories name that go in.
    pub(crate) tips: Tips,
}

/// Walks everything below `root` that `selector` takes in.
///
/// One descriptor per level is open, each opened relative to the one above it,
/// never through a link. A name is listed once and opened once.
pub(crate) fn traverse<S: Visitor>(
    root: &WorkspaceDir,
    selector: &FileSelector,
    visitor: &mut S,
) -> Result<Traversed, S::Error> {
    let repository = match selector.rules() {
        Rules::Usual => Repository::find(root),
        Rules::ExcludeOnly => Ok(None),
    };
    let mut walk = Walk {
        selector,
        device: root.identity().dev,
        visitor,
        path: Vec::with_capacity(1024),
        names: Vec::new(),
        ignores: Ignores::default(),
        skipped: Vec::new(),
        repository: match &repository {
            Ok(found) => Ok(found.as_ref()),
            Err(problem) => Err(*problem),
        },
        pointers: BTreeMap::new(),
        promised: false,
        tips: Tips::default(),
    };
    // An own descriptor: reading a directory moves its position.
    let dir = open_below(root.fd(), c".", OFlags::DIRECTORY, walk.device);
    let dir = dir.map_err(|error| walk.error(error))?;
    let listing = walk.list(dir)?;
    if selector.rules() == Rules::Usual && walk.is_bare(&listing)? {
        return Err(WalkError::Bare.into());
    }
    walk.directory(&listing, Region::Workspace)?;
    let mut skipped = walk.skipped;
    skipped.sort_by(|a, b| by_component(&a.name, &b.name));
    let tips = walk.tips;
    Ok(Traversed { skipped, tips })
}

/// What the rules make of one entry.
enum SelectionDecision {
    Include,
    /// A directory may still be a cache by what lies in it.
    IncludeUnlessCache,
    Exclude(SkipReason),
}

impl<'a, S: Visitor> Walk<'a, S> {
    /// Walks what a directory holds; the directory itself was taken already.
    fn directory(&mut self, listing: &Listing, region: Region) -> Result<(), S::Error> {
        let depth = self.ignores.depth();
        let fd = listing.fd();
        if region == Region::Workspace && self.selector.rules() == Rules::Usual {
            self.read_ignore_files(listing, fd)?;
        }
        let length = self.path.len();
        for (name, file_type) in listing.entries() {
            if length != 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            self.entry(listing, fd, name, file_type, region)?;
            self.path.truncate(length);
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
        region: Region,
    ) -> Result<(), S::Error> {
        if !self.visitor.wants(&self.path) {
            return Ok(());
        }
        self.visitor.meet(&self.path)?;
        let file_type = match file_type {
            FileType::Unknown => FileType::from_raw_mode(self.stat(parent, name)?.st_mode),
            known => known,
        };
        let scope_match = self.selector.scope_match(&self.path);
        if scope_match == ScopeMatch::Outside {
            self.skip(parent, name, file_type, SkipReason::Elsewhere);
            return Ok(());
        }
        if let Err(error) = RelPath::from_bytes(&self.path) {
            self.skip(parent, name, file_type, SkipReason::Name(error));
            return Ok(());
        }
        if name == c".git" && region == Region::Workspace && self.selector.rules() == Rules::Usual {
            return self.dot_git(parent, name, file_type);
        }
        let decision = match region {
            Region::Workspace if scope_match == ScopeMatch::Ancestor => SelectionDecision::Include,
            Region::Workspace => self.decide(listing, parent, name, file_type)?,
            Region::Git { base } => self.decide_git(base, file_type),
            Region::WholeGit => match self.path.strip_prefix(b".git/").is_some_and(is_ordinary) {
                true => SelectionDecision::Exclude(SkipReason::GitPart),
                false => SelectionDecision::Include,
            },
        };
        let cache = match decision {
            SelectionDecision::Include => CacheCheck::None,
            SelectionDecision::IncludeUnlessCache => CacheCheck::Inside,
            SelectionDecision::Exclude(reason) => {
                self.skip(parent, name, file_type, reason);
                return Ok(());
            }
        };
        match file_type {
            FileType::Directory => {
                let region = match &self.path[..] {
                    b".git" => Region::WholeGit,
                    _ => region,
                };
                self.enter(parent, name, region, cache)
            }
            FileType::RegularFile => match region {
                Region::Git { base } if self.path[base..].starts_with(b"refs/") => {
                    self.loose_ref(parent, name)
                }
                _ => {
                    let check = match (region, cache) {
                        (Region::Workspace, CacheCheck::Inside) => KeyCheck::PrivateKey,
                        _ => KeyCheck::None,
                    };
                    self.file(listing, name, check)
                }
            },
            FileType::Symlink => self.symlink(parent, name),
            odd => {
                self.skip(parent, name, odd, odd_reason(odd));
                Ok(())
            }
        }
    }

    /// Applies the rules that [`FileSelector`] documents, in that order.
    fn decide(
        &self,
        listing: &Listing,
        parent: BorrowedFd<'_>,
        name: &CStr,
        file_type: FileType,
    ) -> Result<SelectionDecision, WalkError> {
        let kind = match file_type {
            FileType::Directory => Kind::Dir,
            _ => Kind::Other,
        };
        let all = self.selector.rules() == Rules::ExcludeOnly;
        if name == c".git" && all {
            return Ok(SelectionDecision::Include);
        }
        if !all && self.path == INCOMING_DIR.to_bytes() {
            return Ok(SelectionDecision::Exclude(SkipReason::Reserved));
        }
        match self.selector.profile(&self.path, kind) {
            Some(IgnoreMatch::Include) => return Ok(SelectionDecision::Include),
            Some(IgnoreMatch::Exclude) => {
                return Ok(SelectionDecision::Exclude(SkipReason::Profile));
            }
            None if all => return Ok(SelectionDecision::Include),
            None => {}
        }
        let secret_match = secret_match(&self.path, kind);
        let secret = match secret_match {
            SecretMatch::None | SecretMatch::Likely => false,
            SecretMatch::Secret => true,
            SecretMatch::Probe(probe) if file_type == FileType::RegularFile => {
                match self.read_small(parent, name, PROBE_BYTES)? {
                    Small::Whole(contents) => probe.is_secret(&contents),
                    Small::TooLong => true,
                    Small::NotAFile => false,
                }
            }
            SecretMatch::Probe(_) => false,
        };
        if secret {
            return Ok(SelectionDecision::Exclude(SkipReason::Secret));
        }
        let ignores = |file| self.ignores.ignore_match(file, &self.path, kind);
        match ignores(IgnoreFile::Lazaret) {
            Some(IgnoreMatch::Include) => return Ok(SelectionDecision::Include),
            Some(IgnoreMatch::Exclude) => {
                return Ok(SelectionDecision::Exclude(SkipReason::LazaretIgnore));
            }
            None if secret_match == SecretMatch::Likely => {
                return Ok(SelectionDecision::Exclude(SkipReason::LikelySecret));
            }
            None => {}
        }
        if kind == Kind::Dir && is_cache_beside(name, |other| listing.has(other)) {
            return Ok(SelectionDecision::Exclude(SkipReason::Cache));
        }
        Ok(match ignores(IgnoreFile::Git) {
            Some(IgnoreMatch::Exclude) => SelectionDecision::Exclude(SkipReason::GitIgnore),
            Some(IgnoreMatch::Include) | None => SelectionDecision::IncludeUnlessCache,
        })
    }

    fn decide_git(&mut self, base: usize, file_type: FileType) -> SelectionDecision {
        let kind = match file_type {
            FileType::Directory => Kind::Dir,
            FileType::RegularFile => Kind::Other,
            _ => return SelectionDecision::Exclude(SkipReason::GitPart),
        };
        match git_part(&self.path[base..], kind) {
            GitPart::Send => SelectionDecision::Include,
            GitPart::Promise => {
                self.promised = true;
                SelectionDecision::Exclude(SkipReason::GitPart)
            }
            GitPart::Exclude => SelectionDecision::Exclude(SkipReason::GitPart),
        }
    }

    pub(super) fn enter(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        region: Region,
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
        let listing = self.list(dir)?;
        if cache == CacheCheck::Inside && self.is_cache(&listing)? {
            self.skip(parent, name, FileType::Directory, SkipReason::Cache);
            return Ok(());
        }
        self.visitor.dir(rel(&self.path)?)?;
        self.directory(&listing, region)
    }

    fn is_cache(&self, inside: &Listing) -> Result<bool, WalkError> {
        match CacheInside::of(|name| inside.has(name)) {
            CacheInside::No => Ok(false),
            CacheInside::Yes => Ok(true),
            CacheInside::Tag => {
                let tag = self.read_small(inside.fd(), c"CACHEDIR.TAG", SMALL_FILE_BYTES)?;
                Ok(matches!(tag, Small::Whole(tag) if tag.starts_with(CACHEDIR_SIGNATURE)))
            }
        }
    }

    pub(super) fn file(
        &mut self,
        listing: &Listing,
        name: &CStr,
        check: KeyCheck,
    ) -> Result<(), S::Error> {
        let path = rel(&self.path)?;
        if self.visitor.takes(path, listing.dir(), check)? {
            return Ok(());
        }
        match listing.dir().open_file(name, path)? {
            Some((file, stat)) => self.visitor.file(path, file, &stat, check),
            None => {
                self.skip(listing.fd(), name, FileType::RegularFile, SkipReason::Mount);
                Ok(())
            }
        }
    }

    fn symlink(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<(), S::Error> {
        let target = match rustix::fs::readlinkat(parent, name, Vec::new()) {
            Ok(target) => target,
            Err(Errno::INVAL) => return Err(self.changed().into()),
            Err(errno) => return Err(self.errno(errno).into()),
        };
        let stat = self.stat(parent, name)?;
        match LinkTarget::from_bytes(target.to_bytes()) {
            Ok(target) => self
                .visitor
                .symlink(rel(&self.path)?, target, FileTime::modified(&stat)),
            Err(error) => {
                self.skip(parent, name, FileType::Symlink, SkipReason::Target(error));
                Ok(())
            }
        }
    }

    pub(super) fn skip(
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
        stat_below(parent, name, &self.path)
    }
}

fn stat_below(parent: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Result<Stat, WalkError> {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| WalkError::io(path, errno))
}

/// Adds to what a walk left out, in path order, what was left out beside it.
pub(crate) fn in_order(mut skipped: Vec<Skipped>, more: Vec<Skipped>) -> Vec<Skipped> {
    if !more.is_empty() {
        skipped.extend(more);
        skipped.sort_by(|one, other| by_component(&one.name, &other.name));
    }
    skipped
}

fn by_component(one: &[u8], other: &[u8]) -> Ordering {
    let components = |path| <[u8]>::split(path, |&byte| byte == b'/');
    components(one).cmp(components(other))
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

/// Returns the size, in bytes; no file system has a negative one.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

//! A repository into the copy: self-contained, and nothing in it but what git needs.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{FileType, OFlags};

use super::WalkError;
use super::listing::Listing;
use super::open::open_below;
use super::small_file::Small;
use super::state::{CacheCheck, Region, Walk};
use super::traverse::rel;
use super::visitor::{KeyCheck, Visitor};
use crate::repository::{
    Module, RefStorage, Repository, is_hex, packed_refs, reference, reflog, shallow,
};
use crate::{GitMode, GitProblem, SkipReason, Skipped, WorkspaceDir};

/// The longest text file of git's that is rewritten, in bytes: 700,000 packed refs.
const TEXT_BYTES: usize = 64 << 20;

/// The two directories of a repository, listed, and what was made instead of parts of it.
struct Sources<'a> {
    own: Listing,
    common: Listing,
    made: Option<Listing>,
    repository: &'a Repository,
}

impl Sources<'_> {
    /// Where `HEAD` is.
    fn head(&self) -> &Listing {
        self.made.as_ref().unwrap_or(&self.own)
    }

    /// Where the other refs are.
    fn refs(&self) -> &Listing {
        self.made.as_ref().unwrap_or(&self.common)
    }

    /// Where the objects are.
    fn objects(&self) -> &Listing {
        let made = self.made.as_ref().filter(|made| made.has(c"objects"));
        made.unwrap_or(&self.common)
    }
}

impl<'a, S: Visitor> Walk<'a, S> {
    /// Handles a `.git` in the workspace, whatever it is.
    pub(super) fn dot_git(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        file_type: FileType,
    ) -> Result<(), S::Error> {
        let reason = match self.path.strip_suffix(b"/.git") {
            Some(dir) => {
                let dir = rel(dir)?;
                if let (FileType::RegularFile, Some(pointer)) = (file_type, self.pointers.get(dir))
                {
                    return self.visitor.made(rel(&self.path)?, pointer.as_bytes());
                }
                match file_type {
                    FileType::Directory => SkipReason::GitNested,
                    _ => SkipReason::GitFile,
                }
            }
            None => match (self.selector.git(), self.repository) {
                (GitMode::None, _) => SkipReason::GitNone,
                (_, Err(problem)) => SkipReason::Git(problem),
                (_, Ok(None)) => return Err(self.changed().into()),
                (_, Ok(Some(repository))) => match self.unmade(repository) {
                    Some(reason) => reason,
                    None => return self.repository(repository, None),
                },
            },
        };
        self.skip(parent, name, file_type, reason);
        Ok(())
    }

    /// Whether git would take the root for a repository without files.
    pub(super) fn is_bare(&self, root: &Listing) -> Result<bool, WalkError> {
        if root.has(c".git") || !(root.is_dir(c"objects") && root.is_dir(c"refs")) {
            return Ok(false);
        }
        if !root.is_file(c"HEAD") {
            return Ok(false);
        }
        Ok(match self.read_small(root.fd(), c"HEAD", 1024)? {
            Small::Whole(head) => reference(&head).is_some(),
            Small::TooLong | Small::NotAFile => false,
        })
    }

    /// Why a repository can't be sent although its form is understood.
    pub(super) fn unmade(&self, repository: &Repository) -> Option<SkipReason> {
        if self.selector.made(&self.path).is_some() {
            return None;
        }
        match (self.selector.git(), repository.refs()) {
            (GitMode::Shallow, _) => Some(SkipReason::GitShallow),
            (_, RefStorage::Tables) => Some(SkipReason::Git(GitProblem::Unmade)),
            (_, RefStorage::Files) => None,
        }
    }

    /// Sends the repository of the directory above `self.path`, which ends in `.git` or
    /// lies in the `modules` of such a one.
    pub(super) fn repository(
        &mut self,
        repository: &'a Repository,
        module: Option<&'a Module>,
    ) -> Result<(), S::Error> {
        let device = self.device;
        let sources = Sources {
            own: self.list_at(repository.own())?,
            common: self.list_at(repository.common())?,
            made: match self.selector.made(&self.path) {
                Some(made) => Some(self.list_at(made)?),
                None => None,
            },
            repository,
        };
        self.visitor.dir(rel(&self.path)?)?;
        let sent = self.parts(&sources, module);
        sent?;
        if std::mem::take(&mut self.promised) {
            self.skipped.push(Skipped {
                name: self.path.clone(),
                reason: SkipReason::GitPartial,
                bytes: None,
            });
        }
        for (name, file_type) in sources.own.entries() {
            // The rest of what git keeps elsewhere is no part of the workspace.
            let modules = name == c"modules" && !repository.modules().is_empty();
            if !(is_sent(name) || modules || repository.is_worktree()) {
                self.within(&sources.own, name, |walk, fd| {
                    walk.skip(fd, name, file_type, SkipReason::GitPart);
                    Ok(())
                })?;
            }
        }
        self.device = device;
        Ok(())
    }

    /// The parts, in path order.
    fn parts(&mut self, sources: &Sources<'a>, module: Option<&'a Module>) -> Result<(), S::Error> {
        let Sources { own, common, .. } = sources;
        let repository = sources.repository;
        self.text(sources.head(), c"HEAD", |head| reference(&head))?;
        self.config(repository, module)?;
        self.whole(own, c"index")?;
        self.info(own, common, repository)?;
        if self.selector.git() == GitMode::Full && repository.refs() == RefStorage::Files {
            self.stash(common)?;
        }
        self.modules(repository)?;
        self.branch(sources.objects(), c"objects")?;
        self.text(sources.refs(), c"packed-refs", |refs| {
            Some(packed_refs(&refs))
        })?;
        self.branch(sources.refs(), c"refs")?;
        self.text(sources.refs(), c"shallow", |ids| Some(shallow(&ids)))?;
        for (name, _) in own.entries() {
            if is_shared_index(name.to_bytes()) {
                self.whole(own, name)?;
            }
        }
        Ok(())
    }

    /// Patterns only; attributes, which choose filters, and grafts stay out.
    fn info(
        &mut self,
        own: &Listing,
        common: &Listing,
        repository: &Repository,
    ) -> Result<(), S::Error> {
        let parts = [(common, c"exclude"), (own, c"sparse-checkout")];
        let mut found = Vec::new();
        for (listing, name) in parts {
            if listing.is_dir(c"info") {
                self.device = listing.dir().device();
                let fd = listing.fd();
                let info = open_below(fd, c"info", OFlags::DIRECTORY, self.device);
                let info = info.map_err(|error| self.error(error))?;
                let info = self.list(info)?;
                let other = |other: &CStr| other != c"exclude" && other != c"sparse-checkout";
                if name == c"exclude" && !repository.is_worktree() {
                    self.below(b"info", |walk| {
                        for (name, file_type) in info.entries().filter(|(name, _)| other(name)) {
                            walk.within(&info, name, |walk, fd| {
                                walk.skip(fd, name, file_type, SkipReason::GitPart);
                                Ok(())
                            })?;
                        }
                        Ok(())
                    })?;
                }
                if info.is_file(name) {
                    found.push((info, name));
                }
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        self.below(b"info", |walk| {
            walk.visitor.dir(rel(&walk.path)?)?;
            for (info, name) in &found {
                walk.whole(info, name)?;
            }
            Ok(())
        })
    }

    /// Stashes but the newest are known to a reflog only. The other reflogs hold what was
    /// fetched from where, and stay out.
    fn stash(&mut self, common: &Listing) -> Result<(), S::Error> {
        let fd = common.fd();
        let open =
            |dir: BorrowedFd<'_>, name| open_below(dir, name, OFlags::DIRECTORY, self.device);
        let refs = open(fd, c"logs").and_then(|logs| open(logs.as_fd(), c"refs"));
        let Ok(refs) = refs else {
            return Ok(());
        };
        let refs = self.list(refs)?;
        if !refs.is_file(c"stash") {
            return Ok(());
        }
        self.below(b"logs", |walk| {
            walk.visitor.dir(rel(&walk.path)?)?;
            walk.below(b"refs", |walk| {
                walk.visitor.dir(rel(&walk.path)?)?;
                walk.text(&refs, c"stash", |log| Some(reflog(&log)))
            })
        })
    }

    /// Sends a directory of the repository, by the rules for its parts.
    fn branch(&mut self, parent: &Listing, name: &CStr) -> Result<(), S::Error> {
        if !parent.is_dir(name) {
            return Ok(());
        }
        let region = Region::Git {
            base: self.path.len() + 1,
        };
        self.within(parent, name, |walk, fd| {
            walk.enter(fd, name, region, CacheCheck::None)
        })
    }

    /// Sends a file as it is.
    fn whole(&mut self, parent: &Listing, name: &CStr) -> Result<(), S::Error> {
        if !parent.is_file(name) {
            return Ok(());
        }
        self.within(parent, name, |walk, _| {
            walk.file(parent, name, KeyCheck::None)
        })
    }

    /// Sends what `clean` makes of a text file; what it can't make anything of stays out.
    fn text(
        &mut self,
        parent: &Listing,
        name: &CStr,
        clean: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>,
    ) -> Result<(), S::Error> {
        if !parent.is_file(name) {
            return Ok(());
        }
        self.within(parent, name, |walk, fd| walk.cleaned(fd, name, clean))
    }

    /// Sends the loose ref at `self.path`.
    pub(super) fn loose_ref(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<(), S::Error> {
        self.cleaned(parent, name, |contents| reference(&contents))
    }

    fn cleaned(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        clean: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>,
    ) -> Result<(), S::Error> {
        match self.read_small(parent, name, TEXT_BYTES)? {
            Small::Whole(contents) => match clean(contents) {
                Some(made) => {
                    self.tips.read(&made);
                    self.visitor.made(rel(&self.path)?, &made)
                }
                None => {
                    self.skip(parent, name, FileType::RegularFile, SkipReason::GitPart);
                    Ok(())
                }
            },
            Small::TooLong => Err(WalkError::io(
                &self.path,
                std::io::Error::other("is longer than 64 MiB"),
            )
            .into()),
            Small::NotAFile => Err(self.changed().into()),
        }
    }

    fn list_at(&mut self, dir: &WorkspaceDir) -> Result<Listing, S::Error> {
        self.device = dir.identity().dev;
        let own = open_below(dir.fd(), c".", OFlags::DIRECTORY, self.device);
        let own = own.map_err(|error| self.error(error))?;
        self.list(own)
    }

    /// Does something with an entry of one of the repository's directories.
    fn within(
        &mut self,
        parent: &Listing,
        name: &CStr,
        work: impl FnOnce(&mut Self, BorrowedFd<'_>) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        self.device = parent.dir().device();
        self.below(name.to_bytes(), |walk| work(walk, parent.fd()))
    }

    /// Does something one name further down.
    pub(super) fn below(
        &mut self,
        name: &[u8],
        work: impl FnOnce(&mut Self) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        let length = self.path.len();
        self.path.push(b'/');
        self.path.extend_from_slice(name);
        let done = work(self);
        self.path.truncate(length);
        done
    }
}

/// Names in a repository that are sent, or of which something is.
fn is_sent(name: &CStr) -> bool {
    matches!(
        name.to_bytes(),
        b"HEAD" | b"index" | b"info" | b"objects" | b"packed-refs" | b"refs" | b"shallow"
    ) || is_shared_index(name.to_bytes())
}

/// A split index has its larger half in such a file.
fn is_shared_index(name: &[u8]) -> bool {
    name.strip_prefix(b"sharedindex.").is_some_and(is_hex)
}

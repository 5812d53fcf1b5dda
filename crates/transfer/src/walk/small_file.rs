//! The small files that steer the walk: ignore files, tags, git's configuration.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use lazaret_tree::RelPath;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::WalkError;
use super::listing::Listing;
use super::open::{OpenError, open_below};
use super::state::Walk;
use super::visitor::Visitor;
use crate::Repository;
use crate::select::{BadLine, IgnoreFile};

/// The longest ignore file or repository configuration that is read, in bytes.
pub(super) const SMALL_FILE_BYTES: usize = 1 << 20;

/// What a small file turned out to be.
pub(super) enum Small {
    Whole(Vec<u8>),
    TooLong,
    NotAFile,
}

impl<S: Visitor> Walk<'_, S> {
    /// Adds the ignore files of the directory at `self.path`.
    pub(super) fn read_ignore_files(
        &mut self,
        listing: &Listing,
        dir: BorrowedFd<'_>,
    ) -> Result<(), WalkError> {
        let own = self.path.is_empty() || self.repository_here().is_some();
        if own && listing.has(c".git") {
            let exclude = self.read_git_exclude(dir)?;
            self.add_rules(IgnoreFile::Git, c"info/exclude", exclude)?;
        }
        for (name, file) in [
            (c".gitignore", IgnoreFile::Git),
            (c".lazaretignore", IgnoreFile::Lazaret),
        ] {
            if listing.has(name) {
                let contents = self.read_small(dir, name, SMALL_FILE_BYTES)?;
                self.add_rules(file, name, contents)?;
            }
        }
        Ok(())
    }

    fn add_rules(
        &mut self,
        file: IgnoreFile,
        name: &CStr,
        contents: Small,
    ) -> Result<(), WalkError> {
        let prefix = match self.path.len() {
            0 => 0,
            length => length + 1,
        };
        let mut at = self.path.clone();
        if prefix != 0 {
            at.push(b'/');
        }
        at.extend_from_slice(name.to_bytes());
        let contents = match (contents, file) {
            (Small::Whole(contents), _) => contents,
            // Git does not follow a link either.
            (Small::NotAFile, IgnoreFile::Git) => return Ok(()),
            (Small::NotAFile, IgnoreFile::Lazaret) => {
                let error = io::Error::other("an ignore file has to be a regular file");
                return Err(WalkError::io(&at, error));
            }
            (Small::TooLong, _) => {
                let error = io::Error::other("an ignore file is longer than 1 MiB");
                return Err(WalkError::io(&at, error));
            }
        };
        let pushed = self.ignores.push(prefix, file, &contents);
        pushed.map_err(|BadLine { line, message }| WalkError::IgnoreLine {
            name: at,
            line,
            message,
        })
    }

    /// Reads `info/exclude` of the repository whose files lie here.
    fn read_git_exclude(&self, here: BorrowedFd<'_>) -> Result<Small, WalkError> {
        let open =
            |dir: BorrowedFd<'_>, name| open_below(dir, name, OFlags::DIRECTORY, self.device);
        let info = match self.repository_here() {
            Some(repository) => open(repository.common().fd(), c"info"),
            None => open(here, c".git").and_then(|git| open(git.as_fd(), c"info")),
        };
        // No repository of ours, or none with excludes: nothing to read.
        let Ok(info) = info else {
            return Ok(Small::NotAFile);
        };
        match self.read_small(info.as_fd(), c"exclude", SMALL_FILE_BYTES) {
            Err(WalkError::Vanished { .. }) => Ok(Small::NotAFile),
            outcome => outcome,
        }
    }

    fn repository_here(&self) -> Option<&Repository> {
        let repository = self.repository.ok()??;
        match RelPath::from_bytes(&self.path) {
            Ok(path) => repository.module_at(path),
            Err(_) => Some(repository),
        }
    }

    /// Reads a file of at most `limit` bytes.
    pub(super) fn read_small(
        &self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        limit: usize,
    ) -> Result<Small, WalkError> {
        let file = match open_below(dir, name, OFlags::empty(), self.device) {
            Ok(file) => file,
            Err(OpenError::Mount | OpenError::Errno(Errno::LOOP | Errno::NXIO)) => {
                return Ok(Small::NotAFile);
            }
            Err(error) => return Err(self.error(error)),
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| self.errno(errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Small::NotAFile);
        }
        let mut contents = Vec::new();
        let mut file = File::from(file).take(limit as u64 + 1);
        let read = file.read_to_end(&mut contents);
        read.map_err(|error| WalkError::io(&self.path, error))?;
        Ok(match contents.len() > limit {
            true => Small::TooLong,
            false => Small::Whole(contents),
        })
    }
}

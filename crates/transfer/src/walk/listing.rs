//! `Listing`: a directory that the walk is in.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::engine::{Sink, Walk};

/// One directory, open, with its names in order.
pub(super) struct Listing {
    dir: Dir,
    entries: Vec<(CString, FileType)>,
    /// What `open_below` holds its entries to.
    pub(super) device: u64,
}

impl Listing {
    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.dir.fd()
    }

    pub(super) fn entries(&self) -> &[(CString, FileType)] {
        &self.entries
    }

    pub(super) fn has(&self, name: &CStr) -> bool {
        let entries = &self.entries;
        entries
            .binary_search_by(|(other, _)| (**other).cmp(name))
            .is_ok()
    }

    pub(super) fn is_dir(&self, name: &CStr) -> bool {
        self.file_type(name) == Some(FileType::Directory)
    }

    pub(super) fn is_file(&self, name: &CStr) -> bool {
        self.file_type(name) == Some(FileType::RegularFile)
    }

    fn file_type(&self, name: &CStr) -> Option<FileType> {
        let entries = &self.entries;
        let found = entries.binary_search_by(|(other, _)| (**other).cmp(name));
        match entries[found.ok()?].1 {
            FileType::Unknown => {
                let stat = rustix::fs::statat(self.fd().ok()?, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
            }
            known => Some(known),
        }
    }
}

impl<S: Sink> Walk<'_, S> {
    /// Reads the names of a directory, sorted by bytes: that is path order.
    pub(super) fn list(&mut self, dir: OwnedFd) -> Result<Listing, S::Error> {
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
        Ok(Listing {
            dir,
            entries,
            device: self.device,
        })
    }
}

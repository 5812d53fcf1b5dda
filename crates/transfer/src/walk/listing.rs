//! `Listing`: a directory that the walk is in.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::open::OpenDir;
use super::state::Walk;
use super::visitor::Visitor;

/// One directory, open, with its names in order.
pub(super) struct Listing {
    dir: OpenDir,
    /// The names, each with its NUL, one after the other.
    text: Vec<u8>,
    entries: Vec<Named>,
}

/// A name of a listing.
#[derive(Debug, Clone, Copy)]
struct Named {
    start: usize,
    end: usize,
    file_type: FileType,
}

impl Listing {
    pub(super) fn dir(&self) -> &OpenDir {
        &self.dir
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.fd()
    }

    /// Iterates in path order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        let entries = self.entries.iter();
        entries.map(|named| (self.name(named), named.file_type))
    }

    pub(super) fn has(&self, name: &CStr) -> bool {
        self.find(name).is_some()
    }

    pub(super) fn is_dir(&self, name: &CStr) -> bool {
        self.file_type(name) == Some(FileType::Directory)
    }

    pub(super) fn is_file(&self, name: &CStr) -> bool {
        self.file_type(name) == Some(FileType::RegularFile)
    }

    fn file_type(&self, name: &CStr) -> Option<FileType> {
        match self.find(name)?.file_type {
            FileType::Unknown => {
                let stat = rustix::fs::statat(self.fd(), name, AtFlags::SYMLINK_NOFOLLOW);
                stat.ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
            }
            known => Some(known),
        }
    }

    fn find(&self, name: &CStr) -> Option<&Named> {
        let name = name.to_bytes_with_nul();
        let found = self.entries.binary_search_by(|named| {
            let other = &self.text[named.start..named.end];
            other.cmp(name)
        });
        Some(&self.entries[found.ok()?])
    }

    fn name(&self, named: &Named) -> &CStr {
        let text = &self.text[named.start..named.end];
        CStr::from_bytes_until_nul(text).unwrap_or_default()
    }

    fn sort(&mut self) {
        let text = &self.text;
        let by_name = |one: &Named, other: &Named| -> Ordering {
            text[one.start..one.end].cmp(&text[other.start..other.end])
        };
        self.entries.sort_unstable_by(by_name);
    }
}

impl<S: Visitor> Walk<'_, S> {
    /// Reads the names of a directory, sorted by bytes: that is path order.
    pub(super) fn list(&mut self, dir: OwnedFd) -> Result<Listing, S::Error> {
        let mut listing = Listing {
            dir: OpenDir::new(dir, self.device),
            text: Vec::new(),
            entries: Vec::new(),
        };
        let Listing {
            dir, text, entries, ..
        } = &mut listing;
        let mut buffer = std::mem::take(&mut self.names);
        each_name(dir.fd(), &mut buffer, |found| {
            let (name, file_type) = found.map_err(|errno| self.errno(errno))?;
            if name == c"." || name == c".." {
                return Ok(());
            }
            let start = text.len();
            text.extend_from_slice(name.to_bytes_with_nul());
            let end = text.len();
            entries.push(Named {
                start,
                end,
                file_type,
            });
            self.visitor.listed(entries.len())
        })?;
        self.names = buffer;
        listing.sort();
        Ok(listing)
    }
}

/// Reads what the kernel says of a directory, in its own order, from where `dir` stands.
#[cfg(target_os = "linux")]
fn each_name<E>(
    dir: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    mut take: impl FnMut(Result<(&CStr, FileType), Errno>) -> Result<(), E>,
) -> Result<(), E> {
    /// A name has 255 bytes at most, so many fit.
    const BUFFER: usize = 32 << 10;
    buffer.reserve(BUFFER);
    let mut names = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = names.next() {
        match entry {
            Ok(entry) => take(Ok((entry.file_name(), entry.file_type())))?,
            Err(errno) => take(Err(errno))?,
        }
    }
    Ok(())
}

/// Reads what the system says of a directory, in its own order, from where `dir` stands.
#[cfg(not(target_os = "linux"))]
fn each_name<E>(
    dir: BorrowedFd<'_>,
    _: &mut Vec<u8>,
    mut take: impl FnMut(Result<(&CStr, FileType), Errno>) -> Result<(), E>,
) -> Result<(), E> {
    let mut names = match rustix::fs::Dir::read_from(dir) {
        Ok(names) => names,
        Err(errno) => return take(Err(errno)),
    };
    while let Some(entry) = names.read() {
        match entry {
            Ok(entry) => take(Ok((entry.file_name(), entry.file_type())))?,
            Err(errno) => take(Err(errno))?,
        }
    }
    Ok(())
}

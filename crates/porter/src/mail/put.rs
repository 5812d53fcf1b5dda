//! Puts a file into `mail/in`, whole or not at all.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use lazaret_protocol::InFile;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::MailError;

/// Puts it in the place of whatever lies there.
pub(super) fn put(into: &OwnedFd, file: InFile, contents: &[u8]) -> Result<(), MailError> {
    let name = file.name();
    write(into, name, contents).map_err(|source| MailError::Put { name, source })
}

fn write(into: &OwnedFd, name: &str, contents: &[u8]) -> io::Result<()> {
    let partial = CString::new(format!(".{name}.partial"))?;
    match rustix::fs::unlinkat(into, &partial, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(into, &partial, flags, Mode::RUSR | Mode::WUSR)?;
    File::from(opened).write_all(contents)?;
    Ok(rustix::fs::renameat(into, &partial, into, name)?)
}

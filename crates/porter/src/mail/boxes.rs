//! The directories in which a command leaves mail.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};

use lazaret_protocol::{FileTime, MAX_MAIL_FILE, MailEntry, MailId, OutBox};
use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat};
use rustix::io::Errno;

use crate::files::root;

/// What comes after the name of a directory that can't be removed: mail ends in `.json`.
const REFUSED: &[u8] = b".refused";

/// Opens a directory of the mailbox. What lies there instead is removed: a link could lead
/// anywhere.
pub(super) fn dir(parent: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    match root::open_dir(&parent, name) {
        // ELOOP or ENOTDIR for a link (`man 2 open`, O_NOFOLLOW with O_DIRECTORY).
        Err(Errno::LOOP | Errno::NOTDIR) => {
            rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
        }
        Err(Errno::NOENT) => {}
        opened => return opened,
    }
    match rustix::fs::mkdirat(&parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => root::open_dir(&parent, name),
        Err(errno) => Err(errno),
    }
}

/// Tells of the first `most` entries by name that end in `.json`. A name that begins with a dot is
/// that of a file which is not whole yet.
pub(super) fn look(
    out_box: OutBox,
    dir: &OwnedFd,
    most: usize,
) -> Result<Vec<(MailId, MailEntry)>, Errno> {
    let mut first: BTreeSet<CString> = BTreeSet::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let bytes = name.to_bytes();
        if !bytes.ends_with(b".json") || bytes.starts_with(b".") {
            continue;
        }
        first.insert(name.to_owned());
        if first.len() > most {
            first.pop_last();
        }
    }
    let told = first.iter().filter_map(|name| tell(out_box, dir, name));
    Ok(told.collect())
}

/// Tells of one entry; `None` if it is gone.
fn tell(out_box: OutBox, dir: &OwnedFd, name: &CStr) -> Option<(MailId, MailEntry)> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let (stat, entry) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => match read(dir, name) {
            Ok(read) => read,
            Err(Errno::NOENT) => return None,
            Err(_) => (stat, MailEntry::Closed),
        },
        FileType::Symlink => (stat, MailEntry::Link),
        FileType::Directory => (stat, MailEntry::Dir),
        _ => (stat, MailEntry::Special),
    };
    Some((id_of(out_box, name, &stat), entry))
}

/// Reads a file. It is told as it was before it was read: one that changes meanwhile is another
/// one, and is not removed.
fn read(dir: &OwnedFd, name: &CStr) -> Result<(Stat, MailEntry), Errno> {
    let file = root::open_regular(dir, name)?;
    let stat = rustix::fs::fstat(&file)?;
    let mut contents = Vec::new();
    let read = file
        .take(MAX_MAIL_FILE as u64 + 1)
        .read_to_end(&mut contents);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    match contents.len() > MAX_MAIL_FILE {
        true => Ok((stat, MailEntry::Large)),
        false => Ok((stat, MailEntry::File(contents))),
    }
}

/// Removes an entry, if it is still the same.
pub(super) fn remove(dir: &OwnedFd, id: &MailId) -> Result<(), Errno> {
    let name = CString::new(id.name.clone()).map_err(|_| Errno::INVAL)?;
    let stat = match rustix::fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        stat => stat?,
    };
    if id_of(id.out_box, &name, &stat) != *id {
        return Ok(());
    }
    let flags = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => AtFlags::REMOVEDIR,
        _ => AtFlags::empty(),
    };
    match rustix::fs::unlinkat(dir, &name, flags) {
        Err(Errno::NOENT) => Ok(()),
        // There is something in it, of which nothing is mail.
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            let mut refused = id.name.clone();
            refused.truncate(200);
            refused.extend_from_slice(format!(".{}", id.ino).as_bytes());
            refused.extend_from_slice(REFUSED);
            let refused = CString::new(refused).map_err(|_| Errno::INVAL)?;
            rustix::fs::renameat(dir, &name, dir, &refused)
        }
        removed => removed,
    }
}

fn id_of(out_box: OutBox, name: &CStr, stat: &Stat) -> MailId {
    MailId {
        out_box,
        name: name.to_bytes().to_vec(),
        ino: stat.st_ino,
        changed: FileTime {
            seconds: stat.st_ctime,
            nanos: u32::try_from(stat.st_ctime_nsec).unwrap_or_default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::CWD;

    use super::*;

    fn open(path: &std::path::Path) -> OwnedFd {
        rustix::fs::openat(CWD, path, rustix::fs::OFlags::RDONLY, Mode::empty()).unwrap()
    }

    #[test]
    fn mail_01_nothing_but_a_regular_file_is_read() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("a.json"), "{}").unwrap();
        fs::write(at("b.json"), vec![0; MAX_MAIL_FILE + 1]).unwrap();
        symlink(at("a.json"), at("c.json")).unwrap();
        fs::create_dir_all(at("d.json/in")).unwrap();
        rustix::fs::mknodat(CWD, at("e.json"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::write(at("f.txt"), "").unwrap();
        fs::write(at(".g.json"), "").unwrap();
        let dir = open(scratch.path());
        let found = look(OutBox::Messages, &dir, 100).unwrap();
        let kinds: Vec<&MailEntry> = found.iter().map(|(_, entry)| entry).collect();
        let whole = MailEntry::File(b"{}".to_vec());
        let expected = [
            &whole,
            &MailEntry::Large,
            &MailEntry::Link,
            &MailEntry::Dir,
            &MailEntry::Special,
        ];
        assert_eq!(kinds, expected);
        // All of it can be put out of the way.
        for (id, _) in &found {
            remove(&dir, id).unwrap();
        }
        assert_eq!(look(OutBox::Messages, &dir, 100).unwrap(), []);
        assert!(at("f.txt").exists());
    }

    #[test]
    fn a_file_that_changed_is_not_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("a.json");
        fs::write(&file, "{}").unwrap();
        let dir = open(scratch.path());
        let found = look(OutBox::Tasks, &dir, 1).unwrap();
        let other = scratch.path().join("b");
        fs::write(&other, "{\"a\":1}").unwrap();
        fs::rename(&other, &file).unwrap();
        remove(&dir, &found[0].0).unwrap();
        assert!(file.exists());
    }

    #[test]
    fn only_the_first_names_are_kept_in_mind() {
        let scratch = tempfile::tempdir().unwrap();
        for number in 0..300 {
            fs::write(scratch.path().join(format!("{number:03}.json")), "{}").unwrap();
        }
        let found = look(OutBox::Tasks, &open(scratch.path()), 3).unwrap();
        let names: Vec<&[u8]> = found.iter().map(|(id, _)| &*id.name).collect();
        assert_eq!(names, [&b"000.json"[..], b"001.json", b"002.json"]);
        assert_eq!(look(OutBox::Tasks, &open(scratch.path()), 0).unwrap(), []);
    }

    #[test]
    fn a_link_in_place_of_a_box_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("a.json"), "{}").unwrap();
        symlink(elsewhere.path(), scratch.path().join("mail")).unwrap();
        let opened = dir(open(scratch.path()), c"mail").unwrap();
        assert_eq!(look(OutBox::Tasks, &opened, 9).unwrap(), []);
        assert!(elsewhere.path().join("a.json").exists());
    }
}

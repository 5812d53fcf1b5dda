//! `Faulty`: the host's operations, counted, with a fault at one of them.
//!
//! Every operation of [`Ops`] passes [`Faulty::step`], so that "at every operation" is
//! a loop and not an opinion; which ones failed is kept, so that a test can tell that
//! none was left out.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lazaret_tree::{RelPath, RelPathBuf};
use rustix::io::Errno;

use super::power::Recorder;
use crate::apply::ops::{HostOps, ImmutableFlag, Kind, Ops, Rename, Stat, Time};

/// What goes wrong at one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// The operation does not happen and says this.
    Fail(Errno),
    /// Nor does any after it: the process was killed.
    Kill,
}

/// What the file system can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Able {
    All,
    NoExchange,
    NoNoReplace,
    /// Neither of these, nor hard links.
    Nothing,
    /// As overlayfs: no directory that was there before can be renamed.
    NoOldDirs,
    /// No extended attributes, and so no access control lists.
    NoAttributes,
    /// Names that differ in case only are one name, and keep the case they were made in.
    Folds,
}

/// The methods of [`Ops`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    OpenAmbient,
    OpenBeneath,
    Dup,
    OpenRead,
    StatAt,
    Stat,
    List,
    ReadLink,
    Read,
    Attributes,
    Attribute,
    SetAttribute,
    RemoveAttribute,
    Pinned,
    Writable,
    Create,
    Write,
    Mkdir,
    Symlink,
    Rename,
    Link,
    Unlink,
    Rmdir,
    Chmod,
    Chown,
    SetMtime,
    Sync,
    SyncAll,
}

impl Op {
    /// Every method.
    pub(super) const ALL: [Self; 28] = [
        Self::OpenAmbient,
        Self::OpenBeneath,
        Self::Dup,
        Self::OpenRead,
        Self::StatAt,
        Self::Stat,
        Self::List,
        Self::ReadLink,
        Self::Read,
        Self::Attributes,
        Self::Attribute,
        Self::SetAttribute,
        Self::RemoveAttribute,
        Self::Pinned,
        Self::Writable,
        Self::Create,
        Self::Write,
        Self::Mkdir,
        Self::Symlink,
        Self::Rename,
        Self::Link,
        Self::Unlink,
        Self::Rmdir,
        Self::Chmod,
        Self::Chown,
        Self::SetMtime,
        Self::Sync,
        Self::SyncAll,
    ];
}

/// The host's operations, with a fault at the `at`-th.
#[derive(Debug)]
pub(super) struct Faulty {
    pub(super) host: HostOps,
    at: usize,
    fault: Fault,
    able: Able,
    umask: Option<u32>,
    count: AtomicUsize,
    failed: Mutex<Option<Op>>,
    hook: Mutex<Option<Hook>>,
    recorder: Option<Arc<Recorder>>,
}

/// Something that happens just before a rename to or from this name.
struct Hook {
    name: &'static str,
    run: Box<dyn FnOnce() + Send>,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Faulty {
    pub(super) fn new(fault: Fault, at: usize) -> Self {
        Self {
            host: HostOps::new(),
            at,
            fault,
            able: Able::All,
            umask: None,
            count: AtomicUsize::new(0),
            failed: Mutex::new(None),
            hook: Mutex::new(None),
            recorder: None,
        }
    }

    pub(super) fn none() -> Self {
        Self::new(Fault::None, 0)
    }

    pub(super) fn able(self, able: Able) -> Self {
        Self { able, ..self }
    }

    /// Makes directories as if this were the umask, which is one for all threads.
    pub(super) fn umask(self, umask: u32) -> Self {
        let umask = Some(umask);
        Self { umask, ..self }
    }

    /// Has everything that changes something recorded, and inodes numbered by it.
    pub(super) fn recorded(self, recorder: &Arc<Recorder>) -> Self {
        let recorder = Some(Arc::clone(recorder));
        Self { recorder, ..self }
    }

    pub(super) fn with_hook(self, name: &'static str, run: impl FnOnce() + Send + 'static) -> Self {
        let run = Box::new(run);
        *self.hook.lock().unwrap() = Some(Hook { name, run });
        self
    }

    /// How many operations there were.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The operation that the fault met; `None` when there were too few.
    pub(super) fn failed(&self) -> Option<Op> {
        *self.failed.lock().unwrap()
    }

    fn step(&self, op: Op) -> io::Result<()> {
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        if self.fault != Fault::None && n == self.at {
            *self.failed.lock().unwrap() = Some(op);
        }
        match self.fault {
            Fault::Fail(errno) if n == self.at => Err(errno.into()),
            Fault::Kill if n >= self.at => Err(Errno::CANCELED.into()),
            _ => Ok(()),
        }
    }

    /// The name that is meant by `name`.
    fn name(&self, dir: BorrowedFd<'_>, name: &str) -> String {
        let names = match self.able {
            Able::Folds => self.host.list(dir).unwrap_or_default(),
            _ => return name.to_owned(),
        };
        let texts = names.iter().filter_map(|other| other.to_str());
        let mut same = texts.filter(|other| other.to_lowercase() == name.to_lowercase());
        same.next().unwrap_or(name).to_owned()
    }

    /// The path that is meant by `path`.
    fn path(&self, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<RelPathBuf> {
        if self.able != Able::Folds {
            return Ok(path.to_owned());
        }
        let mut real: Option<RelPathBuf> = None;
        for component in path.components() {
            let dir = match &real {
                Some(real) => self.host.open_beneath(root, real)?,
                None => self.host.dup(root)?,
            };
            let name = self.name(dir.as_fd(), component);
            real = Some(match real {
                Some(real) => real.join(&name).map_err(io::Error::other)?,
                None => name.parse().map_err(io::Error::other)?,
            });
        }
        real.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_deref()
    }
}

type At<'a> = (BorrowedFd<'a>, &'a str);

impl Ops for Faulty {
    fn open_ambient(&self, path: &Path) -> io::Result<OwnedFd> {
        self.step(Op::OpenAmbient)?;
        self.host.open_ambient(path)
    }
    fn open_beneath(&self, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
        self.step(Op::OpenBeneath)?;
        self.host.open_beneath(root, &self.path(root, path)?)
    }
    fn dup(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        self.step(Op::Dup)?;
        self.host.dup(fd)
    }
    fn open_read(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step(Op::OpenRead)?;
        self.host.open_read(dir, &self.name(dir, name))
    }
    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Stat>> {
        self.step(Op::StatAt)?;
        let stat = self.host.stat_at(dir, &self.name(dir, name))?;
        Ok(match self.recorder() {
            Some(recorder) => stat.map(|stat| recorder.renumber(stat)),
            None => stat,
        })
    }
    fn stat(&self, fd: BorrowedFd<'_>) -> io::Result<Stat> {
        self.step(Op::Stat)?;
        let stat = self.host.stat(fd)?;
        Ok(match self.recorder() {
            Some(recorder) => recorder.renumber(stat),
            None => stat,
        })
    }
    fn list(&self, dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
        self.step(Op::List)?;
        self.host.list(dir)
    }
    fn read_link(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Vec<u8>> {
        self.step(Op::ReadLink)?;
        self.host.read_link(dir, &self.name(dir, name))
    }
    fn read(&self, fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        self.step(Op::Read)?;
        self.host.read(fd, buffer)
    }
    fn attributes(&self, fd: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
        self.step(Op::Attributes)?;
        match self.able {
            // What the host's operations make of "not supported".
            Able::NoAttributes => Ok(Vec::new()),
            _ => self.host.attributes(fd),
        }
    }
    fn attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>> {
        self.step(Op::Attribute)?;
        self.host.attribute(fd, name)
    }
    fn set_attribute(&self, fd: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
        self.step(Op::SetAttribute)?;
        if self.able == Able::NoAttributes {
            return Err(Errno::OPNOTSUPP.into());
        }
        self.host.set_attribute(fd, name, value)?;
        if let Some(recorder) = self.recorder() {
            recorder.attributed(fd);
        }
        Ok(())
    }
    fn remove_attribute(&self, fd: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        self.step(Op::RemoveAttribute)?;
        self.host.remove_attribute(fd, name)?;
        if let Some(recorder) = self.recorder() {
            recorder.attributed(fd);
        }
        Ok(())
    }
    fn pinned(&self, fd: BorrowedFd<'_>) -> io::Result<ImmutableFlag> {
        self.step(Op::Pinned)?;
        self.host.pinned(fd)
    }
    fn writable(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        self.step(Op::Writable)?;
        self.host.writable(dir)
    }
    fn create(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step(Op::Create)?;
        let file = self.host.create(dir, &self.name(dir, name))?;
        if let Some(recorder) = self.recorder() {
            recorder.created(dir, name);
        }
        Ok(file)
    }
    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.step(Op::Write) {
            // A write is not atomic: half of it has happened.
            if self.count() == self.at + 1 {
                let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
                self.host.write(fd, half)?;
            }
            return Err(error);
        }
        self.host.write(fd, bytes)?;
        if let Some(recorder) = self.recorder() {
            recorder.written(fd, bytes);
        }
        Ok(())
    }
    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<()> {
        self.step(Op::Mkdir)?;
        self.host.mkdir(dir, &self.name(dir, name), mode)?;
        if let Some(umask) = self.umask {
            let bits = rustix::fs::Mode::from_raw_mode(mode & !umask);
            rustix::fs::chmodat(dir, name, bits, rustix::fs::AtFlags::empty())?;
        }
        if let Some(recorder) = self.recorder() {
            recorder.created(dir, name);
        }
        Ok(())
    }
    fn symlink(&self, target: &str, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step(Op::Symlink)?;
        self.host.symlink(target, dir, &self.name(dir, name))?;
        if let Some(recorder) = self.recorder() {
            recorder.created(dir, name);
        }
        Ok(())
    }
    fn rename(&self, from: At<'_>, to: At<'_>, how: Rename) -> io::Result<()> {
        self.step(Op::Rename)?;
        let mut hook = self.hook.lock().unwrap();
        if hook
            .as_ref()
            .is_some_and(|hook| hook.name == to.1 || hook.name == from.1)
        {
            let hook = hook.take();
            hook.into_iter().for_each(|hook| (hook.run)());
        }
        let old_dir = |at: At<'_>| {
            let staging =
                at.1.bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.')
                    || at.1.ends_with(".old");
            let stat = self.host.stat_at(at.0, at.1).ok().flatten();
            !staging && stat.is_some_and(|stat| stat.kind == Kind::Dir && stat.mode & 0o7 == 0)
        };
        let exchange = how == Rename::Exchange && old_dir(to);
        if self.able == Able::NoOldDirs && (old_dir(from) || exchange) {
            return Err(Errno::XDEV.into());
        }
        match (self.able, how) {
            (Able::NoExchange | Able::NoNoReplace | Able::Nothing, Rename::Exchange)
            | (Able::NoNoReplace | Able::Nothing, Rename::NoReplace) => Err(Errno::INVAL.into()),
            _ => {
                let (from_name, to_name) = (self.name(from.0, from.1), self.name(to.0, to.1));
                self.host
                    .rename((from.0, &from_name), (to.0, &to_name), how)
            }
        }?;
        if let Some(recorder) = self.recorder() {
            recorder.renamed(from, to, how);
        }
        Ok(())
    }
    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        self.step(Op::Link)?;
        if self.able == Able::Nothing {
            return Err(Errno::PERM.into());
        }
        self.host.link(
            (from.0, &self.name(from.0, from.1)),
            (to.0, &self.name(to.0, to.1)),
        )?;
        if let Some(recorder) = self.recorder() {
            recorder.linked(to);
        }
        Ok(())
    }
    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step(Op::Unlink)?;
        self.host.unlink(dir, &self.name(dir, name))?;
        if let Some(recorder) = self.recorder() {
            recorder.removed(dir, name);
        }
        Ok(())
    }
    fn rmdir(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step(Op::Rmdir)?;
        self.host.rmdir(dir, &self.name(dir, name))?;
        if let Some(recorder) = self.recorder() {
            recorder.removed(dir, name);
        }
        Ok(())
    }
    fn chmod(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        self.step(Op::Chmod)?;
        self.host.chmod(fd, mode)?;
        if let Some(recorder) = self.recorder() {
            recorder.chmoded(fd, mode);
        }
        Ok(())
    }
    fn chown(&self, dir: BorrowedFd<'_>, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        self.step(Op::Chown)?;
        self.host.chown(dir, &self.name(dir, name), uid, gid)
    }
    fn set_mtime(&self, dir: BorrowedFd<'_>, name: &str, time: Time) -> io::Result<()> {
        self.step(Op::SetMtime)?;
        self.host.set_mtime(dir, &self.name(dir, name), time)?;
        if let Some(recorder) = self.recorder() {
            recorder.timed(dir, name, time);
        }
        Ok(())
    }
    fn sync(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        // Real syncs would make thousands of runs slow, and show nothing.
        self.step(Op::Sync)?;
        if let Some(recorder) = self.recorder() {
            recorder.synced(fd);
        }
        Ok(())
    }
    fn sync_all(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.step(Op::SyncAll)?;
        if let Some(recorder) = self.recorder() {
            recorder.synced_all(fd);
        }
        Ok(())
    }
}

/// Which operations a series of runs has made fail.
#[derive(Debug, Default)]
pub(super) struct Hits {
    ops: BTreeSet<Op>,
    runs: usize,
}

impl Hits {
    /// Runs `run` with a fault at the first operation, the second, and so on, until one
    /// run has fewer operations than that: then each was hit.
    pub(super) fn enumerate(&mut self, fault: Fault, able: Able, mut run: impl FnMut(Arc<Faulty>)) {
        for n in 0.. {
            let ops = Arc::new(Faulty::new(fault, n).able(able));
            run(Arc::clone(&ops));
            match ops.failed() {
                Some(op) => drop(self.ops.insert(op)),
                None => {
                    // The run without a fault: the enumeration ends since all were counted.
                    assert!(ops.count() <= n, "{} of {n}", ops.count());
                    assert!(n > 0, "nothing was done");
                    return;
                }
            }
            self.runs += 1;
        }
    }

    /// How many runs had a fault.
    pub(super) fn runs(&self) -> usize {
        self.runs
    }

    /// The operations that never failed.
    pub(super) fn missing(&self) -> Vec<Op> {
        let all = Op::ALL.into_iter();
        all.filter(|op| !self.ops.contains(op)).collect()
    }
}

//! Tests of the transaction, by the cases of `threats.md`, section 5.
//!
//! [`Faulty`] counts the operations and makes one of them fail, or all from one
//! on, so that "at every syscall" is a loop and not an opinion.

mod crash;
mod drift;
mod hostile;
mod modes;
mod undo;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::ops::{HostOps, Kind, Ops, Pinned, Rename, Stat, Time};
use super::prepare::{Request, prepare_with};
use super::recover::recover_with;
use super::{ApplyError, ApplyReceipt, Blobs, Recovered, Transaction};
use crate::{Change, Digest, Entry, LinkTarget, Mode, Tree, WorkspaceDir, diff};

/// What goes wrong at one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// The operation does not happen and says this.
    Fail(Errno),
    /// Nor does any after it: the process was killed.
    Kill,
}

/// What the file system can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Able {
    All,
    NoExchange,
    NoNoReplace,
    /// As overlayfs: no directory that was there before can be renamed.
    NoOldDirs,
}

/// The host's operations, with a fault at the `at`-th.
#[derive(Debug)]
struct Faulty {
    host: HostOps,
    at: usize,
    fault: Fault,
    able: Able,
    count: AtomicUsize,
    hook: Mutex<Option<Hook>>,
}

/// Something that happens just before a rename to this name.
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
    fn new(fault: Fault, at: usize) -> Self {
        Self {
            host: HostOps::new(),
            at,
            fault,
            able: Able::All,
            count: AtomicUsize::new(0),
            hook: Mutex::new(None),
        }
    }

    fn able(self, able: Able) -> Self {
        Self { able, ..self }
    }

    fn with_hook(self, name: &'static str, run: impl FnOnce() + Send + 'static) -> Self {
        let run = Box::new(run);
        *self.hook.lock().unwrap() = Some(Hook { name, run });
        self
    }

    /// How many operations there were.
    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn step(&self) -> io::Result<()> {
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Fail(errno) if n == self.at => Err(errno.into()),
            Fault::Kill if n >= self.at => Err(Errno::CANCELED.into()),
            _ => Ok(()),
        }
    }
}

type At<'a> = (BorrowedFd<'a>, &'a str);

impl Ops for Faulty {
    fn open_ambient(&self, path: &Path) -> io::Result<OwnedFd> {
        self.step()?;
        self.host.open_ambient(path)
    }
    fn open_beneath(&self, root: BorrowedFd<'_>, path: &crate::RelPath) -> io::Result<OwnedFd> {
        self.step()?;
        self.host.open_beneath(root, path)
    }
    fn open_read(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step()?;
        self.host.open_read(dir, name)
    }
    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Stat>> {
        self.step()?;
        self.host.stat_at(dir, name)
    }
    fn stat(&self, fd: BorrowedFd<'_>) -> io::Result<Stat> {
        self.step()?;
        self.host.stat(fd)
    }
    fn list(&self, dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
        self.step()?;
        self.host.list(dir)
    }
    fn read_link(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<Vec<u8>> {
        self.step()?;
        self.host.read_link(dir, name)
    }
    fn read(&self, fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        self.step()?;
        self.host.read(fd, buffer)
    }
    fn pinned(&self, fd: BorrowedFd<'_>) -> io::Result<Pinned> {
        self.step()?;
        self.host.pinned(fd)
    }
    fn writable(&self, dir: BorrowedFd<'_>) -> io::Result<()> {
        self.step()?;
        self.host.writable(dir)
    }
    fn create(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step()?;
        self.host.create(dir, name)
    }
    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.step() {
            // A write is not atomic: half of it has happened.
            if self.count() == self.at + 1 {
                self.host
                    .write(fd, bytes.get(..bytes.len() / 2).unwrap_or_default())?;
            }
            return Err(error);
        }
        self.host.write(fd, bytes)
    }
    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<()> {
        self.step()?;
        self.host.mkdir(dir, name, mode)
    }
    fn symlink(&self, target: &str, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step()?;
        self.host.symlink(target, dir, name)
    }
    fn rename(&self, from: At<'_>, to: At<'_>, how: Rename) -> io::Result<()> {
        self.step()?;
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
            (Able::NoExchange | Able::NoNoReplace, Rename::Exchange)
            | (Able::NoNoReplace, Rename::NoReplace) => Err(Errno::INVAL.into()),
            _ => self.host.rename(from, to, how),
        }
    }
    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        self.step()?;
        self.host.link(from, to)
    }
    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step()?;
        self.host.unlink(dir, name)
    }
    fn rmdir(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step()?;
        self.host.rmdir(dir, name)
    }
    fn chmod(&self, fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        self.step()?;
        self.host.chmod(fd, mode)
    }
    fn chown(&self, dir: BorrowedFd<'_>, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        self.step()?;
        self.host.chown(dir, name, uid, gid)
    }
    fn set_mtime(&self, dir: BorrowedFd<'_>, name: &str, time: Time) -> io::Result<()> {
        self.step()?;
        self.host.set_mtime(dir, name, time)
    }
    fn sync(&self, _fd: BorrowedFd<'_>) -> io::Result<()> {
        // Real syncs would make thousands of runs slow, and show nothing.
        self.step()
    }
    fn sync_all(&self, _fd: BorrowedFd<'_>) -> io::Result<()> {
        self.step()
    }
}

/// Contents for the tests, in memory.
#[derive(Debug, Default, Clone)]
struct Contents(HashMap<Digest, Vec<u8>>);

impl Blobs for Contents {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice()))
    }
}

/// A workspace as it was when it was copied, and what an agent made of it.
struct Scene {
    /// Holds the workspace, `ws`, the journal's directory and what is outside.
    home: tempfile::TempDir,
    changes: Vec<Change>,
    blobs: Contents,
}

impl Scene {
    /// Builds both trees, in the tree language, and finds the changes.
    fn new(before: &str, after: &str) -> Self {
        // In memory where there is such a place: these are many small files.
        let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let home = home.unwrap();
        let workspace = home.path().join("ws");
        fs::create_dir(&workspace).unwrap();
        lazaret_tests::tree_text::build(before, &workspace);
        let agent = lazaret_tests::tree_text::temp(after);
        let mut blobs = Contents::default();
        let from = read_tree(&workspace, &mut blobs);
        let mut blobs = Contents::default();
        let to = read_tree(agent.path(), &mut blobs);
        Self {
            home,
            changes: diff(&from, &to).into_vec(),
            blobs,
        }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("ws")
    }

    fn journal(&self) -> PathBuf {
        self.home.path().join("apply")
    }

    fn workspace(&self) -> WorkspaceDir {
        WorkspaceDir::open_ambient(&self.path()).unwrap()
    }

    fn build(&self, text: &str) {
        lazaret_tests::tree_text::build(text, &self.path());
    }

    fn dump(&self) -> String {
        lazaret_tests::tree_text::dump(&self.path())
    }

    fn prepare_on(&self, ops: Arc<dyn Ops>) -> Result<Transaction, ApplyError> {
        let workspace = self.workspace();
        let request = Request {
            root: workspace.as_fd(),
            root_path: workspace.path(),
            changes: &self.changes,
            restore: &|_| None,
            journal_dir: &self.journal(),
        };
        prepare_with(ops, &request, &self.blobs)
    }

    fn apply_on(&self, ops: Arc<dyn Ops>) -> Result<ApplyReceipt, ApplyError> {
        self.prepare_on(ops)?.commit()
    }

    fn apply(&self) -> Result<ApplyReceipt, ApplyError> {
        self.apply_on(Arc::new(Faulty::new(Fault::None, 0)))
    }

    fn recover(&self) -> Recovered {
        recover_with(&Faulty::new(Fault::None, 0), &self.journal()).unwrap()
    }

    /// Everything there is, exactly.
    fn snapshot(&self) -> Snapshot {
        snapshot(&self.path())
    }
}

/// Path to type, exact mode, and contents.
type Snapshot = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

fn snapshot(root: &Path) -> Snapshot {
    let mut all = BTreeMap::new();
    visit(root, root, &mut |path, metadata, full| {
        let mode = metadata.mode() & 0o7777;
        let (kind, mode, bytes) = if metadata.is_dir() {
            ('d', mode, Vec::new())
        } else if metadata.is_symlink() {
            let target = fs::read_link(full).unwrap().into_os_string();
            ('l', 0, target.into_encoded_bytes())
        } else if metadata.is_file() {
            ('f', mode, fs::read(full).unwrap())
        } else {
            ('?', mode, Vec::new())
        };
        all.insert(path.to_owned(), (kind, mode, bytes));
    });
    all
}

fn read_tree(root: &Path, blobs: &mut Contents) -> Tree {
    let mut tree = Tree::new();
    visit(root, root, &mut |path, metadata, full| {
        let entry = if metadata.is_dir() {
            Entry::Dir
        } else if metadata.is_symlink() {
            let target = fs::read_link(full).unwrap();
            let target = LinkTarget::from_bytes(target.as_os_str().as_encoded_bytes()).unwrap();
            Entry::Symlink { target }
        } else {
            let bytes = fs::read(full).unwrap();
            let digest = Digest::of(&bytes);
            let size = bytes.len() as u64;
            blobs.0.insert(digest, bytes);
            let mode = Mode::from_unix(metadata.mode());
            Entry::File { mode, size, digest }
        };
        let path = path.to_str().unwrap().parse().unwrap();
        tree.insert(path, entry);
    });
    tree
}

fn visit(root: &Path, dir: &Path, see: &mut dyn FnMut(&Path, &fs::Metadata, &Path)) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        see(path.strip_prefix(root).unwrap(), &metadata, &path);
        if metadata.is_dir() {
            visit(root, &path, see);
        }
    }
}

/// Asserts conflicts, and renders them one per line.
#[track_caller]
fn conflicts_in(result: Result<ApplyReceipt, ApplyError>) -> String {
    match result {
        Err(ApplyError::Conflicts(conflicts)) => lines(&conflicts),
        other => panic!("no conflicts, but {other:?}"),
    }
}

#[track_caller]
fn obstacles_in(result: Result<ApplyReceipt, ApplyError>) -> String {
    match result {
        Err(ApplyError::Obstacles(obstacles)) => lines(&obstacles),
        other => panic!("no obstacles, but {other:?}"),
    }
}

fn lines<T: std::fmt::Display>(all: &[T]) -> String {
    all.iter().map(|one| format!("{one}\n")).collect()
}

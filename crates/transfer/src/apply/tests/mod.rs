//! Tests of the transaction, by the cases of `docs/design/threats.md`, section 5.
//!
//! [`Faulty`] counts the operations and makes one of them fail, or all from one on;
//! [`power`] says what a disk may hold after a power cut.

mod attributes;
mod crash;
mod drift;
mod faulty;
mod filesystems;
mod hostile;
mod modes;
mod power;
mod undo;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazaret_tests::privilege::is_root;
use lazaret_tree::{Change, Digest, Entry, LinkTarget, Mode, Tree, diff};

use super::attributes::Attributes;
use super::ops::{HostOps, Ops};
use super::prepare::{Request, prepare_with};
use super::recover::recover_with;
use super::undo::{Direction, undo_or_redo};
use super::{ApplyError, ApplyReceipt, Blobs, Recovered, Transaction, UndoError};
use crate::WorkspaceDir;
use faulty::{Able, Fault, Faulty, Hits};

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
    changes: Vec<Arc<Change>>,
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
        let agent = home.path().join("agent");
        fs::create_dir(&agent).unwrap();
        lazaret_tests::tree_text::build(after, &agent);
        let mut blobs = Contents::default();
        let from = read_tree(&workspace, &mut blobs);
        let mut blobs = Contents::default();
        let to = read_tree(&agent, &mut blobs);
        fs::remove_dir_all(&agent).unwrap();
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
        self.apply_on(Arc::new(Faulty::none()))
    }

    fn turn_on(&self, ops: Arc<dyn Ops>, which: Direction) -> Result<ApplyReceipt, UndoError> {
        undo_or_redo(ops, &self.journal(), &self.workspace(), which)
    }

    fn recover(&self) -> Recovered {
        recover_with(&Faulty::none(), &self.journal()).unwrap()
    }

    /// Everything there is, exactly.
    fn snapshot(&self) -> Snapshot {
        snapshot(&self.path())
    }
}

/// Path to type, exact mode, contents, and extended attributes.
type Snapshot = BTreeMap<PathBuf, (char, u32, Vec<u8>, Attributes)>;

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
        let attributes = match kind {
            'd' | 'f' => Attributes::read(&HostOps::new(), fs::File::open(full).unwrap().as_fd()),
            _ => Ok(Attributes::default()),
        };
        all.insert(path.to_owned(), (kind, mode, bytes, attributes.unwrap()));
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

/// APP-01 to APP-25, APP-28 and APP-29: a case without a test of its name is a promise without a proof.
#[test]
fn every_case_of_the_apply_has_a_test() {
    let sources = [
        include_str!("attributes.rs"),
        include_str!("crash.rs"),
        include_str!("drift.rs"),
        include_str!("filesystems.rs"),
        include_str!("hostile.rs"),
        include_str!("modes.rs"),
        include_str!("power/cuts.rs"),
        include_str!("undo.rs"),
    ]
    .concat();
    for case in (1..=25).chain([28, 29]) {
        assert!(
            sources.contains(&format!("fn app_{case:02}_")),
            "APP-{case:02}"
        );
    }
}

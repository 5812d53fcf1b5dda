//! The power-cut model (APP-11): what may be on a disk after the power went.
//!
//! A [`Recorder`] writes down what a transaction does to the real file system, with
//! inodes numbered by itself. [`disk`] folds the first *n* events of that record into what
//! is durable and what is pending, and makes every state, or a seeded choice of them,
//! that a file system may then come back with. [`cuts`] builds each of them in a
//! directory, runs the real recovery on it, and looks at the tree.
//!
//! # What the model takes for granted
//!
//! - `fsync` of a file makes its contents, mode, attributes and time durable, and not its name.
//!   `fsync` of a directory makes the names in it durable, and not what they lead to.
//! - Names that were not synced reach the disk in any order and in any subset, across
//!   directories and in one, but a change that needs an earlier one comes with it: both
//!   touch the same name, or the later removes the directory of the earlier.
//! - One rename is in the journal of the file system as one: both names of it, or
//!   neither; it is sure to be there when both directories were synced. That holds for each file system of Linux that keeps a journal or copies
//!   on write; on ext2 and FAT nothing can be promised.
//! - Contents that were not synced are as they were, or whole, or zeros of the right
//!   length, or cut in half, or empty with the new mode and time.
//! - The journal's directory and the workspace are two file systems: `syncfs` on one
//!   says nothing of the other.
//! - A symbolic link appears with its target, for it can't be synced by itself.

mod cuts;
mod disk;

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use lazaret_tree::RelPath;

use super::super::attributes::Attributes;
use super::super::ops::{HostOps, Kind, Ops as _, Rename, Stat, Time};
use disk::{Body, Disk, Inode};

/// The number of an inode, given once: a real one may be given again.
pub(super) type Node = u64;

/// A name in a directory.
type Name = (Node, String);

/// One thing that was done.
#[derive(Debug, Clone)]
enum Event {
    /// A new inode got a name.
    Create { at: Name, node: Node, inode: Inode },
    /// An inode got one more name.
    Link { at: Name, node: Node },
    /// A name went.
    Remove { at: Name },
    /// A rename.
    Rename { from: Name, to: Name, how: Rename },
    /// Bytes were appended.
    Write {
        node: Node,
        bytes: Vec<u8>,
        mtime: Time,
    },
    /// Permission bits were set.
    Mode { node: Node, mode: u32 },
    /// A time was set.
    Mtime { node: Node, mtime: Time },
    /// Extended attributes were set or removed: all that there are then, and the mode, which
    /// an access control list changes.
    Attributes {
        node: Node,
        attributes: Attributes,
        mode: u32,
    },
    /// `fsync`.
    Sync { node: Node, what: String },
    /// `syncfs`.
    SyncAll { side: Side },
}

/// Which file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Workspace,
    State,
}

/// Writes down what happens below one directory, which holds the workspace, `ws`, and
/// the journal's directory.
#[derive(Debug)]
pub(super) struct Recorder {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// From real inode numbers.
    nodes: HashMap<u64, Node>,
    /// What a node was called last.
    names: HashMap<Node, String>,
    next: Node,
    start: Disk,
    events: Vec<Event>,
}

const HOST: HostOps = HostOps::new();

/// Far from every real inode number of a test.
const FIRST: Node = 1 << 40;

impl Recorder {
    /// Starts with what lies below `home`, all of it durable.
    pub(super) fn new(home: &Path) -> Self {
        let mut state = State {
            nodes: HashMap::new(),
            names: HashMap::new(),
            next: FIRST,
            start: Disk::new(FIRST),
            events: Vec::new(),
        };
        let root = state.number(fs::metadata(home).unwrap().ino(), "home");
        state.scan(home, root, Side::State);
        Self {
            state: Mutex::new(state),
        }
    }

    /// Starts with a disk that was built; `nodes` says which real inode is which.
    fn of(disk: &Disk, nodes: HashMap<u64, Node>) -> Self {
        let next = disk.last_node().max(FIRST) + 1;
        let mut state = State {
            nodes,
            names: HashMap::new(),
            next,
            start: disk.clone(),
            events: Vec::new(),
        };
        for ((_, name), &node) in disk.names() {
            state.names.insert(node, name.clone());
        }
        Self {
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The disk at the start, and what happened since.
    fn finish(&self) -> (Disk, Vec<Event>) {
        let state = self.state();
        (state.start.clone(), state.events.clone())
    }

    pub(super) fn renumber(&self, stat: Stat) -> Stat {
        let ino = self.state().nodes.get(&stat.ino).copied();
        Stat {
            ino: ino.unwrap_or(stat.ino),
            ..stat
        }
    }

    pub(super) fn created(&self, dir: BorrowedFd<'_>, name: &str) {
        let mut state = self.state();
        let dir_fd = dir;
        let stat = HOST.stat_at(dir, name).unwrap().unwrap();
        let body = match stat.kind {
            Kind::Dir => Body::Dir,
            Kind::Symlink => Body::Symlink(HOST.read_link(dir, name).unwrap()),
            Kind::File | Kind::Other => Body::File(Vec::new()),
        };
        let dir = state.node(dir);
        let side = state.side(dir);
        let node = state.number(stat.ino, name);
        let inode = Inode {
            side,
            body,
            mode: stat.mode,
            mtime: stat.mtime,
            attributes: attributes_at(dir_fd, name, stat.kind),
        };
        let at = (dir, name.to_owned());
        state.events.push(Event::Create { at, node, inode });
    }

    pub(super) fn linked(&self, (dir, name): (BorrowedFd<'_>, &str)) {
        let mut state = self.state();
        let node = state.node_at(dir, name);
        let at = (state.node(dir), name.to_owned());
        state.events.push(Event::Link { at, node });
    }

    pub(super) fn removed(&self, dir: BorrowedFd<'_>, name: &str) {
        let mut state = self.state();
        let at = (state.node(dir), name.to_owned());
        state.events.push(Event::Remove { at });
    }

    pub(super) fn renamed(
        &self,
        from: (BorrowedFd<'_>, &str),
        to: (BorrowedFd<'_>, &str),
        how: Rename,
    ) {
        let mut state = self.state();
        let moved = state.node_at(to.0, to.1);
        state.names.insert(moved, to.1.to_owned());
        let from = (state.node(from.0), from.1.to_owned());
        let to = (state.node(to.0), to.1.to_owned());
        state.events.push(Event::Rename { from, to, how });
    }

    pub(super) fn written(&self, fd: BorrowedFd<'_>, bytes: &[u8]) {
        let mut state = self.state();
        let node = state.node(fd);
        let mtime = HOST.stat(fd).unwrap().mtime;
        let bytes = bytes.to_vec();
        state.events.push(Event::Write { node, bytes, mtime });
    }

    pub(super) fn chmoded(&self, fd: BorrowedFd<'_>, mode: u32) {
        let mut state = self.state();
        let node = state.node(fd);
        state.events.push(Event::Mode { node, mode });
    }

    pub(super) fn attributed(&self, fd: BorrowedFd<'_>) {
        let mut state = self.state();
        let node = state.node(fd);
        let attributes = Attributes::read(&HOST, fd).unwrap();
        let mode = HOST.stat(fd).unwrap().mode;
        state.events.push(Event::Attributes {
            node,
            attributes,
            mode,
        });
    }

    pub(super) fn timed(&self, dir: BorrowedFd<'_>, name: &str, mtime: Time) {
        let mut state = self.state();
        let node = state.node_at(dir, name);
        state.events.push(Event::Mtime { node, mtime });
    }

    pub(super) fn synced(&self, fd: BorrowedFd<'_>) {
        let mut state = self.state();
        let node = state.node(fd);
        let what = state.describe(node);
        state.events.push(Event::Sync { node, what });
    }

    pub(super) fn synced_all(&self, fd: BorrowedFd<'_>) {
        let mut state = self.state();
        let node = state.node(fd);
        let side = state.side(node);
        state.events.push(Event::SyncAll { side });
    }
}

/// The attributes of an entry; a link has none of the user's.
fn attributes_at(dir: BorrowedFd<'_>, name: &str, kind: Kind) -> Attributes {
    let open = match kind {
        Kind::Dir => HOST.open_beneath(dir, RelPath::new(name).unwrap()),
        Kind::File => HOST.open_read(dir, name),
        Kind::Symlink | Kind::Other => return Attributes::default(),
    };
    Attributes::read(&HOST, open.unwrap().as_fd()).unwrap()
}

impl State {
    fn number(&mut self, ino: u64, name: &str) -> Node {
        let node = self.next;
        self.next += 1;
        self.nodes.insert(ino, node);
        self.names.insert(node, name.to_owned());
        node
    }

    /// Which file system a node lies on. Nothing is ever moved to the other.
    fn side(&self, node: Node) -> Side {
        let created = self.events.iter().find_map(|event| match event {
            Event::Create {
                node: other, inode, ..
            } if *other == node => Some(inode.side),
            _ => None,
        });
        created.or(self.start.side(node)).unwrap_or(Side::State)
    }

    fn node(&self, fd: BorrowedFd<'_>) -> Node {
        self.nodes[&HOST.stat(fd).unwrap().ino]
    }

    fn node_at(&self, dir: BorrowedFd<'_>, name: &str) -> Node {
        self.nodes[&HOST.stat_at(dir, name).unwrap().unwrap().ino]
    }

    fn scan(&mut self, path: &Path, dir: Node, side: Side) {
        let fd = HOST.open_ambient(path).unwrap();
        for name in HOST.list(fd.as_fd()).unwrap() {
            let name = name.into_string().unwrap();
            let stat = HOST.stat_at(fd.as_fd(), &name).unwrap().unwrap();
            let side = match name.as_str() {
                "ws" if dir == FIRST => Side::Workspace,
                _ => side,
            };
            let known = self.nodes.get(&stat.ino).copied();
            let node = known.unwrap_or_else(|| self.number(stat.ino, &name));
            let path = path.join(&name);
            let body = match stat.kind {
                Kind::Dir => Body::Dir,
                Kind::Symlink => Body::Symlink(HOST.read_link(fd.as_fd(), &name).unwrap()),
                Kind::File | Kind::Other => Body::File(fs::read(&path).unwrap()),
            };
            let inode = Inode {
                side,
                body,
                mode: stat.mode,
                mtime: stat.mtime,
                attributes: attributes_at(fd.as_fd(), &name, stat.kind),
            };
            self.start.insert((dir, name), node, inode);
            if stat.kind == Kind::Dir {
                self.scan(&path, node, side);
            }
        }
    }

    /// Names what is synced, without what differs from run to run.
    fn describe(&self, node: Node) -> String {
        let name = self.names.get(&node).map_or("?", String::as_str);
        if name.starts_with(".lazaret-") {
            return "the staging directory".to_owned();
        }
        name.to_owned()
    }
}

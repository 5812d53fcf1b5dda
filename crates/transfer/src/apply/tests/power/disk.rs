//! `Disk`: inodes and names, and what may become of them when the power goes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use lazaret_tests::Random;

use super::{Event, HOST, Name, Node, Side};
use crate::apply::attributes::Attributes;
use crate::apply::ops::{Ops as _, Rename, Time};

/// What lies on a disk, reachable or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Disk {
    root: Node,
    inodes: BTreeMap<Node, Inode>,
    names: BTreeMap<Name, Node>,
}

/// One inode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Inode {
    pub(super) side: Side,
    pub(super) body: Body,
    pub(super) mode: u32,
    pub(super) mtime: Time,
    pub(super) attributes: Attributes,
}

/// What an inode holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Body {
    File(Vec<u8>),
    Dir,
    Symlink(Vec<u8>),
}

impl Disk {
    pub(super) fn new(root: Node) -> Self {
        Self {
            root,
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    pub(super) fn insert(&mut self, at: Name, node: Node, inode: Inode) {
        self.inodes.insert(node, inode);
        self.names.insert(at, node);
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&Name, &Node)> {
        self.names.iter()
    }

    pub(super) fn side(&self, node: Node) -> Option<Side> {
        self.inodes.get(&node).map(|inode| inode.side)
    }

    pub(super) fn last_node(&self) -> Node {
        self.inodes.keys().next_back().copied().unwrap_or(self.root)
    }

    fn on(&self, side: Side) -> impl Iterator<Item = Node> {
        self.inodes
            .iter()
            .filter(move |(_, inode)| inode.side == side)
            .map(|(node, _)| *node)
    }

    /// Carries out a change of names.
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Create { at, node, .. } | Event::Link { at, node } => {
                self.names.insert(at.clone(), *node);
            }
            Event::Remove { at } => {
                self.names.remove(at);
            }
            Event::Rename { from, to, how } => {
                let moved = self.names.remove(from);
                let replaced = self.names.remove(to);
                self.names.extend(moved.map(|node| (to.clone(), node)));
                if *how == Rename::Exchange {
                    self.names.extend(replaced.map(|node| (from.clone(), node)));
                }
            }
            _ => {}
        }
    }

    /// Carries out changes of an inode.
    fn change(&mut self, event: &Event) {
        let Some(node) = inode_of(event) else {
            return;
        };
        let Some(inode) = self.inodes.get_mut(&node) else {
            return;
        };
        match event {
            Event::Write { bytes, mtime, .. } => {
                if let Body::File(contents) = &mut inode.body {
                    contents.extend_from_slice(bytes);
                }
                inode.mtime = *mtime;
            }
            Event::Mode { mode, .. } => inode.mode = *mode,
            Event::Mtime { mtime, .. } => inode.mtime = *mtime,
            Event::Attributes {
                attributes, mode, ..
            } => {
                inode.attributes = attributes.clone();
                inode.mode = *mode;
            }
            _ => {}
        }
    }

    /// Drops what no name leads to.
    fn prune(&mut self) {
        let mut seen = BTreeSet::from([self.root]);
        let mut dirs = vec![self.root];
        while let Some(dir) = dirs.pop() {
            for (_, &node) in self.children(dir) {
                if seen.insert(node) {
                    dirs.push(node);
                }
            }
        }
        self.inodes.retain(|node, _| seen.contains(node));
        self.names.retain(|(dir, _), _| seen.contains(dir));
    }

    fn children(&self, dir: Node) -> impl Iterator<Item = (&str, &Node)> {
        self.names
            .range((dir, String::new())..)
            .take_while(move |((in_dir, _), _)| *in_dir == dir)
            .map(|((_, name), node)| (name.as_str(), node))
    }

    /// Makes `home` hold what the disk holds, and says which real inode is which.
    pub(super) fn build(&self, home: &Path) -> HashMap<u64, Node> {
        for entry in fs::read_dir(home).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        let mut built = Built {
            nodes: HashMap::new(),
            paths: HashMap::new(),
        };
        let root = fs::metadata(home).unwrap().ino();
        built.nodes.insert(root, self.root);
        self.build_dir(self.root, home, &mut built);
        built.nodes
    }

    fn build_dir(&self, dir: Node, path: &Path, built: &mut Built) {
        let fd = HOST.open_ambient(path).unwrap();
        for (name, node) in self.children(dir) {
            let path = path.join(name);
            if let Some(other) = built.paths.get(node) {
                fs::hard_link(other, &path).unwrap();
                continue;
            }
            let inode = &self.inodes[node];
            match &inode.body {
                Body::File(bytes) => fs::write(&path, bytes).unwrap(),
                Body::Dir => fs::create_dir(&path).unwrap(),
                Body::Symlink(target) => {
                    symlink(std::str::from_utf8(target).unwrap(), &path).unwrap();
                }
            }
            let real = fs::symlink_metadata(&path).unwrap().ino();
            built.nodes.insert(real, *node);
            match inode.body {
                // Two names of a directory are no state of a file system.
                Body::Dir => self.build_dir(*node, &path, built),
                Body::File(_) | Body::Symlink(_) => {
                    built.paths.insert(*node, path.clone());
                }
            }
            if !matches!(inode.body, Body::Symlink(_)) {
                let file = fs::File::open(&path).unwrap();
                inode.attributes.put(&HOST, file.as_fd()).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(inode.mode)).unwrap();
            }
            HOST.set_mtime(fd.as_fd(), name, inode.mtime).unwrap();
        }
    }
}

struct Built {
    nodes: HashMap<u64, Node>,
    paths: HashMap<Node, PathBuf>,
}

/// What is durable when the power goes, and what is not.
#[derive(Debug)]
pub(super) struct Pending {
    disk: Disk,
    names: Vec<Event>,
    /// For each of `names`, the directories that were not synced since.
    unsynced: Vec<BTreeSet<Node>>,
    contents: Vec<Event>,
    /// For each of `names`, which others it needs.
    needs: Vec<Vec<usize>>,
}

impl Pending {
    /// Folds `events`, without the sync at `ignored`.
    pub(super) fn after(start: &Disk, events: &[Event], ignored: Option<usize>) -> Self {
        let mut pending = Self {
            disk: start.clone(),
            names: Vec::new(),
            unsynced: Vec::new(),
            contents: Vec::new(),
            needs: Vec::new(),
        };
        for (index, event) in events.iter().enumerate() {
            match event {
                Event::Create { node, inode, .. } => {
                    pending.disk.inodes.insert(*node, inode.clone());
                    pending.push(event);
                }
                Event::Link { .. } | Event::Remove { .. } | Event::Rename { .. } => {
                    pending.push(event);
                }
                Event::Write { .. }
                | Event::Mode { .. }
                | Event::Mtime { .. }
                | Event::Attributes { .. } => {
                    pending.contents.push(event.clone());
                }
                Event::Sync { .. } | Event::SyncAll { .. } if ignored == Some(index) => {}
                Event::Sync { node, .. } => pending.sync(&|other| other == *node),
                Event::SyncAll { side } => {
                    let on: BTreeSet<Node> = pending.disk.on(*side).collect();
                    pending.sync(&|node| on.contains(&node));
                }
            }
        }
        pending.needs = needs(&pending.disk, &pending.names);
        pending
    }

    fn push(&mut self, event: &Event) {
        let dirs = keys(event).into_iter().map(|(dir, _)| *dir).collect();
        self.names.push(event.clone());
        self.unsynced.push(dirs);
    }

    /// Makes durable what lies in these inodes. A rename from one directory to another
    /// is sure to be there once both are synced.
    fn sync(&mut self, these: &dyn Fn(Node) -> bool) {
        let Self {
            disk,
            names,
            unsynced,
            contents,
            ..
        } = self;
        contents.retain(|event| {
            let Some(node) = inode_of(event) else {
                return false;
            };
            let now = these(node);
            if now {
                disk.change(event);
            }
            !now
        });
        let needs = needs(disk, names);
        let mut chosen = Vec::with_capacity(names.len());
        for dirs in &mut *unsynced {
            dirs.retain(|dir| !these(*dir));
            chosen.push(dirs.is_empty());
        }
        close(&mut chosen, &needs);
        let mut keep = chosen.iter();
        unsynced.retain(|_| !keep.next().unwrap_or(&true));
        let mut chosen = chosen.iter();
        names.retain(|event| {
            let now = *chosen.next().unwrap_or(&false);
            if now {
                disk.apply(event);
            }
            !now
        });
    }

    /// The disks that may be found, `budget` of them or so, each once.
    pub(super) fn outcomes(&self, budget: usize, random: &mut Random) -> Vec<Disk> {
        let mut disks = Vec::new();
        for chosen in self.choices(budget, random) {
            let mut disk = self.disk.clone();
            for (event, _) in self
                .names
                .iter()
                .zip(&chosen)
                .filter(|(_, chosen)| **chosen)
            {
                disk.apply(event);
            }
            disk.prune();
            let open: Vec<&Event> = self
                .contents
                .iter()
                .filter(|event| inode_of(event).is_some_and(|node| disk.inodes.contains_key(&node)))
                .collect();
            if open.is_empty() {
                disks.push(disk);
                continue;
            }
            for loss in LOSSES {
                let mut disk = disk.clone();
                loss(&mut disk, &open);
                disks.push(disk);
            }
        }
        disks
    }

    /// Which pending changes of names reached the disk.
    fn choices(&self, budget: usize, random: &mut Random) -> Vec<Vec<bool>> {
        let count = self.names.len();
        let mut choices = BTreeSet::new();
        let mut add = |mut chosen: Vec<bool>| {
            close(&mut chosen, &self.needs);
            choices.insert(chosen);
        };
        if count < usize::BITS as usize && 1_usize << count <= budget {
            for mask in 0..1_usize << count {
                add((0..count).map(|bit| mask >> bit & 1 == 1).collect());
            }
            return choices.into_iter().collect();
        }
        // The usual suspects: none, all, each as if in order, each alone, each missing.
        for at in 0..=count {
            add((0..count).map(|index| index < at).collect());
            add((0..count).map(|index| index == at).collect());
            let mut missing = vec![false; count];
            if let Some(slot) = missing.get_mut(at) {
                *slot = true;
            }
            for index in 0..count {
                if self.needs[index].iter().any(|&need| missing[need]) {
                    missing[index] = true;
                }
            }
            add(missing.iter().map(|missing| !missing).collect());
        }
        for _ in 0..budget {
            let share = 1 + random.below(7);
            add((0..count).map(|_| random.below(8) < share).collect());
        }
        let mut choices: Vec<_> = choices.into_iter().collect();
        while choices.len() > budget.max(2) {
            // The first and the last are none and all.
            choices.remove(1 + random.below(choices.len() - 2));
        }
        choices
    }
}

/// What may happen to contents that were not synced.
const LOSSES: [fn(&mut Disk, &[&Event]); 5] = [
    // All of it is there.
    |disk, events| events.iter().for_each(|event| disk.change(event)),
    // Nothing.
    |_, _| {},
    // As long as it should be, and zeros: the allocation came, the data did not.
    |disk, events| {
        for event in events {
            let mut event = (*event).clone();
            if let Event::Write { bytes, .. } = &mut event {
                bytes.fill(0);
            }
            disk.change(&event);
        }
    },
    // Half of the changes, the last of them torn.
    |disk, events| {
        let (whole, _) = events.split_at(events.len() / 2);
        let torn = events.get(whole.len()).copied();
        whole.iter().for_each(|event| disk.change(event));
        if let Some(Event::Write { node, bytes, mtime }) = torn {
            disk.change(&Event::Write {
                node: *node,
                bytes: bytes[..bytes.len() / 2].to_vec(),
                mtime: *mtime,
            });
        }
    },
    // Mode and time, but no bytes.
    |disk, events| {
        for event in events {
            if let Event::Write { node, mtime, .. } = event {
                let (node, mtime) = (*node, *mtime);
                disk.change(&Event::Mtime { node, mtime });
            } else {
                disk.change(event);
            }
        }
    },
];

/// The inode that a change is about, other than by its names.
fn inode_of(event: &Event) -> Option<Node> {
    match event {
        Event::Write { node, .. }
        | Event::Mode { node, .. }
        | Event::Mtime { node, .. }
        | Event::Attributes { node, .. } => Some(*node),
        _ => None,
    }
}

/// The names that a change touches.
fn keys(event: &Event) -> Vec<&Name> {
    match event {
        Event::Create { at, .. } | Event::Link { at, .. } | Event::Remove { at } => vec![at],
        Event::Rename { from, to, .. } => vec![from, to],
        _ => Vec::new(),
    }
}

/// For each change of names, the earlier ones without which it can't be.
fn needs(disk: &Disk, events: &[Event]) -> Vec<Vec<usize>> {
    // What each name led to when the change came, to know the directories that went.
    let mut now = disk.clone();
    let mut removed_dirs = Vec::with_capacity(events.len());
    for event in events {
        removed_dirs.push(match event {
            Event::Remove { at } => now.names.get(at).copied(),
            Event::Rename { to, how, .. } if *how == Rename::Replace => now.names.get(to).copied(),
            _ => None,
        });
        now.apply(event);
    }
    events
        .iter()
        .enumerate()
        .map(|(index, event)| {
            let needed = |other: &Event| {
                let (mine, others) = (keys(event), keys(other));
                mine.iter().any(|name| others.contains(name))
                    || others
                        .iter()
                        .any(|(dir, _)| removed_dirs[index] == Some(*dir))
            };
            (0..index).filter(|&other| needed(&events[other])).collect()
        })
        .collect()
}

/// Adds what the chosen ones need.
fn close(chosen: &mut [bool], needs: &[Vec<usize>]) {
    for index in (0..chosen.len()).rev() {
        if chosen[index] {
            for &need in &needs[index] {
                chosen[need] = true;
            }
        }
    }
}

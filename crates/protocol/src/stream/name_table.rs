//! `NameTable`: the skeleton of the tree that a stream has shown so far.
//!
//! A table over whole names, so that a name is judged in time proportional to its length,
//! however deep it is, and one node is one entry of the limit. The names lie one after the
//! other in one buffer: 200,000 small ones would leave holes that nothing else fills.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use hashbrown::HashTable;

use crate::StreamError;

/// What lies at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only named as a parent so far.
    Implied,
    /// A directory of its own.
    Dir,
    /// A file, or a hard link to one.
    File {
        /// Bytes.
        size: u64,
    },
    /// A symbolic link.
    Symlink,
    /// A FIFO.
    Fifo,
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    /// Its name is `names[start..start + length]`; a parent's is the start of a child's.
    start: usize,
    length: usize,
}

/// Every name seen so far, raw.
#[derive(Debug)]
pub(super) struct NameTable {
    names: Vec<u8>,
    nodes: Vec<Node>,
    /// Indices of nodes, by their names. The sender of the stream chooses the names, so the hash
    /// has a key that the sender can't know.
    table: HashTable<usize>,
    hashes: RandomState,
    root: Kind,
    limit: u64,
}

/// A name, or the start of one that ends before a slash, and its hash.
#[derive(Clone, Copy)]
struct Prefix {
    length: usize,
    hash: u64,
}

impl NameTable {
    /// Starts empty; more than `limit` nodes are an error.
    pub(super) fn new(limit: u64) -> Self {
        Self {
            names: Vec::new(),
            nodes: Vec::new(),
            table: HashTable::new(),
            hashes: RandomState::new(),
            root: Kind::Implied,
            limit,
        }
    }

    /// Adds the root itself.
    pub(super) fn add_root(&mut self, name: &[u8]) -> Result<(), StreamError> {
        self.root = settled(self.root, name, Kind::Dir)?;
        Ok(())
    }

    /// Adds a canonical name, and the parents that it implies.
    pub(super) fn add(&mut self, name: &[u8], kind: Kind) -> Result<(), StreamError> {
        let prefixes = self.prefixes(name);
        let (mut start, mut new) = (None, Vec::new());
        for prefix in prefixes {
            let is_parent = prefix.length < name.len();
            match self.lookup(name, prefix) {
                Some(index) if is_parent => match self.nodes[index].kind {
                    Kind::Implied | Kind::Dir => {}
                    Kind::Symlink => {
                        return Err(StreamError::PathThroughLink {
                            name: name.to_vec(),
                        });
                    }
                    Kind::File { .. } | Kind::Fifo => {
                        return Err(StreamError::TypeConflict {
                            name: name.to_vec(),
                        });
                    }
                },
                Some(index) => {
                    self.nodes[index].kind = settled(self.nodes[index].kind, name, kind)?;
                }
                None => new.push((prefix, if is_parent { Kind::Implied } else { kind })),
            }
        }
        for (prefix, kind) in new {
            let start = *start.get_or_insert_with(|| {
                let start = self.names.len();
                self.names.extend_from_slice(name);
                start
            });
            self.grow(prefix, start, kind)?;
        }
        Ok(())
    }

    /// Looks a canonical name up.
    pub(super) fn find(&self, name: &[u8]) -> Option<Kind> {
        let hash = self.prefixes(name).pop()?.hash;
        let length = name.len();
        let index = self.lookup(name, Prefix { length, hash })?;
        Some(self.nodes[index].kind)
    }

    /// Returns the names of all parents of a name, the uppermost first, then the name itself.
    fn prefixes(&self, name: &[u8]) -> Vec<Prefix> {
        let mut hasher = self.hashes.build_hasher();
        let mut prefixes = Vec::new();
        let mut length = 0;
        for component in name.split(|&byte| byte == b'/') {
            if length > 0 {
                length += 1;
            }
            length += component.len();
            hasher.write(component);
            hasher.write_u8(b'/');
            prefixes.push(Prefix {
                length,
                hash: hasher.finish(),
            });
        }
        prefixes
    }

    fn lookup(&self, name: &[u8], Prefix { length, hash }: Prefix) -> Option<usize> {
        let is_it = |&index: &usize| self.name(index) == &name[..length];
        self.table.find(hash, is_it).copied()
    }

    fn name(&self, index: usize) -> &[u8] {
        let node = &self.nodes[index];
        &self.names[node.start..node.start + node.length]
    }

    fn grow(&mut self, prefix: Prefix, start: usize, kind: Kind) -> Result<(), StreamError> {
        let index = self.nodes.len();
        if index as u64 >= self.limit {
            return Err(StreamError::TooManyEntries { limit: self.limit });
        }
        self.nodes.push(Node {
            kind,
            start,
            length: prefix.length,
        });
        let Self {
            names,
            nodes,
            table,
            hashes,
            ..
        } = self;
        let hash = |&index: &usize| {
            let node = &nodes[index];
            let mut hasher = hashes.build_hasher();
            for component in names[node.start..node.start + node.length].split(|&byte| byte == b'/')
            {
                hasher.write(component);
                hasher.write_u8(b'/');
            }
            hasher.finish()
        };
        table.insert_unique(prefix.hash, index, hash);
        Ok(())
    }
}

/// What a name that was there is from now on. What was only implied has something below it.
fn settled(there: Kind, name: &[u8], kind: Kind) -> Result<Kind, StreamError> {
    match (there, kind) {
        (Kind::Implied, Kind::Dir) => Ok(kind),
        (Kind::Dir, Kind::Dir)
        | (Kind::File { .. }, Kind::File { .. })
        | (Kind::Symlink, Kind::Symlink)
        | (Kind::Fifo, Kind::Fifo) => Err(StreamError::Duplicate {
            name: name.to_vec(),
        }),
        _ => Err(StreamError::TypeConflict {
            name: name.to_vec(),
        }),
    }
}

//! `Seen`: the skeleton of the tree that a stream has shown so far.
//!
//! A trie over components, so that a name is judged in time proportional to its
//! length, however deep it is, and one node is one entry of the limit.

use std::collections::BTreeMap;

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
    // No hash: the keys are chosen by whoever sends the stream.
    children: BTreeMap<Box<[u8]>, usize>,
}

/// Every name seen so far, raw.
#[derive(Debug)]
pub(super) struct Seen {
    /// The first node is the root.
    nodes: Vec<Node>,
    limit: u64,
}

impl Seen {
    /// Starts empty; more than `limit` nodes are an error.
    pub(super) fn new(limit: u64) -> Self {
        let root = Node {
            kind: Kind::Implied,
            children: BTreeMap::new(),
        };
        Self {
            nodes: vec![root],
            limit,
        }
    }

    /// Adds the root itself.
    pub(super) fn add_root(&mut self, name: &[u8]) -> Result<(), StreamError> {
        self.settle(0, name, Kind::Dir)
    }

    /// Adds a canonical name, and the parents that it implies.
    pub(super) fn add(&mut self, name: &[u8], kind: Kind) -> Result<(), StreamError> {
        let mut at = 0;
        for component in name.split(|&byte| byte == b'/') {
            match self.nodes[at].kind {
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
            }
            at = match self.nodes[at].children.get(component) {
                Some(&child) => child,
                None => self.grow(at, component)?,
            };
        }
        self.settle(at, name, kind)
    }

    /// Looks a canonical name up.
    pub(super) fn find(&self, name: &[u8]) -> Option<Kind> {
        let mut at = 0;
        for component in name.split(|&byte| byte == b'/') {
            at = *self.nodes[at].children.get(component)?;
        }
        Some(self.nodes[at].kind)
    }

    fn grow(&mut self, parent: usize, component: &[u8]) -> Result<usize, StreamError> {
        let child = self.nodes.len();
        if child as u64 > self.limit {
            return Err(StreamError::TooManyEntries { limit: self.limit });
        }
        self.nodes[parent].children.insert(component.into(), child);
        self.nodes.push(Node {
            kind: Kind::Implied,
            children: BTreeMap::new(),
        });
        Ok(child)
    }

    fn settle(&mut self, at: usize, name: &[u8], kind: Kind) -> Result<(), StreamError> {
        let node = &mut self.nodes[at];
        match (node.kind, kind) {
            (Kind::Implied, Kind::Dir) => {}
            (Kind::Implied, _) if node.children.is_empty() => {}
            (Kind::Dir, Kind::Dir)
            | (Kind::File { .. }, Kind::File { .. })
            | (Kind::Symlink, Kind::Symlink)
            | (Kind::Fifo, Kind::Fifo) => {
                return Err(StreamError::Duplicate {
                    name: name.to_vec(),
                });
            }
            _ => {
                return Err(StreamError::TypeConflict {
                    name: name.to_vec(),
                });
            }
        }
        node.kind = kind;
        Ok(())
    }
}

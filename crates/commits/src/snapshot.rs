//! `Snapshot`: the files of one commit, moved from commit to commit by what differs.
//!
//! Only trees that differ are read. A file that does not change between two commits has a
//! stand-in for its digest, made of its id: the rules look into what changed, and into the
//! files by which git ignores and filters others, which have their own digest.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_transfer::ObjectId;
use lazaret_tree::{
    Blobs, Change, ChangeSet, Digest, Entry, LinkTarget, Mode, RelPath, RelPathBuf, RelPathError,
    Tree,
};

use crate::git::GitError;
use crate::limits::{MAX_CHANGES, MAX_LINK_BYTES, MAX_OBJECTS, MAX_TREE_BYTES};
use crate::objects::{ObjectError, ObjectKind, ObjectReader};
use crate::quarantine::Quarantine;
use crate::refusal::Refusal;
use crate::tree_object::{EntryMode, TreeEntry, check_name, parse, parse_known};

/// Larger contents are not handed to the rules, which do not look into them either.
const MAX_CONTENTS: u64 = 16 << 20;
/// The most entries of trees that one snapshot keeps in memory, of the two that there may be: some
/// 30 MB.
const MAX_KEPT: usize = 250_000;

/// Whose trees are read.
#[derive(Debug, Clone, Copy)]
enum Side {
    /// A commit's that is examined: what breaks a rule refuses it.
    Examined(ObjectId),
    /// The user's, or one that was examined: what can't be said of it is left out.
    UserObjects,
}

/// One path at which two trees differ.
#[derive(Debug)]
struct Difference {
    path: RelPathBuf,
    before: Option<(EntryMode, ObjectId)>,
    after: Option<(EntryMode, ObjectId)>,
}

/// The files of a commit, and the objects that they are read from.
#[derive(Debug)]
pub struct Snapshot<'a> {
    quarantine: &'a Quarantine,
    reader: RefCell<ObjectReader>,
    at: Option<ObjectId>,
    tree: Tree,
    trees: HashMap<ObjectId, Arc<[TreeEntry]>>,
    /// How many entries `trees` holds, and one more for each tree.
    kept: usize,
    digests: HashMap<ObjectId, (Digest, u64)>,
    blobs: HashMap<Digest, (ObjectId, u64)>,
    /// How many entries the commits change that were compared, with any snapshot beside this one.
    changes: Arc<AtomicUsize>,
}

impl<'a> Snapshot<'a> {
    /// Takes the files of no commit.
    pub fn empty(quarantine: &'a Quarantine, reader: ObjectReader) -> Self {
        Self {
            quarantine,
            reader: RefCell::new(reader),
            at: None,
            tree: Tree::new(),
            trees: HashMap::new(),
            kept: 0,
            digests: HashMap::new(),
            blobs: HashMap::new(),
            changes: Arc::default(),
        }
    }

    /// Makes a snapshot of no files, with a new reader, that counts changes on.
    ///
    /// # Errors
    /// When git can't be run.
    pub(crate) fn restarted(&self) -> Result<Self, GitError> {
        Ok(Self {
            changes: Arc::clone(&self.changes),
            ..Self::empty(self.quarantine, self.quarantine.reader()?)
        })
    }

    /// Makes a snapshot of the same files, with a reader of its own, for another thread.
    ///
    /// # Errors
    /// When git can't be run.
    pub(crate) fn beside(&self) -> Result<Self, GitError> {
        Ok(Self {
            quarantine: self.quarantine,
            reader: RefCell::new(self.quarantine.reader()?),
            at: self.at,
            tree: self.tree.clone(),
            trees: self.trees.clone(),
            kept: self.kept,
            digests: self.digests.clone(),
            blobs: self.blobs.clone(),
            changes: Arc::clone(&self.changes),
        })
    }

    /// The files.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Lends the reader of objects.
    pub fn reader(&mut self) -> &mut ObjectReader {
        self.reader.get_mut()
    }

    /// Moves to the files of a tree that is the user's or was examined; `None` for no files.
    ///
    /// # Errors
    /// When an object can't be had.
    pub fn move_to(&mut self, tree: Option<ObjectId>) -> Result<(), Refusal> {
        for difference in self.differences(tree, Side::UserObjects)? {
            let entry = match difference.after {
                None => None,
                Some((mode, id)) => self.stand_in(&difference.path, mode, id)?,
            };
            match entry {
                None => drop(self.tree.remove(&difference.path)),
                Some(entry) => drop(self.tree.insert(difference.path, entry)),
            }
        }
        self.at = tree;
        Ok(())
    }

    /// Compares the files with those of a tree of `commit`.
    ///
    /// # Errors
    /// Why the commit is refused.
    pub fn compare(
        &mut self,
        commit: ObjectId,
        tree: Option<ObjectId>,
    ) -> Result<ChangeSet, Refusal> {
        let mut changes = Vec::new();
        let differences = self.differences(tree, Side::Examined(commit))?;
        self.expect_files(&differences);
        for difference in differences {
            let Difference {
                path,
                before,
                after,
            } = difference;
            let before = match before {
                None => None,
                Some((mode, id)) => self.entry_before(&path, mode, id)?,
            };
            let after = match after {
                None => None,
                Some((mode, id)) => Some(self.entry_after(commit, &path, mode, id)?),
            };
            if let Some(before) = &before {
                drop(self.tree.insert(path.clone(), before.clone()));
            }
            if before != after {
                changes.push(Arc::new(Change {
                    path,
                    before,
                    after,
                }));
            }
        }
        Ok(ChangeSet::new(changes))
    }

    /// Asks for the files of differences before the first is read.
    fn expect_files(&mut self, differences: &[Difference]) {
        let sides = differences.iter().flat_map(|one| [one.before, one.after]);
        let files = sides.flatten().filter_map(|(mode, id)| match mode {
            EntryMode::Plain | EntryMode::Executable => Some(id),
            EntryMode::Dir | EntryMode::Gitlink | EntryMode::Link => None,
        });
        let digests = &self.digests;
        let unknown = files.filter(|id| !digests.contains_key(id));
        self.reader.get_mut().expect(unknown);
    }

    /// Goes on to the files that [`Self::compare`] compared with.
    pub fn advance(&mut self, tree: Option<ObjectId>, changes: &ChangeSet) {
        for change in changes {
            match &change.after {
                None => drop(self.tree.remove(&change.path)),
                Some(entry) => drop(self.tree.insert(change.path.clone(), entry.clone())),
            }
        }
        self.at = tree;
    }

    fn differences(
        &mut self,
        after: Option<ObjectId>,
        side: Side,
    ) -> Result<Vec<Difference>, Refusal> {
        let mut found = Vec::new();
        let before = self.at;
        self.walk(None, Sides { before, after }, side, &mut found)?;
        Ok(found)
    }

    fn walk(
        &mut self,
        above: Option<&RelPath>,
        sides: Sides<ObjectId>,
        side: Side,
        found: &mut Vec<Difference>,
    ) -> Result<(), Refusal> {
        if sides.before == sides.after {
            return Ok(());
        }
        let before = self.entries(above, sides.before, Side::UserObjects)?;
        let after = self.entries(above, sides.after, side)?;
        let is_new = sides.after.is_some_and(|id| self.quarantine.is_new(&id));
        let mut names: BTreeMap<&[u8], Sides<&TreeEntry>> = BTreeMap::new();
        for entry in &*before {
            names.entry(&entry.name).or_default().before = Some(entry);
        }
        for entry in &*after {
            names.entry(&entry.name).or_default().after = Some(entry);
        }
        for (name, entries) in names {
            let kept = |entry: &TreeEntry| (entry.mode, entry.id);
            let (before, after) = (entries.before.map(kept), entries.after.map(kept));
            if before == after {
                continue;
            }
            let examined = match side {
                Side::Examined(commit) if is_new && after.is_some() => Some(commit),
                _ => None,
            };
            let Some(path) = path_of(above, name, examined)? else {
                continue;
            };
            let dir = |entry: Option<(EntryMode, ObjectId)>| match entry {
                Some((EntryMode::Dir, id)) => Some(id),
                _ => None,
            };
            let below = Sides {
                before: dir(before),
                after: dir(after),
            };
            if below.before.is_none() || below.after.is_none() {
                if let (Some((EntryMode::Gitlink, id)), Some(commit)) = (after, examined) {
                    let path = path.as_str().as_bytes().to_vec();
                    return Err(Refusal::Submodule { commit, path, id });
                }
                if let Side::Examined(commit) = side {
                    let before = self.changes.fetch_add(1, Ordering::Relaxed);
                    if found.len() >= MAX_OBJECTS || before >= MAX_CHANGES {
                        return Err(Refusal::ManyChanges { commit });
                    }
                }
                found.push(Difference {
                    path: path.clone(),
                    before,
                    after,
                });
            }
            self.walk(Some(&path), below, side, found)?;
        }
        Ok(())
    }

    /// Reads a tree; no entries for none.
    fn entries(
        &mut self,
        path: Option<&RelPath>,
        id: Option<ObjectId>,
        side: Side,
    ) -> Result<Arc<[TreeEntry]>, Refusal> {
        let Some(id) = id else {
            return Ok(Arc::from([]));
        };
        if let Some(entries) = self.trees.get(&id) {
            return Ok(Arc::clone(entries));
        }
        let bytes = self
            .reader
            .get_mut()
            .read(&id, ObjectKind::Tree, MAX_TREE_BYTES)?;
        let parsed = match self.quarantine.is_new(&id) {
            true => parse(&bytes, &id),
            false => parse_known(&bytes, &id),
        };
        let entries: Arc<[TreeEntry]> = match (parsed, side) {
            (Ok(entries), _) => entries.into(),
            // Not kept: the same tree may have to be examined.
            (Err(_), Side::UserObjects) => return Ok(Arc::from([])),
            (Err(error), Side::Examined(commit)) => {
                let path = path.map(|path| path.as_str().as_bytes().to_vec());
                return Err(Refusal::Tree {
                    commit,
                    path: path.unwrap_or_default(),
                    error,
                });
            }
        };
        self.kept += entries.len() + 1;
        if self.kept > MAX_KEPT {
            self.trees.clear();
            self.kept = entries.len() + 1;
        }
        self.trees.insert(id, Arc::clone(&entries));
        Ok(entries)
    }

    /// An entry that nothing looks into; `None` for one that can't be said.
    fn stand_in(
        &mut self,
        path: &RelPath,
        mode: EntryMode,
        id: ObjectId,
    ) -> Result<Option<Entry>, Refusal> {
        match mode {
            EntryMode::Plain | EntryMode::Executable
                if !matches!(path.file_name(), ".gitignore" | ".gitattributes") =>
            {
                Ok(Some(Entry::File {
                    mode: file_mode(mode),
                    size: 0,
                    digest: Digest::of(id.as_bytes()),
                }))
            }
            _ => self.entry_before(path, mode, id),
        }
    }

    /// An entry of the user's. What can't be had of it, as in a partial clone, is stood in for.
    fn entry_before(
        &mut self,
        path: &RelPath,
        mode: EntryMode,
        id: ObjectId,
    ) -> Result<Option<Entry>, Refusal> {
        match self.entry_after(id, path, mode, id) {
            Ok(entry) => Ok(Some(entry)),
            Err(Refusal::Link { .. } | Refusal::Submodule { .. }) => Ok(None),
            Err(Refusal::Object(ObjectError::Missing(_))) => Ok(Some(Entry::File {
                mode: file_mode(mode),
                size: 0,
                digest: Digest::of(id.as_bytes()),
            })),
            Err(refusal) => Err(refusal),
        }
    }

    fn entry_after(
        &mut self,
        commit: ObjectId,
        path: &RelPath,
        mode: EntryMode,
        id: ObjectId,
    ) -> Result<Entry, Refusal> {
        Ok(match mode {
            EntryMode::Dir | EntryMode::Gitlink => Entry::Dir,
            EntryMode::Plain | EntryMode::Executable => {
                let (digest, size) = self.digest(id)?;
                Entry::File {
                    mode: file_mode(mode),
                    size,
                    digest,
                }
            }
            EntryMode::Link => {
                let reader = self.reader.get_mut();
                let bytes = reader.read(&id, ObjectKind::Blob, MAX_LINK_BYTES)?;
                let target = LinkTarget::from_bytes(&bytes).map_err(|error| Refusal::Link {
                    commit,
                    path: path.as_str().as_bytes().to_vec(),
                    error,
                })?;
                Entry::Symlink { target }
            }
        })
    }

    fn digest(&mut self, id: ObjectId) -> Result<(Digest, u64), ObjectError> {
        if let Some(known) = self.digests.get(&id) {
            return Ok(*known);
        }
        let (digest, size) = self.reader.get_mut().digest(&id)?;
        self.digests.insert(id, (digest, size));
        self.blobs.insert(digest, (id, size));
        Ok((digest, size))
    }
}

/// The contents of all files that were compared.
impl Blobs for Snapshot<'_> {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let (id, size) = self.blobs.get(digest).ok_or(io::ErrorKind::NotFound)?;
        let mut reader = self.reader.borrow_mut();
        let most = (*size).min(MAX_CONTENTS);
        let bytes = reader.head(id, most).map_err(io::Error::other)?;
        Ok(Box::new(Cursor::new(bytes)))
    }
}

/// Two sides of one thing.
#[derive(Debug, Clone, Copy)]
struct Sides<T> {
    before: Option<T>,
    after: Option<T>,
}

impl<T> Default for Sides<T> {
    fn default() -> Self {
        Self {
            before: None,
            after: None,
        }
    }
}

/// Joins a name to a path. `None` for one of the user's that is no path to us.
fn path_of(
    above: Option<&RelPath>,
    name: &[u8],
    examined: Option<ObjectId>,
) -> Result<Option<RelPathBuf>, Refusal> {
    let raw = || {
        let above = above.map(|above| format!("{}/", above.as_str()));
        [above.unwrap_or_default().as_bytes(), name].concat()
    };
    let join = |name: &str| -> Result<RelPathBuf, RelPathError> {
        match above {
            Some(above) => above.join(name),
            None => RelPath::new(name).map(ToOwned::to_owned),
        }
    };
    match (check_name(name), examined) {
        (Ok(name), Some(commit)) => join(name).map(Some).map_err(|error| Refusal::Path {
            commit,
            path: raw(),
            error,
        }),
        (Ok(name), None) => Ok(join(name).ok()),
        (Err(_), None) => Ok(None),
        (Err(error), Some(commit)) => Err(Refusal::Name {
            commit,
            path: raw(),
            error,
        }),
    }
}

fn file_mode(mode: EntryMode) -> Mode {
    match mode {
        EntryMode::Executable => Mode::Executable,
        _ => Mode::Plain,
    }
}

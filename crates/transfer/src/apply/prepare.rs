//! From a list of changes to a staged transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use lazaret_tree::{AtPath as _, Blobs, Change, Digest, Entry, RelPath, Renames};

use super::attributes::Attributes;
use super::conflict::{Conflict, State, open_parent, survey};
use super::journal::{Journal, Old, Phase, Placement, Step};
use super::ops::{Kind, Ops, Stat};
use super::preflight::{self, Identity};
use super::stage::{Model, Stager, probe_placement};
use super::steps::slot_new;
use super::store::{Store, Sync};
use super::{ApplyError, OnDrop, Restore, Transaction, check_root, load_error};

/// What a transaction is asked for.
pub(crate) struct Request<'a> {
    pub(crate) root: BorrowedFd<'a>,
    pub(crate) root_path: &'a Path,
    pub(crate) changes: &'a [Arc<Change>],
    /// Exact mode and time for a path, where it is not to have fresh ones.
    pub(crate) restore: &'a dyn Fn(&RelPath) -> Option<Restore>,
    pub(crate) journal_dir: &'a Path,
}

fn conflicts_of(changes: &[Arc<Change>], states: &[State]) -> Vec<Conflict> {
    let pairs = changes.iter().zip(states);
    pairs
        .filter_map(|(change, state)| match state {
            State::Conflict(kind) => Some(Conflict {
                path: change.path.clone(),
                kind: kind.clone(),
            }),
            State::Before(_) | State::After => None,
        })
        .collect()
}

/// A change that has something to do, and what is there now.
struct Todo<'a> {
    change: &'a Arc<Change>,
    found: Option<Stat>,
}

pub(crate) fn prepare_with(
    ops: Arc<dyn Ops>,
    request: &Request<'_>,
    blobs: &dyn Blobs,
) -> Result<Transaction, ApplyError> {
    let root = ops.dup(request.root).at(request.root_path)?;
    check_root(&*ops, root.as_fd(), request.root_path)?;
    let mut changes = request.changes.to_vec();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let obstacles = preflight::names(&changes);
    if !obstacles.is_empty() {
        return Err(ApplyError::Obstacles(obstacles));
    }
    let states = survey(&*ops, root.as_fd(), &changes)?;
    let conflicts = conflicts_of(&changes, &states);
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    let identity = Identity::current();
    let pairs: Vec<_> = changes.iter().zip(&states).collect();
    let obstacles = preflight::targets(&*ops, root.as_fd(), identity, &pairs)?;
    if !obstacles.is_empty() {
        return Err(ApplyError::Obstacles(obstacles));
    }
    let todo = in_order(&pairs);
    drop(pairs);
    drop(states);
    let store = Store::make(&*ops, request.journal_dir)?;
    if store
        .load(&*ops)
        .map_err(|error| load_error(store.path(), error))?
        .is_some()
    {
        return Err(ApplyError::JournalInUse {
            path: store.path().to_path_buf(),
        });
    }
    let umask = probe_umask(&*ops, &store)?;
    let stat = ops.stat(root.as_fd()).at(request.root_path)?;
    let journal = Journal {
        phase: Phase::Staging,
        id: fresh_id(),
        root_dev: stat.dev,
        root_ino: stat.ino,
        root_path: request.root_path.to_path_buf(),
        placement: Placement::Exchange,
        steps: todo.iter().map(to_step).collect(),
    };
    // The journal comes first: from here on there is something to clean up.
    let begun = store.save(&*ops, &journal).and_then(|()| {
        let name = journal.staging_name();
        ops.mkdir(root.as_fd(), &name, 0o700)
            .and_then(|()| {
                let name = RelPath::new(&name).map_err(io::Error::other)?;
                ops.open_beneath(root.as_fd(), name)
            })
            .at(request.root_path.join(&name))
    });
    let staging = match begun {
        Ok(staging) => staging,
        Err(error) => {
            // Should this fail as well, `recover` does it.
            let _left = ops.rmdir(root.as_fd(), &journal.staging_name());
            let _left = store.forget(&*ops);
            return Err(error.into());
        }
    };
    let mut transaction = Transaction {
        already: changes.len() - todo.len(),
        ops,
        root,
        store,
        staging,
        journal,
        on_drop: OnDrop::Abort,
    };
    transaction.keep_old(&todo)?;
    let sources = sources(&changes, &todo);
    transaction.stage(&todo, &sources, request, blobs, Maker { identity, umask })?;
    transaction.journal.phase = Phase::Ready;
    transaction
        .store
        .save(&*transaction.ops, &transaction.journal)?;
    Ok(transaction)
}

impl Transaction {
    /// Copies the old contents and attributes into the journal's directory, and checks once
    /// more that the contents are what the changes expect.
    fn keep_old(&mut self, todo: &[Todo<'_>]) -> Result<(), ApplyError> {
        let ops = &*self.ops;
        let kept = self.store.kept(ops)?;
        let sync = Sync::for_count(todo.len());
        let mut have: BTreeSet<Digest> = BTreeSet::new();
        for (Todo { change, .. }, step) in todo.iter().zip(&mut self.journal.steps) {
            let Some(old) = &mut step.old else {
                continue;
            };
            let path = change.path.as_str();
            let open = || {
                let parent = open_parent(ops, self.root.as_fd(), &change.path)?;
                match &change.before {
                    Some(Entry::File { .. }) => ops
                        .open_read(parent.as_fd(), change.path.file_name())
                        .map(Some),
                    Some(Entry::Dir) => {
                        let name = RelPath::new(change.path.file_name());
                        let name = name.map_err(io::Error::other)?;
                        ops.open_beneath(parent.as_fd(), name).map(Some)
                    }
                    // Links have none of the user's.
                    Some(Entry::Symlink { .. }) | None => Ok(None),
                }
            };
            let Some(file) = open().at(path)? else {
                continue;
            };
            let attributes = Attributes::read(ops, file.as_fd()).at(path)?;
            if !attributes.is_empty() {
                let bytes = attributes.to_bytes();
                old.attributes = Some(Box::new(kept.keep_bytes(ops, &bytes, sync)?));
            }
            let Some(Entry::File { size, digest, .. }) = &change.before else {
                continue;
            };
            if !have.insert(*digest) {
                continue;
            }
            if kept.keep(ops, file.as_fd(), sync)? != (*size, *digest) {
                return Err(ApplyError::Conflicts(vec![Conflict {
                    path: change.path.clone(),
                    kind: super::ConflictKind::Changed,
                }]));
            }
        }
        let synced = match sync {
            Sync::Together => ops.sync_all(kept.dir()),
            Sync::Each => ops.sync(kept.dir()),
        };
        // The name of the directory comes with the next journal, which lies beside it.
        Ok(synced.at(self.store.path())?)
    }

    fn stage(
        &mut self,
        todo: &[Todo<'_>],
        sources: &BTreeMap<usize, usize>,
        request: &Request<'_>,
        blobs: &dyn Blobs,
        maker: Maker,
    ) -> Result<(), ApplyError> {
        let ops = &*self.ops;
        let kept = self.store.kept_blobs(ops)?;
        self.journal.placement = probe_placement(ops, self.staging.as_fd())?;
        let stager = Stager {
            ops,
            root: self.root.as_fd(),
            staging: self.staging.as_fd(),
            identity: maker.identity,
            umask: maker.umask,
            sync: staging_sync(todo, request),
            kept: &kept,
        };
        let steps = &mut self.journal.steps;
        for (index, target) in todo.iter().enumerate() {
            let restore = (request.restore)(&target.change.path);
            // What was renamed to it comes before what it replaces.
            let model = sources
                .get(&index)
                .and_then(|&source| model(todo, steps, source))
                .or_else(|| model(todo, steps, index));
            let Some(step) = steps.get_mut(index) else {
                continue;
            };
            let (model, restore) = (model.as_ref(), restore.as_ref());
            step.new = stager.stage(&slot_new(index), step, model, restore, blobs)?;
        }
        let path = request.root_path.join(self.journal.staging_name());
        if stager.sync == Sync::Together {
            ops.sync_all(self.staging.as_fd()).at(&path)?;
        }
        // The names in it may wait: without them no step has happened, and the commit
        // syncs them before it counts.
        Ok(ops.sync(self.root.as_fd()).at(&path)?)
    }
}

/// Who makes the new entries, and how.
#[derive(Debug, Clone, Copy)]
struct Maker {
    identity: Identity,
    umask: u32,
}

/// Describes what is there where a step happens, as something to make another entry like.
fn model(todo: &[Todo<'_>], steps: &[Step], at: usize) -> Option<Model> {
    let old = steps.get(at)?.old.as_ref();
    Some(Model {
        stat: todo.get(at)?.found?,
        attributes: old.and_then(|old| old.attributes.as_deref().copied()),
    })
}

/// Finds which step takes away what another brings, for each that brings what was renamed.
fn sources(changes: &[Arc<Change>], todo: &[Todo<'_>]) -> BTreeMap<usize, usize> {
    let renames = Renames::of(changes);
    if renames.is_empty() {
        return BTreeMap::new();
    }
    let paths = todo.iter().enumerate();
    let at: BTreeMap<&RelPath, usize> = paths
        .map(|(index, todo)| (&*todo.change.path, index))
        .collect();
    let step = |change: usize| at.get(&*changes[change].path).copied();
    (0..changes.len())
        .filter_map(|to| Some((step(to)?, step(renames.source(to)?)?)))
        .collect()
}

/// A link can't be synced by itself, and its time is part of its stamp: where an undo
/// sets one, everything is synced.
fn staging_sync(todo: &[Todo<'_>], request: &Request<'_>) -> Sync {
    let sets_time = |todo: &Todo<'_>| {
        matches!(todo.change.after, Some(Entry::Symlink { .. }))
            && (request.restore)(&todo.change.path).is_some()
    };
    match todo.iter().any(sets_time) {
        true => Sync::Together,
        false => Sync::for_count(todo.len()),
    }
}

/// Removals first, the deepest first: they free names and empty directories.
/// Then what is new or replaced, from the top: directories before what is in them.
fn in_order<'a>(pairs: &[(&'a Arc<Change>, &State)]) -> Vec<Todo<'a>> {
    let todo = |(change, state): &(&'a Arc<Change>, &State)| match state {
        State::Before(found) => Some(Todo {
            change,
            found: *found,
        }),
        State::After | State::Conflict(_) => None,
    };
    let is_removal = |pair: &&(&Arc<Change>, &State)| pair.0.after.is_none();
    let removals = pairs.iter().rev().filter(is_removal).filter_map(todo);
    let others = pairs.iter().filter(|pair| !is_removal(pair));
    removals.chain(others.filter_map(todo)).collect()
}

fn to_step(todo: &Todo<'_>) -> Step {
    Step {
        change: Arc::clone(todo.change),
        old: todo.found.map(|stat| Old {
            mode: stat.mode,
            mtime: stat.mtime,
            attributes: None,
        }),
        new: None,
    }
}

/// Reads the umask the way the kernel applies it, since asking for it means
/// setting it, for every thread of the process.
fn probe_umask(ops: &dyn Ops, store: &Store) -> Result<u32, ApplyError> {
    let (dir, name) = (store.dir(), "umask");
    let probe = || -> io::Result<u32> {
        match ops.mkdir(dir, name, 0o777) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {
                ops.rmdir(dir, name)?;
                ops.mkdir(dir, name, 0o777)?;
            }
            Ok(()) => {}
        }
        let stat = ops.stat_at(dir, name)?;
        ops.rmdir(dir, name)?;
        match stat {
            Some(stat) if stat.kind == Kind::Dir => Ok(!stat.mode & 0o777),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    };
    Ok(probe().at(store.path())?)
}

/// Makes a name for a staging directory. It need only be new, and hard to guess
/// for the programs that watch directories; `mkdir` refuses a second one.
fn fresh_id() -> String {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

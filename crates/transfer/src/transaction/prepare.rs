//! From a list of changes to a staged transaction.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use super::blobs::Blobs;
use super::conflict::{Conflict, State, open_parent, survey};
use super::ops::{Kind, Ops, Stat};
use super::preflight::{self, Identity};
use super::stage::{Stager, probe_placement};
use super::steps::slot_new;
use super::store::{Store, Sync};
use super::{ApplyError, End, Restore, Transaction, check_root, load_error};
use crate::journal::{Journal, Old, Phase, Placement, Step};
use crate::{AtPath as _, Change, Digest, Entry, RelPath};

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
        end: End::Drop,
    };
    transaction.keep_old(&todo)?;
    transaction.stage(&todo, request, blobs, identity, umask)?;
    transaction.journal.phase = Phase::Ready;
    transaction
        .store
        .save(&*transaction.ops, &transaction.journal)?;
    Ok(transaction)
}

impl Transaction {
    /// Copies the old contents into the journal's directory, and checks once more
    /// that they are what the changes expect.
    fn keep_old(&self, todo: &[Todo<'_>]) -> Result<(), ApplyError> {
        let ops = &*self.ops;
        let kept = self.store.kept(ops)?;
        let sync = Sync::for_count(todo.len());
        let mut have: BTreeSet<Digest> = BTreeSet::new();
        for Todo { change, .. } in todo {
            let Some(Entry::File { size, digest, .. }) = &change.before else {
                continue;
            };
            if !have.insert(*digest) {
                continue;
            }
            let path = change.path.as_str();
            let parent = open_parent(ops, self.root.as_fd(), &change.path).at(path)?;
            let file = ops
                .open_read(parent.as_fd(), change.path.file_name())
                .at(path)?;
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
        request: &Request<'_>,
        blobs: &dyn Blobs,
        identity: Identity,
        umask: u32,
    ) -> Result<(), ApplyError> {
        let ops = &*self.ops;
        self.journal.placement = probe_placement(ops, self.staging.as_fd())?;
        let stager = Stager {
            ops,
            root: self.root.as_fd(),
            staging: self.staging.as_fd(),
            identity,
            umask,
            sync: staging_sync(todo, request),
        };
        for (index, (step, todo)) in self.journal.steps.iter_mut().zip(todo).enumerate() {
            let restore = (request.restore)(&step.change.path);
            let old = todo.found.as_ref();
            step.new = stager.stage(&slot_new(index), step, old, restore.as_ref(), blobs)?;
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

//! `LinkedRepository`: a repository of ours that shares objects and refs with the user's.
//!
//! They are linked by name. So git reads no key of the user's configuration and no hook in it,
//! and has neither `HEAD` nor index nor reflogs of the user's to write.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lazaret_transfer::{ObjectId, RefStorage, Repository};
use lazaret_tree::{AtPath as _, PathError};

use crate::git::{Git, GitCall, GitError, IsCancelled};
use crate::quarantine::{bare_config, copy_shallow};

/// The most refs of the user's that say what a pack need not hold.
const MAX_KNOWN: &str = "--count=10000";

/// The repository. Dropping it removes the links.
#[derive(Debug)]
pub struct LinkedRepository {
    git: Git,
    dir: PathBuf,
}

impl LinkedRepository {
    /// Makes it in `dir`, which it empties.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(git: Git, dir: &Path, repository: &Repository) -> Result<Self, PathError> {
        remove(dir)?;
        fs::create_dir_all(dir).at(dir)?;
        link(dir, repository)?;
        Ok(Self {
            git,
            dir: dir.to_owned(),
        })
    }

    /// Returns where it lies.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Prepares a command that writes no reflog.
    pub fn call(&self, arguments: &[&str]) -> GitCall {
        let arguments = [&["-c", "core.logAllRefUpdates=false"], arguments].concat();
        self.git.call(&self.dir, &arguments)
    }

    /// Lists refs by name, and what they name.
    ///
    /// # Errors
    /// Git's.
    pub fn refs(
        &self,
        patterns: &[&str],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<(String, ObjectId)>, GitError> {
        let format = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let call = self.call(&[&format, patterns].concat());
        let listed = call.run(&mut io::empty(), is_cancelled)?;
        let listed = listed.text("list the refs of your repository")?;
        let refs = listed.lines().filter_map(|line| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), ObjectId::from_hex(id.as_bytes())?))
        });
        Ok(refs.collect())
    }

    /// Returns what the user's refs name, the first 10,000 by name, and which of `others` the
    /// user has.
    ///
    /// # Errors
    /// Git's.
    pub fn known(
        &self,
        others: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<ObjectId>, GitError> {
        let refs = self.refs(&[MAX_KNOWN], is_cancelled)?;
        let mut known: Vec<ObjectId> = refs.into_iter().map(|(_, id)| id).collect();
        known.extend(self.having(others, is_cancelled)?);
        known.sort_unstable();
        known.dedup();
        Ok(known)
    }

    /// Returns which of these objects the user has.
    ///
    /// # Errors
    /// Git's.
    pub fn having(
        &self,
        ids: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<ObjectId>, GitError> {
        let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let call = self.call(&["cat-file", "--batch-check=%(objectname)"]);
        let there = call.run(&mut asked.as_bytes(), is_cancelled)?;
        let there = there.text("look for objects in your repository")?;
        let ids = there.lines().map(str::as_bytes);
        Ok(ids.filter_map(ObjectId::from_hex).collect())
    }
}

impl Drop for LinkedRepository {
    fn drop(&mut self) {
        // It holds links and a few lines; the next one empties it too.
        drop(remove(&self.dir));
    }
}

fn remove(dir: &Path) -> Result<(), PathError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.at(dir),
    }
}

/// Links the user's objects and refs.
fn link(dir: &Path, repository: &Repository) -> Result<(), PathError> {
    let common = repository.common().path();
    let by_name = |name: &str| {
        let at = dir.join(name);
        symlink(common.join(name), &at).at(&at)
    };
    by_name("objects")?;
    let (head, refs) = match repository.refs() {
        RefStorage::Files => ("ref: refs/heads/none\n", "refs"),
        RefStorage::Tables => ("ref: refs/heads/.invalid\n", "reftable"),
    };
    by_name(refs)?;
    match repository.refs() {
        RefStorage::Files if common.join("packed-refs").exists() => by_name("packed-refs")?,
        RefStorage::Files => {}
        RefStorage::Tables => {
            let heads = dir.join("refs");
            fs::create_dir(&heads).at(&heads)?;
        }
    }
    copy_shallow(repository, dir)?;
    let config = bare_config(repository, repository.refs());
    for (name, text) in [("config", &*config), ("HEAD", head)] {
        let path = dir.join(name);
        fs::write(&path, text).at(&path)?;
    }
    Ok(())
}

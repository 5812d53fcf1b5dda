//! `Landing`: puts examined commits into the user's repository, as refs of ours.
//!
//! Git works in a directory of ours, to which the user's objects and refs are linked by name. So
//! it reads no key of the user's configuration and no hook, and has neither `HEAD` nor index nor
//! reflogs of the user's to write. Objects come by `git fetch`, which checks each once more
//! (`fetch.fsckObjects`) and that nothing is missing; refs are moved by one transaction each.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lazaret_transfer::{ObjectId, RefStorage, Repository};
use lazaret_tree::{AtPath as _, PathError};

use crate::git::{GitCall, GitError, IsCancelled};
use crate::land_name::LandName;
use crate::quarantine::{Quarantine, bare_config, copy_shallow};

/// How often a name is numbered when it is checked out.
const MAX_NUMBER: usize = 100;

const FETCH: &[&str] = &[
    "-c",
    "fetch.fsckObjects=true",
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "protocol.file.allow=always",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
];

/// Why something was not landed.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Every name that it could have is checked out.
    #[error("{0} and its numbered names are checked out")]
    CheckedOut(LandName),
}

/// What is to be landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Under which name.
    pub name: LandName,
    /// Which object: a commit, or an annotated tag.
    pub id: ObjectId,
}

/// What was landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The ref.
    pub name: LandName,
    /// What it names.
    pub id: ObjectId,
    /// What became of it.
    pub how: LandedHow,
}

/// What became of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandedHow {
    /// It was made.
    New,
    /// It named that already.
    Already,
    /// It was moved on.
    Forwarded,
    /// It named something that the new commits do not go on from, which is kept under this name.
    Replaced(LandName),
}

/// A repository that shares objects and refs with the user's. Dropping it removes it.
#[derive(Debug)]
pub struct Landing<'a> {
    dir: PathBuf,
    quarantine: &'a Quarantine,
    is_cancelled: IsCancelledRef<'a>,
    refs: HashMap<String, ObjectId>,
    checked_out: Vec<String>,
}

/// [`IsCancelled`] with a name for `Debug`.
struct IsCancelledRef<'a>(IsCancelled<'a>);

impl std::fmt::Debug for IsCancelledRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IsCancelled")
    }
}

impl<'a> Landing<'a> {
    /// Makes it in `dir`, which it empties.
    ///
    /// # Errors
    /// The disk's, or git's.
    pub fn open(
        dir: &Path,
        repository: &Repository,
        quarantine: &'a Quarantine,
        is_cancelled: IsCancelled<'a>,
    ) -> Result<Self, LandError> {
        remove(dir)?;
        fs::create_dir_all(dir).at(dir)?;
        link_repository(dir, repository)?;
        let mut landing = Self {
            dir: dir.to_owned(),
            quarantine,
            is_cancelled: IsCancelledRef(is_cancelled),
            refs: HashMap::new(),
            checked_out: checked_out(repository),
        };
        landing.refs = landing.read_refs()?;
        if repository.refs() == RefStorage::Tables {
            // `HEAD` is a ref of the tables then.
            let call = landing.git(&["symbolic-ref", "--quiet", "HEAD"]);
            let head = call.run(&mut io::empty(), is_cancelled)?;
            let head = head.text("read HEAD").unwrap_or_default();
            landing.checked_out.push(head);
        }
        Ok(landing)
    }

    /// Lands each by itself: one that fails leaves the others alone.
    ///
    /// # Errors
    /// When an end is wanted.
    pub fn land(&mut self, wanted: &[Wanted]) -> Result<Vec<Result<Landed, LandError>>, LandError> {
        let ids: Vec<ObjectId> = wanted.iter().map(|one| one.id).collect();
        // All objects at once; where that fails, each by itself says which one it is.
        let all = match ids.is_empty() {
            true => Ok(()),
            false => self.fetch(&ids),
        };
        let mut landed = Vec::new();
        for one in wanted {
            let fetched = match &all {
                Ok(()) => Ok(()),
                Err(_) => self.fetch(&[one.id]),
            };
            match fetched.and_then(|()| self.put(one)) {
                Err(LandError::Git(GitError::Cancelled)) => {
                    return Err(GitError::Cancelled.into());
                }
                done => landed.push(done),
            }
        }
        Ok(landed)
    }

    fn fetch(&self, ids: &[ObjectId]) -> Result<(), LandError> {
        let call = self
            .git(FETCH)
            .env("GIT_ALLOW_PROTOCOL", "file")
            .args([self.quarantine.dir().as_os_str()])
            .args(ids.iter().map(ToString::to_string));
        self.text(call, "", "take the objects over")?;
        Ok(())
    }

    /// Moves or makes one ref.
    fn put(&mut self, wanted: &Wanted) -> Result<Landed, LandError> {
        let name = self.free_name(wanted)?;
        let id = wanted.id;
        let old = self.refs.get(name.as_str()).copied();
        let mut commands = String::new();
        let how = match old {
            None => {
                commands.push_str(&format!("create {} {id}\n", name.as_str()));
                LandedHow::New
            }
            Some(old) if old == id => LandedHow::Already,
            Some(old) => {
                let how = match self.is_ancestor(old, id)? {
                    true => LandedHow::Forwarded,
                    false => {
                        let aside = name.aside(&old);
                        if !self.refs.contains_key(aside.as_str()) {
                            commands.push_str(&format!("create {} {old}\n", aside.as_str()));
                        }
                        LandedHow::Replaced(aside)
                    }
                };
                commands.push_str(&format!("update {} {id} {old}\n", name.as_str()));
                how
            }
        };
        if !commands.is_empty() {
            let call = self.git(&["update-ref", "--no-deref", "--stdin"]);
            self.text(call, &commands, "write the ref")?;
        }
        self.refs.insert(name.as_str().to_owned(), id);
        Ok(Landed { name, id, how })
    }

    /// Returns the name, or one with a number where that is checked out and names something else.
    fn free_name(&self, wanted: &Wanted) -> Result<LandName, LandError> {
        let is_free = |name: &LandName| {
            !self.checked_out.iter().any(|one| one == name.as_str())
                || self.refs.get(name.as_str()) == Some(&wanted.id)
        };
        let numbered = (2..MAX_NUMBER).map(|number| wanted.name.numbered(number));
        let mut names = std::iter::once(wanted.name.clone()).chain(numbered);
        let free = names.find(is_free);
        free.ok_or_else(|| LandError::CheckedOut(wanted.name.clone()))
    }

    fn is_ancestor(&self, old: ObjectId, new: ObjectId) -> Result<bool, LandError> {
        let (old, new) = (old.to_string(), new.to_string());
        let call = self.git(&["merge-base", "--is-ancestor", &old, &new]);
        let ended = call.run(&mut io::empty(), self.is_cancelled.0)?;
        // 1 is "no"; what git can't tell is kept aside as well.
        Ok(ended.is_success())
    }

    fn read_refs(&self) -> Result<HashMap<String, ObjectId>, LandError> {
        let call = self.git(&[
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/heads/lazaret/",
            "refs/tags/lazaret/",
            "refs/lazaret/",
        ]);
        let listed = self.text(call, "", "list the refs of your repository")?;
        let refs = listed.lines().filter_map(|line| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), ObjectId::from_hex(id.as_bytes())?))
        });
        Ok(refs.collect())
    }

    fn git(&self, arguments: &[&str]) -> GitCall {
        let arguments = [&["-c", "core.logAllRefUpdates=false"], arguments].concat();
        self.quarantine.git().call(&self.dir, &arguments)
    }

    fn text(&self, call: GitCall, stdin: &str, doing: &'static str) -> Result<String, GitError> {
        call.run(&mut stdin.as_bytes(), self.is_cancelled.0)?
            .text(doing)
    }
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        // It holds links and a few lines; the next landing empties it too.
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
fn link_repository(dir: &Path, repository: &Repository) -> Result<(), PathError> {
    let common = repository.common().path();
    let link = |name: &str| {
        let at = dir.join(name);
        symlink(common.join(name), &at).at(&at)
    };
    link("objects")?;
    let (head, refs) = match repository.refs() {
        RefStorage::Files => ("ref: refs/heads/none\n", "refs"),
        RefStorage::Tables => ("ref: refs/heads/.invalid\n", "reftable"),
    };
    link(refs)?;
    match repository.refs() {
        RefStorage::Files if common.join("packed-refs").exists() => link("packed-refs")?,
        RefStorage::Files => {}
        RefStorage::Tables => {
            let heads = dir.join("refs");
            fs::create_dir(&heads).at(&heads)?;
        }
    }
    copy_shallow(repository, dir)?;
    let config = bare_config(repository.is_sha256(), repository.refs());
    for (name, text) in [("config", &*config), ("HEAD", head)] {
        let path = dir.join(name);
        fs::write(&path, text).at(&path)?;
    }
    Ok(())
}

/// Returns the branches that the user has checked out, in all linked worktrees.
fn checked_out(repository: &Repository) -> Vec<String> {
    let common = repository.common().path();
    let mut heads = vec![repository.own().path().join("HEAD"), common.join("HEAD")];
    let worktrees = fs::read_dir(common.join("worktrees"));
    for worktree in worktrees.into_iter().flatten().flatten() {
        heads.push(worktree.path().join("HEAD"));
    }
    let read = heads.into_iter().filter_map(|head| {
        let text = fs::read_to_string(head).ok()?;
        Some(text.strip_prefix("ref: ")?.trim_end().to_owned())
    });
    read.collect()
}

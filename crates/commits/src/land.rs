//! `Landing`: puts examined commits into the user's repository, as refs of ours.
//!
//! Git works in a [`LinkedRepository`]. If all that came in is landed, its packs are taken as they
//! were [checked](crate::adopt); otherwise objects come by `git fetch`, which checks each once more
//! (`fetch.fsckObjects`) and that nothing is missing. Refs are moved by one transaction each.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io;

use lazaret_transfer::{ObjectId, RefStorage, Repository};

use crate::adopt::adopt;
use crate::git::{GitError, IsCancelled};
use crate::land_name::LandName;
use crate::linked::LinkedRepository;
use crate::quarantine::Quarantine;

/// How often a name is numbered when it is checked out.
const MAX_NUMBER: usize = 100;

/// Where refs of ours are.
pub(crate) const OURS: &[&str] = &["refs/heads/lazaret/", "refs/tags/lazaret/", "refs/lazaret/"];

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
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Every name that it could have is checked out.
    #[error("{0} and its numbered names are checked out")]
    CheckedOut(LandName),
}

/// What is to be landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandRequest {
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

/// The refs of ours in the user's repository, to which examined commits are added.
pub struct Landing<'a> {
    linked: &'a LinkedRepository,
    quarantine: &'a Quarantine,
    is_cancelled: IsCancelled<'a>,
    refs: HashMap<String, ObjectId>,
    checked_out: Vec<String>,
    /// The names of all that is landed together.
    given: HashSet<String>,
}

impl fmt::Debug for Landing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Landing")
            .field("refs", &self.refs)
            .finish_non_exhaustive()
    }
}

impl<'a> Landing<'a> {
    /// Reads which refs are there.
    ///
    /// # Errors
    /// Git's.
    pub fn open(
        linked: &'a LinkedRepository,
        repository: &Repository,
        quarantine: &'a Quarantine,
        is_cancelled: IsCancelled<'a>,
    ) -> Result<Self, LandError> {
        let mut landing = Self {
            linked,
            quarantine,
            is_cancelled,
            refs: linked.refs(OURS, is_cancelled)?.into_iter().collect(),
            checked_out: checked_out(repository),
            given: HashSet::new(),
        };
        if repository.refs() == RefStorage::Tables {
            // `HEAD` is a ref of the tables then.
            let call = linked.call(&["symbolic-ref", "--quiet", "HEAD"]);
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
    pub fn land(
        &mut self,
        wanted: &[LandRequest],
    ) -> Result<Vec<Result<Landed, LandError>>, LandError> {
        let names = wanted.iter().map(|one| one.name.as_str().to_owned());
        self.given.extend(names);
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
        if adopt(self.quarantine, self.linked, ids, self.is_cancelled) {
            return Ok(());
        }
        let call = self.linked.call(FETCH);
        let call = call
            .env("GIT_ALLOW_PROTOCOL", "file")
            .args([self.quarantine.dir().as_os_str()])
            .args(ids.iter().map(ToString::to_string));
        let fetched = call.run(&mut io::empty(), self.is_cancelled)?;
        fetched.text("take the objects over")?;
        Ok(())
    }

    /// Moves or makes one ref.
    fn put(&mut self, wanted: &LandRequest) -> Result<Landed, LandError> {
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
            let call = (self.linked).call(&["update-ref", "--no-deref", "--stdin"]);
            let done = call.run(&mut commands.as_bytes(), self.is_cancelled)?;
            done.text("write the ref")?;
        }
        self.refs.insert(name.as_str().to_owned(), id);
        Ok(Landed { name, id, how })
    }

    /// Returns the name, or one with a number where that is checked out and names something else.
    /// A number leads to no ref that another tip gets or that these commits do not go on from.
    fn free_name(&self, wanted: &LandRequest) -> Result<LandName, LandError> {
        if self.is_free(&wanted.name, wanted.id) {
            return Ok(wanted.name.clone());
        }
        for number in 2..MAX_NUMBER {
            let name = wanted.name.numbered(number);
            let goes_on = match self.refs.get(name.as_str()) {
                None => true,
                Some(old) => self.is_ancestor(*old, wanted.id)?,
            };
            if goes_on && self.is_free(&name, wanted.id) && !self.given.contains(name.as_str()) {
                return Ok(name);
            }
        }
        Err(LandError::CheckedOut(wanted.name.clone()))
    }

    fn is_free(&self, name: &LandName, id: ObjectId) -> bool {
        let is_there = self.refs.get(name.as_str()) == Some(&id);
        is_there || !self.checked_out.iter().any(|one| one == name.as_str())
    }

    fn is_ancestor(&self, old: ObjectId, new: ObjectId) -> Result<bool, LandError> {
        let (old, new) = (old.to_string(), new.to_string());
        let call = (self.linked).call(&["merge-base", "--is-ancestor", &old, &new]);
        let ended = call.run(&mut io::empty(), self.is_cancelled)?;
        // 1 is "no"; what git can't tell is kept aside as well.
        Ok(ended.is_success())
    }
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

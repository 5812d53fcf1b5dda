//! `new_refs`: the commits, stashes and tags that a command made in the repositories of its
//! copy, found without git.
//!
//! What a command does to files is in the [`ChangeSet`](lazaret_tree::ChangeSet); what it does with git
//! lies in `.git`, which is never applied. So a volume that holds a commit may have no change at
//! all. Here the small texts of each repository (`HEAD`, refs, packed refs, reflogs), which come
//! out with the changed files, are read as strict text and held against what was sent in.
//!
//! A ref counts if it names an object that was made inside, whatever its own name is: a branch
//! at a commit of the workspace's is no work that could be lost. How many commits there are is
//! told by reflogs, as far as those go. No object is read.
//!
//! All of it is the command's to write, and believed only in so far as anything that is not
//! understood counts as unreadable, never as nothing.

mod history;
mod id;
mod index_file;
mod objects;
mod own_work;
mod place;
mod repository;
mod text;
mod tips;

use std::cell::Cell;
use std::collections::BTreeSet;

use lazaret_tree::{Digest, MAX_REF_TEXT, RelPathBuf, Tree};

pub use id::ObjectId;
pub use index_file::{IndexEntry, IndexKind, read_index};
pub use own_work::{OwnWork, own_work};
pub use tips::Tips;

use crate::VolumeState;
use repository::Repository;

/// The most that are listed; the rest is counted.
const MOST_LISTED: usize = 100;
/// The most ids of one reflog that are listed.
const MOST_LOGGED: usize = 1000;
/// The most bytes of texts that are looked into, of all repositories together.
const MOST_TEXTS: u64 = 4 * MAX_REF_TEXT;
/// The most commits that are counted, of all refs together.
const MOST_STEPS: u64 = 1 << 20;

/// What was made inside and no ref of the workspace names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRefs {
    /// By repository, in the order of paths; at most 100.
    pub listed: Vec<NewRef>,
    /// How many more there are.
    pub more: u64,
}

/// Something in a repository that names work made inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRef {
    /// What it is.
    pub kind: NewRefKind,
    /// Raw: of a branch or a tag, without `refs/heads/` or `refs/tags/`; of a worktree, its
    /// name; of what is unreadable, its path. Empty for all that there is once.
    pub name: Vec<u8>,
    /// Where its repository lies: `.git`, or a directory below `.git/modules`.
    pub repository: RelPathBuf,
    /// The object that it names.
    pub tip: Option<ObjectId>,
    /// How many commits it holds, or how many stashes there are; `None` where nothing tells.
    pub count: Option<Count>,
    /// The subject of the newest commit, raw, by its reflog.
    pub subject: Option<Vec<u8>>,
    /// Of the stash, its entries, the newest first; of a reflog, the commits that nothing else
    /// names. At most 1,000.
    pub logged: Vec<ObjectId>,
}

/// What names an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NewRefKind {
    /// `HEAD` itself, which is on no branch.
    Head,
    /// The `HEAD` of a linked worktree, which is on no branch.
    Worktree,
    /// A branch.
    Branch,
    /// A tag.
    Tag,
    /// The stash.
    Stash,
    /// Any other ref, by its full name.
    Other,
    /// A reflog, and nothing else.
    Reflog,
    /// A file that is not what git writes, or that can't be read.
    Unreadable,
}

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// As many.
    Exactly(u64),
    /// As many, or more.
    AtLeast(u64),
    /// As many, or fewer.
    AtMost(u64),
}

/// Returns the contents of a file of a volume, by digest and size; `None` where they are not
/// there.
pub type Texts<'a> = dyn Fn(&Digest, u64) -> Option<Vec<u8>> + 'a;

/// What a repository is held against, and what may be spent on it.
#[derive(Clone, Copy)]
struct Sides<'a> {
    baseline: &'a Tree,
    volume: &'a VolumeState,
    tips: &'a Tips,
    texts: &'a Texts<'a>,
    /// How many bytes of texts may still be read, of all repositories.
    room: &'a Cell<u64>,
    /// How many commits may still be counted, of all repositories.
    steps: &'a Cell<u64>,
}

/// Lists what the repositories in `volume` hold that was made inside. `baseline` was sent in,
/// `tips` is what its refs name, and `texts` knows the files that
/// [`Wanted::covers`](lazaret_protocol::Wanted::covers).
pub fn new_refs(baseline: &Tree, volume: &VolumeState, tips: &Tips, texts: &Texts<'_>) -> NewRefs {
    let mut found = NewRefs::default();
    let mut unreadable = BTreeSet::new();
    let (room, steps) = (Cell::new(MOST_TEXTS), Cell::new(MOST_STEPS));
    for at in place::repositories(volume) {
        let sides = Sides {
            baseline,
            volume,
            tips,
            texts,
            room: &room,
            steps: &steps,
        };
        let Some(mut repository) = Repository::at(&at, sides) else {
            continue;
        };
        repository.look(&mut found);
        // What lies in a submodule's repository lies in that of the root as well.
        for path in repository.take_unreadable() {
            if unreadable.insert(path.clone()) {
                repository.list_unreadable(&mut found, path);
            }
        }
    }
    found
}

/// Returns what a ref of this full name is, and its name as it is listed; `None` if git would not
/// have made a ref of that name (git-check-ref-format(1)).
pub fn ref_kind(name: &[u8]) -> Option<(NewRefKind, &[u8])> {
    text::is_ref_name(name).then(|| repository::kind_of(name))
}

impl NewRefs {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

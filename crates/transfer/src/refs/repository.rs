//! `Repository`: what the texts of one repository say.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use lazaret_protocol::FoundKind;
use lazaret_tree::{Entry, MAX_REF_TEXT, RelPath, RelPathBuf, Tree};

use super::history::History;
use super::objects::{Objects, Origin};
use super::text::{self, Reference};
use super::{
    Count, MOST_LISTED, MOST_LOGGED, NewRef, NewRefKind, NewRefs, ObjectId, Sides, Texts,
    index_file,
};
use crate::VolumeState;
use crate::volume_state::VolumeEntry;

/// What is known of something that is listed.
#[derive(Default)]
struct RefDetails {
    tip: Option<ObjectId>,
    count: Option<Count>,
    logged: Vec<ObjectId>,
}

/// One repository of a volume.
pub(super) struct Repository<'a> {
    at: &'a RelPath,
    baseline: &'a Tree,
    volume: &'a VolumeState,
    texts: &'a Texts<'a>,
    /// How many bytes of texts may still be read, of all repositories.
    room: &'a Cell<u64>,
    objects: Objects<'a>,
    history: History<'a>,
    /// Raw paths.
    unreadable: BTreeSet<Vec<u8>>,
}

/// What a file of a repository says.
enum FileText {
    /// There is none.
    Nothing,
    /// What was sent in.
    AsSent,
    /// Something new.
    Text(Vec<u8>),
    /// It can't be read.
    Unreadable,
}

impl<'a> Repository<'a> {
    /// Takes the repository in the directory `at`; `None` where no path fits below it.
    pub(super) fn at(at: &'a RelPath, sides: Sides<'a>) -> Option<Self> {
        let Sides {
            baseline,
            volume,
            tips,
            texts,
            room,
            steps,
        } = sides;
        Some(Self {
            at,
            baseline,
            volume,
            texts,
            room,
            objects: Objects::of(at.join("objects").ok()?, baseline, volume, tips),
            history: History::within(steps),
            unreadable: BTreeSet::new(),
        })
    }

    /// Takes the paths of what can't be read, raw.
    pub(super) fn take_unreadable(&mut self) -> BTreeSet<Vec<u8>> {
        std::mem::take(&mut self.unreadable)
    }

    /// Lists something that can't be read.
    pub(super) fn list_unreadable(&self, found: &mut NewRefs, path: Vec<u8>) {
        self.add(found, NewRefKind::Unreadable, path, RefDetails::default());
    }

    /// Lists what it has that is new, and notes what can't be read.
    pub(super) fn look(&mut self, found: &mut NewRefs) {
        if !matches!(
            self.volume.at(self.at),
            VolumeEntry::Absent | VolumeEntry::Known(Entry::Dir)
        ) {
            self.unreadable.insert(raw(self.at));
        }
        self.find_odd();
        let heads = self.heads();
        let refs = self.refs();
        let mut stashes = self.logs();
        let mut seen = BTreeSet::new();
        let mut is_whole = true;
        for (kind, name, tip) in heads.into_iter().chain(refs) {
            let logged = match kind {
                NewRefKind::Stash => std::mem::take(&mut stashes),
                _ => Vec::new(),
            };
            let count = match kind {
                NewRefKind::Stash => Some(match logged.len() {
                    0 => Count::AtLeast(1),
                    number => Count::Exactly(number as u64),
                }),
                _ => {
                    let count = self.history.count(tip, &self.objects, &mut seen);
                    is_whole &= matches!(count, Some(Count::Exactly(_)));
                    // A tag, or a ref of another kind, need not name a commit.
                    count.filter(|_| !matches!(kind, NewRefKind::Tag | NewRefKind::Other))
                }
            };
            let known = RefDetails {
                tip: Some(tip),
                count,
                logged,
            };
            self.add(found, kind, name, known);
        }
        let some = |logged: Vec<ObjectId>, count: fn(u64) -> Count| RefDetails {
            tip: None,
            count: Some(count(logged.len() as u64)),
            logged,
        };
        if !stashes.is_empty() {
            let known = some(stashes, Count::Exactly);
            self.add(found, NewRefKind::Stash, Vec::new(), known);
        }
        let rest: Vec<ObjectId> = self.history.rest(&self.objects, &seen).collect();
        if !rest.is_empty() {
            let count = match is_whole {
                true => Count::Exactly,
                false => Count::AtMost,
            };
            self.add(found, NewRefKind::Reflog, Vec::new(), some(rest, count));
        }
    }

    /// Lists one, or counts it.
    fn add(&self, found: &mut NewRefs, kind: NewRefKind, name: Vec<u8>, known: RefDetails) {
        if found.listed.len() >= MOST_LISTED {
            found.more += 1;
            return;
        }
        let RefDetails {
            tip,
            count,
            mut logged,
        } = known;
        logged.truncate(MOST_LOGGED);
        let subject = tip.filter(|_| kind != NewRefKind::Stash);
        found.listed.push(NewRef {
            kind,
            name,
            repository: self.at.to_owned(),
            tip,
            count,
            subject: subject.and_then(|tip| self.history.subject(&tip)),
            logged,
        });
    }

    /// Notes what makes a repository another one than it seems, and what may hide refs: names
    /// and types that are not carried, and links.
    pub(super) fn find_odd(&mut self) {
        for (name, is_dir) in [
            ("commondir", false),
            ("reftable", false),
            ("modules", true),
            ("worktrees", true),
        ] {
            let Ok(path) = self.at.join(name) else {
                continue;
            };
            match self.volume.at(&path) {
                VolumeEntry::Absent => {}
                VolumeEntry::Known(Entry::Dir) if is_dir => {}
                _ => drop(self.unreadable.insert(raw(&path))),
            }
            let links = self.volume.below(&path).filter(|(path, entry)| {
                matches!(entry, Entry::Symlink { .. }) && self.baseline.get(path) != Some(entry)
            });
            let links: Vec<Vec<u8>> = links.map(|(path, _)| raw(path)).collect();
            self.unreadable.extend(links);
        }
        let is_state = |name: &[u8], kind: &FoundKind| {
            let inside = name.get(self.at.as_str().len() + 1..).unwrap_or_default();
            match inside.split(|&byte| byte == b'/').next() {
                Some(b"HEAD" | b"packed-refs" | b"refs" | b"logs" | b"worktrees") => true,
                // A socket of some program's hides no repository.
                Some(b"modules") => !matches!(kind, FoundKind::Special(_)),
                _ => false,
            }
        };
        let odd = self.volume.unsupported_below(self.at);
        let odd = odd.filter(|(name, kind)| is_state(name, kind));
        self.unreadable.extend(odd.map(|(name, _)| name.to_vec()));
    }

    /// Returns `HEAD`, and that of each worktree, where it names a commit made inside.
    fn heads(&mut self) -> Vec<(NewRefKind, Vec<u8>, ObjectId)> {
        let mut heads = self.changed_heads();
        heads.retain(|(_, _, tip)| self.objects.origin(tip) != Origin::Sent);
        heads
    }

    /// Returns `HEAD`, and that of each worktree, where it is not as it was sent and names a
    /// commit.
    pub(super) fn changed_heads(&mut self) -> Vec<(NewRefKind, Vec<u8>, ObjectId)> {
        let mut heads = Vec::new();
        let mut places = vec![(NewRefKind::Head, Vec::new(), self.at.join("HEAD"))];
        for worktree in self.worktrees() {
            let name = worktree.file_name().as_bytes().to_vec();
            places.push((NewRefKind::Worktree, name, worktree.join("HEAD")));
        }
        for (kind, name, path) in places {
            let Ok(path) = path else { continue };
            if let Some(Reference::Object(tip)) = self.reference(&path) {
                heads.push((kind, name, tip));
            }
        }
        heads
    }

    /// Lists the directories of linked worktrees.
    fn worktrees(&self) -> Vec<RelPathBuf> {
        let Ok(above) = self.at.join("worktrees") else {
            return Vec::new();
        };
        let below = self.volume.below(&above);
        let dirs =
            below.filter(|(path, entry)| **entry == Entry::Dir && path.parent() == Some(&*above));
        dirs.map(|(path, _)| path.to_owned()).collect()
    }

    /// Returns the refs that name something made inside, by name.
    fn refs(&mut self) -> Vec<(NewRefKind, Vec<u8>, ObjectId)> {
        let new = self.changed_refs().into_iter().filter_map(|(name, id)| {
            let id = id.filter(|id| self.objects.origin(id) != Origin::Sent)?;
            let (kind, name) = kind_of(&name);
            Some((kind, name.to_vec(), id))
        });
        let mut new: Vec<_> = new.collect();
        new.sort_by_key(|(kind, ..)| *kind);
        new
    }

    /// Returns the refs of files that are not as they were sent, by full name; `None` for one
    /// that is as it was sent or names another ref.
    pub(super) fn changed_refs(&mut self) -> BTreeMap<Vec<u8>, Option<ObjectId>> {
        // A loose one hides the packed one of its name; `None` for what is of no interest.
        let mut all: BTreeMap<Vec<u8>, Option<ObjectId>> = BTreeMap::new();
        if let Ok(path) = self.at.join("packed-refs")
            && let FileText::Text(text) = self.file_text(&path)
        {
            match text::packed_refs(&text) {
                Some(refs) => {
                    let refs = refs.into_iter();
                    all.extend(refs.map(|(name, id)| (name.to_vec(), Some(id))));
                }
                None => drop(self.unreadable.insert(raw(&path))),
            }
        }
        let mut roots = vec![self.at.to_owned()];
        roots.extend(self.worktrees());
        for root in roots {
            for path in self.files_below(&root, "refs") {
                let inside = path.as_str().get(root.as_str().len() + 1..);
                let inside = inside.unwrap_or_default();
                if !text::is_ref_name(inside.as_bytes()) {
                    self.unreadable.insert(raw(&path));
                    continue;
                }
                let id = match self.reference(&path) {
                    Some(Reference::Object(id)) => Some(id),
                    Some(Reference::Symbolic) | None => None,
                };
                let name = match *root == *self.at {
                    true => inside.as_bytes().to_vec(),
                    // A worktree has a few refs of its own.
                    false => format!("worktrees/{}/{inside}", root.file_name()).into_bytes(),
                };
                all.insert(name, id);
            }
        }
        all
    }

    /// Lists what reflogs and the index name and was made inside; `None` if the index can't be
    /// read.
    pub(super) fn held(&mut self) -> Option<Vec<ObjectId>> {
        let mut held = self.logs();
        held.extend(self.history.rest(&self.objects, &BTreeSet::new()));
        match self.file_text(&self.at.join("index").ok()?) {
            FileText::Nothing | FileText::AsSent => {}
            FileText::Unreadable => return None,
            FileText::Text(index) => {
                // One of another format has another length, and is not understood.
                let mut formats = [20, 32].into_iter();
                let staged = formats.find_map(|bytes| index_file::objects(&index, bytes))?;
                let made_inside = |id: &ObjectId| self.objects.origin(id) != Origin::Sent;
                held.extend(staged.into_iter().filter(made_inside));
            }
        }
        Some(held)
    }

    /// Takes the reflogs in, and returns the stashes that were made inside, the newest first.
    fn logs(&mut self) -> Vec<ObjectId> {
        let mut stashes = Vec::new();
        let mut roots = vec![self.at.to_owned()];
        roots.extend(self.worktrees());
        for root in roots {
            for path in self.files_below(&root, "logs") {
                let FileText::Text(text) = self.file_text(&path) else {
                    continue;
                };
                let Some(log) = text::reflog(&text) else {
                    self.unreadable.insert(raw(&path));
                    continue;
                };
                let inside = path.as_str().get(root.as_str().len() + 1..);
                match inside.unwrap_or_default() {
                    "logs/refs/stash" => {
                        let new = log.iter().rev().filter(|line| {
                            // Where that can't be told, it was one of what the refs named.
                            self.objects.origin(&line.new) != Origin::Sent
                        });
                        stashes.extend(new.map(|line| line.new));
                    }
                    "logs/HEAD" => self.history.add(&log),
                    inside if inside.starts_with("logs/refs/heads/") => self.history.add(&log),
                    _ => {}
                }
            }
        }
        stashes
    }

    /// Lists what is no directory at or below `name` in `root`.
    fn files_below(&self, root: &RelPath, name: &str) -> Vec<RelPathBuf> {
        let Ok(dir) = root.join(name) else {
            return Vec::new();
        };
        let itself = self.volume.get(&dir).map(|entry| (&*dir, entry));
        let all = itself.into_iter().chain(self.volume.below(&dir));
        let files = all.filter(|(_, entry)| **entry != Entry::Dir);
        files.map(|(path, _)| path.to_owned()).collect()
    }

    /// Reads `HEAD` or a loose ref that is not as it was sent.
    fn reference(&mut self, path: &RelPath) -> Option<Reference> {
        let FileText::Text(text) = self.file_text(path) else {
            return None;
        };
        let reference = text::reference(&text);
        if reference.is_none() {
            self.unreadable.insert(raw(path));
        }
        reference
    }

    /// Reads a file that is not as it was sent, and notes one that can't be read.
    fn file_text(&mut self, path: &RelPath) -> FileText {
        let said = match self.volume.get(path) {
            None => FileText::Nothing,
            held if held == self.baseline.get(path) => FileText::AsSent,
            Some(Entry::File { size, digest, .. }) => {
                let room = self.room.get();
                let text = (*size <= MAX_REF_TEXT.min(room)).then(|| (self.texts)(digest, *size));
                self.room.set(room.saturating_sub(*size));
                text.flatten().map_or(FileText::Unreadable, FileText::Text)
            }
            Some(Entry::Dir | Entry::Symlink { .. }) => FileText::Unreadable,
        };
        if matches!(said, FileText::Unreadable) {
            self.unreadable.insert(raw(path));
        }
        said
    }
}

/// Returns what a ref of this full name is, and its name as it is listed.
pub(super) fn kind_of(name: &[u8]) -> (NewRefKind, &[u8]) {
    if name == b"refs/stash" {
        return (NewRefKind::Stash, b"");
    }
    if let Some(branch) = name.strip_prefix(b"refs/heads/") {
        return (NewRefKind::Branch, branch);
    }
    match name.strip_prefix(b"refs/tags/") {
        Some(tag) => (NewRefKind::Tag, tag),
        None => (NewRefKind::Other, name),
    }
}

fn raw(path: &RelPath) -> Vec<u8> {
    path.as_str().as_bytes().to_vec()
}

//! Any sequence of host edits, agent edits, updates, surveys, discards and kills ends with
//! volume and host as a model says.
//!
//! The model knows nothing of plans, intents, receipts or caches. It keeps, for every path
//! of a file or link, what both sides last had in common, and merges by the three-way table
//! alone; where directories come in, it only says what may not happen.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lazaret_tests::Random;
use lazaret_transfer::{AgentChanges, SyncPlan};
use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree, diff};

use super::kept::{Fault, Kept, read_all};

/// Sequences of an ordinary run; `LAZARET_SEQUENCES` sets another number, or `350..351`.
const SEQUENCES: u64 = 200;
const STEPS: usize = 12;
const NAMES: [&str; 5] = ["a", "b", "a.b", "d", "e"];

#[test]
fn every_sequence_ends_as_the_model_says() {
    let seeds = seeds();
    let sequences = seeds.end - seeds.start;
    let mut done = Counts::default();
    for seed in seeds {
        let mut play = Play::new(seed);
        for step in 0..STEPS {
            play.step(step);
        }
        play.end();
        done.add(&play.counts);
    }
    println!("{sequences} sequences: {done:?}");
    // None of this is there for nothing.
    assert!(
        done.whole > sequences && done.broken > sequences / 2,
        "{done:?}"
    );
    assert!(
        done.conflicts > sequences / 10 && done.surveys > sequences / 2,
        "{done:?}"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no `main` that could read it"
)]
fn seeds() -> Range<u64> {
    let number = |text: &str| text.parse().expect("a number");
    match std::env::var("LAZARET_SEQUENCES") {
        Ok(wanted) => match wanted.split_once("..") {
            Some((first, end)) => number(first)..number(end),
            None => 0..number(&wanted),
        },
        Err(_) => 0..SEQUENCES,
    }
}

#[derive(Debug, Default)]
struct Counts {
    whole: u64,
    broken: u64,
    conflicts: u64,
    surveys: u64,
    resets: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.whole += other.whole;
        self.broken += other.broken;
        self.conflicts += other.conflicts;
        self.surveys += other.surveys;
        self.resets += other.resets;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Host,
    Volume,
}

/// Files and links, by path.
type Leaves = BTreeMap<RelPathBuf, Entry>;

fn leaves(tree: &Tree) -> Leaves {
    let leaves = tree.iter().filter(|(_, entry)| **entry != Entry::Dir);
    leaves
        .map(|(path, entry)| (path.to_owned(), entry.clone()))
        .collect()
}

struct Play {
    seed: u64,
    random: Random,
    kept: Kept,
    /// What both sides last had in common.
    common: Leaves,
    /// For each update that broke off since the last whole one, what it may have brought to
    /// the volume, and what the volume held when it had ended.
    broken: Vec<(Leaves, Leaves)>,
    /// Contents never come twice by chance.
    written: u64,
    counts: Counts,
}

impl Play {
    fn new(seed: u64) -> Self {
        let kept = Kept::new("f a/a 1\nf a/b 2\nf b/a/a 3\nf b/b 4\nf d 5\nl e -> d");
        let common = leaves(&read_all(kept.workspace.path()));
        Self {
            seed,
            random: Random::new(seed),
            kept,
            common,
            broken: Vec::new(),
            written: 0,
            counts: Counts::default(),
        }
    }

    fn step(&mut self, step: usize) {
        let what = format!("seed {}, step {step}", self.seed);
        match self.random.below(10) {
            0..=2 => self.edit(Side::Host),
            3..=5 => self.edit(Side::Volume),
            6 => {
                self.kept.survey();
                self.kept.assert_known(&what);
                self.counts.surveys += 1;
            }
            7 => {
                let fault = match self.random.below(3) {
                    0 => Fault::Cut(self.random.below(6000)),
                    1 => Fault::Kill(self.random.below(6000)),
                    _ => Fault::LostReceipt,
                };
                self.update(AgentChanges::Keep, fault, &what);
            }
            8 => self.update(AgentChanges::Keep, Fault::None, &what),
            _ => {
                let agent_changes = self.random.pick(&[
                    AgentChanges::Keep,
                    AgentChanges::Keep,
                    AgentChanges::Discard,
                ]);
                self.update(agent_changes, Fault::None, &what);
            }
        }
    }

    /// A few edits of one side.
    fn edit(&mut self, side: Side) {
        let root = match side {
            Side::Host => self.kept.workspace.path(),
            Side::Volume => self.kept.volume.path(),
        };
        let root = root.to_path_buf();
        for _ in 0..=self.random.below(3) {
            let depth = 1 + self.random.below(3);
            let mut path = root.clone();
            for _ in 0..depth {
                path.push(self.random.pick(&NAMES));
            }
            self.edit_one(&root, &path);
        }
    }

    fn edit_one(&mut self, root: &Path, path: &Path) {
        let above = path.parent().expect("below the root");
        let there = fs::symlink_metadata(path);
        let is_dir = there.as_ref().is_ok_and(fs::Metadata::is_dir);
        match self.random.below(12) {
            // Another content of the same length, and the time of before.
            0 | 1 => {
                if let Ok(metadata) = there.as_ref()
                    && metadata.is_file()
                {
                    let modified = metadata.modified().expect("Unix");
                    fs::write(path, self.contents()).expect("ours");
                    let file = File::options().write(true).open(path).expect("ours");
                    file.set_modified(modified).expect("ours");
                }
            }
            2 => remove(path),
            3 => {
                // To and fro, which leaves everything as it was but ctime.
                if there.is_ok() {
                    let aside = root.join("aside");
                    fs::rename(path, &aside).expect("ours");
                    fs::rename(&aside, path).expect("ours");
                }
            }
            4 => {
                if there.as_ref().is_ok_and(fs::Metadata::is_file) {
                    let mode = self.random.pick(&[0o644, 0o755, 0o600]);
                    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
                }
            }
            // Another type, whatever is there.
            5 => {
                remove(path);
                if make_dirs(root, above) && fs::symlink_metadata(path).is_err() {
                    match self.random.below(3) {
                        0 => fs::create_dir(path).expect("new"),
                        1 => {
                            let target = self.random.pick(&["a", "../b", "/etc/passwd"]);
                            std::os::unix::fs::symlink(target, path).expect("new");
                        }
                        _ => fs::write(path, self.contents()).expect("new"),
                    }
                }
            }
            6 => {
                // A cache, which only one side may have, and no survey enters.
                if root == self.kept.volume.path() && make_dirs(root, above) && !is_dir {
                    let cache = above.join("__pycache__");
                    fs::create_dir_all(&cache).expect("ours");
                    fs::write(cache.join("x"), self.contents()).expect("ours");
                }
            }
            7 => {
                // Both sides come to the same.
                let relative = path.strip_prefix(root).expect("below the root");
                self.same_on_both(relative);
            }
            _ => {
                if !is_dir && make_dirs(root, above) {
                    if there.is_ok_and(|metadata| metadata.is_symlink()) {
                        remove(path);
                    }
                    fs::write(path, self.contents()).expect("ours");
                }
            }
        }
    }

    fn same_on_both(&mut self, relative: &Path) {
        let contents = self.contents();
        let roots: Vec<PathBuf> = [self.kept.workspace.path(), self.kept.volume.path()]
            .map(Path::to_path_buf)
            .into();
        for root in roots {
            let path = root.join(relative);
            let above = path.parent().expect("below the root").to_path_buf();
            let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
            if (is_file || fs::symlink_metadata(&path).is_err()) && make_dirs(&root, &above) {
                fs::write(path, &contents).expect("ours");
            }
        }
    }

    fn contents(&mut self) -> String {
        self.written += 1;
        format!("{:08}", self.written)
    }

    fn update(&mut self, agent_changes: AgentChanges, fault: Fault, what: &str) {
        let host = leaves(&read_all(self.kept.workspace.path()));
        let before = leaves(&read_all(self.kept.volume.path()));
        let caches = caches(self.kept.volume.path());
        let plan = self.kept.try_update(agent_changes, fault, &mut |_| {});
        let after = leaves(&read_all(self.kept.volume.path()));
        assert_eq!(
            self::caches(self.kept.volume.path()),
            caches,
            "{what}: a cache"
        );
        match plan {
            Ok(plan) => {
                self.counts.whole += 1;
                self.counts.resets += u64::from(agent_changes == AgentChanges::Discard);
                self.counts.conflicts += plan.conflicts.len() as u64;
                self.kept.assert_known(what);
                self.settle(agent_changes, &plan, (&host, &before, &after), what);
            }
            Err(_) => {
                self.counts.broken += 1;
                self.half(&host, &before, &after, what);
                self.broken.push((host, after));
            }
        }
    }

    /// A broken update leaves old or new at each path, or nothing where the type changes.
    fn half(&self, host: &Leaves, before: &Leaves, after: &Leaves, what: &str) {
        for (path, entry) in after {
            let old = before.get(path) == Some(entry);
            let new = host.get(path) == Some(entry);
            assert!(old || new, "{what}: {path} is {entry:?}");
        }
        for (path, entry) in before {
            if !after.contains_key(path) && !self.is_known(path, Some(entry)) {
                panic!("{what}: {path}, which was the agent's, is gone");
            }
        }
    }

    /// Whether a state of the volume is one that came from the host: the agent has no part
    /// in it.
    fn is_known(&self, path: &RelPath, entry: Option<&Entry>) -> bool {
        self.common.get(path) == entry
            || self.broken.iter().any(|(host, _)| host.get(path) == entry)
    }

    /// Holds a whole update against the three-way table.
    fn settle(
        &mut self,
        agent_changes: AgentChanges,
        plan: &SyncPlan,
        (host, before, after): (&Leaves, &Leaves, &Leaves),
        what: &str,
    ) {
        let told = |path: &RelPath| {
            let mut conflicts = plan.conflicts.iter();
            conflicts.any(|conflict| path.starts_with(&conflict.path))
        };
        let mut paths: Vec<&RelPathBuf> = host.keys().chain(before.keys()).collect();
        paths.extend(self.common.keys());
        paths.extend(after.keys());
        paths.sort_unstable();
        paths.dedup();
        let mut common = self.common.clone();
        for path in paths {
            let (b, h) = (self.common.get(path), host.get(path));
            let (v, now) = (before.get(path), after.get(path));
            let baseline = self.kept.baseline.get(path);
            let leaf = baseline.filter(|entry| **entry != Entry::Dir);
            let is_agents = !self.is_known(path, v);
            // A broken update had brought it, and the next one knew.
            let mut broken = self.broken.iter();
            let delivered = leaf == h
                && broken.any(|(host, after)| host.get(path) == h && after.get(path) == h);
            match (agent_changes, told(path)) {
                (_, true) => assert_eq!(now, v, "{what}: {path} conflicts, and moved"),
                (AgentChanges::Discard, false) => {
                    assert_eq!(now, h, "{what}: {path} after a discard")
                }
                (AgentChanges::Keep | AgentChanges::KeepCommits, false) if is_agents && v != h => {
                    assert_eq!(now, v, "{what}: {path} was the agent's");
                    assert!(
                        h == b || delivered,
                        "{what}: {path} changed on both sides, and is no conflict"
                    );
                }
                // An edit that takes back what a broken update had brought can't be told
                // from one that never came, unless an update came in between.
                (AgentChanges::Keep | AgentChanges::KeepCommits, false) => {
                    let agents = now == v && (h == b || delivered);
                    assert!(now == h || agents, "{what}: {path} is stale");
                }
            }
            // What the gate will call a change is one.
            if now == h && !told(path) {
                assert_eq!(leaf, now, "{what}: {path} would be taken for the agent's");
            }
            if let (true, Some(now)) = (leaf == now, now) {
                common.insert(path.clone(), now.clone());
            } else if leaf.is_none() && now.is_none() {
                common.remove(path);
            } else {
                assert!(
                    self.is_known(path, leaf),
                    "{what}: no side had the baseline of {path}: {leaf:?}"
                );
                match leaf {
                    Some(leaf) => drop(common.insert(path.clone(), leaf.clone())),
                    None => drop(common.remove(path)),
                }
            }
        }
        self.common = common;
        self.broken.clear();
    }

    /// Lets both sides agree, and sees that they do.
    fn end(&mut self) {
        let what = format!("seed {}, at the end", self.seed);
        self.update(AgentChanges::Keep, Fault::None, &what);
        // What the agent changed goes back, as the gate would write it, where the host has
        // not changed the same.
        let host = leaves(&read_all(self.kept.workspace.path()));
        let volume = leaves(&read_all(self.kept.volume.path()));
        let changes = diff(&self.kept.baseline, &self.kept.known.tree());
        for change in &changes {
            let is_leaf = |entry: &Option<Entry>| !matches!(entry, Some(Entry::Dir));
            if is_leaf(&change.before) && is_leaf(&change.after) {
                assert_eq!(
                    volume.get(&change.path),
                    change.after.as_ref(),
                    "{what}: {}",
                    change.path
                );
            }
        }
        // Whatever differs between the sides is a change of the agent's, or was told.
        let told = self.kept.update().conflicts;
        for path in host.keys().chain(volume.keys()) {
            if host.get(path) != volume.get(path) {
                let changed = changes.get(path).is_some();
                let told = told.iter().any(|conflict| path.starts_with(&conflict.path));
                assert!(
                    changed || told,
                    "{what}: {path} differs, and is neither a change nor a conflict"
                );
            }
        }
        self.update(AgentChanges::Discard, Fault::None, &what);
        let conflicts = self
            .kept
            .try_update(AgentChanges::Discard, Fault::None, &mut |_| {});
        let conflicts = conflicts.expect("nothing goes wrong").conflicts;
        let host = leaves(&read_all(self.kept.workspace.path()));
        let volume = leaves(&read_all(self.kept.volume.path()));
        for path in host.keys().chain(volume.keys()) {
            let told = conflicts
                .iter()
                .any(|conflict| path.starts_with(&conflict.path));
            assert!(told || host.get(path) == volume.get(path), "{what}: {path}");
        }
    }
}

/// Makes directories where nothing is in the way.
fn make_dirs(root: &Path, dir: &Path) -> bool {
    let mut at = root.to_path_buf();
    for component in dir.strip_prefix(root).expect("below").components() {
        at.push(component);
        match fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return false,
            Err(_) => fs::create_dir(&at).expect("new"),
        }
    }
    true
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        // A cache is not part of an edit.
        Ok(metadata) if metadata.is_dir() => {
            if caches(path).is_empty() {
                fs::remove_dir_all(path).expect("ours");
            }
        }
        Ok(_) => fs::remove_file(path).expect("ours"),
        Err(_) => {}
    }
}

/// Lists what lies in caches.
fn caches(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![(root.to_path_buf(), false)];
    while let Some((dir, inside)) = waiting.pop() {
        for entry in fs::read_dir(dir).expect("readable") {
            let path = entry.expect("readable").path();
            let metadata = fs::symlink_metadata(&path).expect("there");
            if metadata.is_dir() {
                let inside = inside || path.ends_with("__pycache__");
                waiting.push((path, inside));
            } else if inside {
                let contents = fs::read(&path).expect("readable");
                found.insert(path, contents);
            }
        }
    }
    found
}

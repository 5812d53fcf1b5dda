//! `GitConfig`: what the user's own git configuration has git run or read, as far as a
//! change of the workspace could decide it (GIT-11, GIT-27).

use std::collections::{BTreeMap, BTreeSet};

use lazaret_tree::RelPathBuf;

use crate::Severity;
use crate::rules::names::fold::skeleton;

/// The most places that are kept. A configuration with more counts as unreadable.
const MOST_USES: usize = 10_000;

/// What a driver is for; the attribute and the section of the configuration have this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriverKind {
    /// Runs on checkout and on commit.
    Filter,
    /// Runs when differences are shown.
    Diff,
    /// Runs in a merge.
    Merge,
}

/// Whether git would find a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// The configuration has it.
    Configured,
    /// A part of the configuration could not be read, so it may have it.
    Unknown,
    /// The configuration does not have it.
    Absent,
}

/// Which paths a use covers, from its place in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Covers {
    /// The path itself.
    Itself,
    /// The path, and everything below it.
    Below,
    /// The path with one extension behind it: `tools/fmt` is `tools/fmt.py`.
    Stem,
    /// The files in it that have the name of a hook.
    Hooks,
}

/// One place in the workspace that git runs, or reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitUse {
    /// The place; `None` for the root of the workspace.
    pub place: Option<RelPathBuf>,
    /// Which paths are meant.
    pub covers: Covers,
    /// Block for what is run or decides what is run, a warning for the rest.
    pub severity: Severity,
    /// What names it and what git does with it, such as `` `core.pager` of ~/.gitconfig runs
    /// it``. Safe to print.
    pub reason: String,
}

/// An ignore file that git reads beside those of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExcludeFile {
    /// What is in it.
    pub contents: Vec<u8>,
    /// The workspace as a path below the directory that the patterns count from; empty if that is
    /// the workspace.
    pub workspace: String,
}

/// The user's own git configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitConfig {
    drivers: BTreeSet<(DriverKind, Vec<u8>)>,
    /// By the folded place: another spelling of it is the same file on some file systems.
    uses: BTreeMap<String, Vec<GitUse>>,
    count: usize,
    excludes: Vec<ExcludeFile>,
    problems: Vec<String>,
    is_partial: bool,
}

/// The names that git gives to hooks (githooks(5)).
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

impl DriverKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Filter, Self::Diff, Self::Merge];

    /// The attribute's name, and the section's in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Diff => "diff",
            Self::Merge => "merge",
        }
    }
}

impl GitConfig {
    /// Adds a driver by its name, which tells capital letters from small ones.
    pub fn add_driver(&mut self, kind: DriverKind, name: &[u8]) {
        self.drivers.insert((kind, name.to_owned()));
    }

    /// Adds a place in the workspace that git runs or reads.
    pub fn add_use(&mut self, added: GitUse) {
        if self.count >= MOST_USES {
            let problem = format!("it names more than {MOST_USES} places in the workspace");
            return self.note_unreadable(problem);
        }
        let key = added.place.as_ref().map(|place| folded(place.as_str()));
        let uses = self.uses.entry(key.unwrap_or_default()).or_default();
        if !uses.contains(&added) {
            uses.push(added);
            self.count += 1;
        }
    }

    /// Adds an ignore file that git reads beside those of the workspace, the strongest first:
    /// those of directories above it, `.git/info/exclude` and `core.excludesFile`.
    pub fn add_excludes(&mut self, file: ExcludeFile) {
        self.excludes.push(file);
    }

    /// Notes that a part could not be read, and why: from now on no driver is known to be
    /// absent. The text is safe to print.
    pub fn note_unreadable(&mut self, problem: String) {
        self.is_partial = true;
        self.note_broken(problem);
    }

    /// Notes that git itself stops at a part that was read nevertheless. The text is safe to
    /// print.
    pub fn note_broken(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Returns what is wrong with the configuration, each safe to print.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns the ignore files of [`GitConfig::add_excludes`].
    pub(crate) fn excludes(&self) -> &[ExcludeFile] {
        &self.excludes
    }

    /// Says whether git would find a driver.
    pub fn find(&self, kind: DriverKind, name: &[u8]) -> Driver {
        if self.drivers.contains(&(kind, name.to_owned())) {
            Driver::Configured
        } else if self.is_partial {
            Driver::Unknown
        } else {
            Driver::Absent
        }
    }

    /// Whether no place of the workspace is used.
    pub(crate) fn uses_nothing(&self) -> bool {
        self.uses.is_empty()
    }

    /// Returns the uses that cover a path.
    pub fn uses_of(&self, path: &str) -> Vec<&GitUse> {
        let path = folded(path);
        let mut found = Vec::new();
        let mut take = |place: &str, wanted: &dyn Fn(&GitUse) -> bool| {
            let uses = self.uses.get(place).into_iter().flatten();
            found.extend(uses.filter(|used| wanted(used)));
        };
        take(&path, &|used| used.covers != Covers::Stem);
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if let Some((stem, _)) = name.rsplit_once('.') {
            let place = path.len() - name.len() + stem.len();
            take(&path[..place], &|used| used.covers == Covers::Stem);
        }
        if HOOKS.contains(&name) {
            take(dir, &|used| used.covers == Covers::Hooks);
        }
        let mut above = path.as_str();
        while !above.is_empty() {
            above = above.rsplit_once('/').map_or("", |(above, _)| above);
            take(above, &|used| used.covers == Covers::Below);
        }
        found
    }

    /// Returns the uses of places below a path: of what would lie elsewhere if a link stood
    /// there.
    pub(crate) fn uses_below(&self, path: &str) -> impl Iterator<Item = &GitUse> {
        let start = folded(path) + "/";
        let uses = self.uses.range(start.clone()..);
        let uses = uses.take_while(move |(place, _)| place.starts_with(&start));
        uses.flat_map(|(_, uses)| uses)
    }
}

/// Folds each component of a path.
fn folded(path: &str) -> String {
    let components: Vec<_> = path.split('/').map(skeleton).collect();
    components.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Covers, GitConfig, GitUse};
    use crate::Severity;

    fn config(uses: &[(&str, Covers)]) -> GitConfig {
        let mut config = GitConfig::default();
        for (place, covers) in uses {
            config.add_use(GitUse {
                place: (!place.is_empty()).then(|| place.parse().unwrap()),
                covers: *covers,
                severity: Severity::Block,
                reason: (*place).to_owned(),
            });
        }
        config
    }

    #[test]
    fn git_27_what_a_place_covers() {
        let config = config(&[
            ("tools/run", Covers::Itself),
            (".githooks", Covers::Below),
            ("py/fmt", Covers::Stem),
            ("", Covers::Hooks),
        ]);
        for (path, count) in [
            ("tools/run", 1),
            ("Tools/RUN", 1),
            ("tools/run/x", 0),
            ("tools/running", 0),
            ("tools", 0),
            (".githooks", 1),
            (".githooks/a/b", 1),
            (".githooks2", 0),
            ("py/fmt.py", 1),
            ("py/fmt", 0),
            ("py/fmt.x.py", 0),
            ("pre-commit", 1),
            ("x/pre-commit", 0),
            ("README", 0),
        ] {
            assert_eq!(config.uses_of(path).len(), count, "{path}");
        }
        assert_eq!(config.uses_below("tools").count(), 1);
        assert_eq!(config.uses_below("tool").count(), 0);
        assert_eq!(config.uses_below("py").count(), 1);
    }

    #[test]
    fn p9_git_27_more_places_than_are_kept_are_said() {
        let mut config = GitConfig::default();
        for number in 0..=super::MOST_USES {
            config.add_use(GitUse {
                place: Some(format!("x{number}").parse().unwrap()),
                covers: Covers::Itself,
                severity: Severity::Block,
                reason: String::new(),
            });
        }
        assert_eq!(config.problems().len(), 1);
    }
}

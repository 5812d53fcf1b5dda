//! `PathResolver`: which places of the workspace a path or a command line could mean.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use lazaret_tree::{RelPathBuf, escape};
use lazaret_validator::Covers;

use super::environment::GitEnvironment;
use super::words::{Place, UNKNOWN, words};

/// Longer paths can't be opened (`PATH_MAX`).
const MOST_PATH_BYTES: usize = 4096;
/// How many links one path is followed through, as in Linux.
const MOST_LINKS: usize = 40;

/// One place in the workspace, and which paths of it are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// `None` for the root.
    pub(super) place: Option<RelPathBuf>,
    pub(super) covers: Covers,
}

/// The workspace, and what paths are relative to.
#[derive(Debug)]
pub(super) struct PathResolver {
    /// Where the workspace is, by each name that is known.
    roots: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Directories in which a program is looked for.
    path: Vec<PathBuf>,
    /// Where paths really lead, links resolved.
    resolved: std::cell::RefCell<HashMap<PathBuf, PathBuf>>,
}

impl PathResolver {
    /// Takes a workspace by its path, and by the one that it has without links.
    pub(super) fn new(env: GitEnvironment<'_>, workspace: &Path) -> Self {
        let mut roots = vec![normal(&env.cwd.join(workspace))];
        roots.extend(std::fs::canonicalize(workspace));
        roots.dedup();
        let mut resolver = Self {
            roots,
            home: env.home().map(Path::to_owned),
            path: Vec::new(),
            resolved: std::cell::RefCell::default(),
        };
        let dirs = env.variables.get("PATH").map(|path| path.as_bytes());
        let dirs = dirs.unwrap_or_default().split(|byte| *byte == b':');
        resolver.path = dirs
            .map(|dir| Path::new(OsStr::from_bytes(dir)))
            .filter(|dir| dir.is_relative() || resolver.place(dir).is_some())
            .map(Path::to_owned)
            .collect();
        resolver
    }

    /// Returns what a path means: relative to each of `bases` and the workspace, or to a home.
    pub(super) fn path(&self, value: &[u8], bases: &[PathBuf], covers: Covers) -> Vec<Spot> {
        let mut spots = Vec::new();
        for path in self.full(value, bases) {
            self.add(&path, covers, &mut spots);
        }
        spots
    }

    /// Returns the absolute paths that a value may stand for. Another user's home, and the
    /// place where git itself lies, are none of them.
    pub(super) fn full(&self, value: &[u8], bases: &[PathBuf]) -> Vec<PathBuf> {
        let path = Path::new(OsStr::from_bytes(value));
        match value {
            [] => Vec::new(),
            [b'/', ..] => vec![path.to_owned()],
            [b'~'] => self.home.iter().cloned().collect(),
            [b'~', b'/', rest @ ..] => {
                let rest = OsStr::from_bytes(rest);
                self.home.iter().map(|home| home.join(rest)).collect()
            }
            [b'~', ..] => Vec::new(),
            _ if value.starts_with(b"%(prefix)/") => Vec::new(),
            _ => {
                let bases = bases.iter().chain(&self.roots);
                bases.map(|base| base.join(path)).collect()
            }
        }
    }

    /// Returns what the words of a command line could mean; `None` of one that is not
    /// understood. The root is no place: `cd .` says nothing.
    pub(super) fn command(&self, line: &[u8], bases: &[PathBuf]) -> Option<Vec<Spot>> {
        let line = String::from_utf8_lossy(line);
        let mut spots = Vec::new();
        for word in words(&line)? {
            let covers = match word.place {
                Place::Program => Covers::Itself,
                Place::Argument => Covers::Below,
                Place::Stem => Covers::Stem,
            };
            self.word(&word.text, bases, covers, &mut spots);
        }
        spots.retain(|spot| spot.place.is_some());
        Some(spots)
    }

    /// Adds what one word could mean. What is known only when the line runs may be the root of
    /// the work tree at the start of a word, and anything further on.
    fn word(&self, word: &str, bases: &[PathBuf], covers: Covers, spots: &mut Vec<Spot>) {
        let word = word.strip_prefix("file://").unwrap_or(word);
        let mut components: Vec<&str> = word.split('/').collect();
        let is_odd = |text: &&str| text.contains(|c| c == UNKNOWN || "*?[]{}".contains(c));
        let from_unknown = components.len() > 1
            && components
                .first()
                .is_some_and(|first| first.ends_with(UNKNOWN));
        if from_unknown {
            components.remove(0);
        }
        let mut covers = covers;
        if let Some(odd) = components.iter().position(is_odd) {
            components.truncate(odd);
            covers = Covers::Below;
        }
        let text = components.join("/");
        if text.is_empty() {
            return;
        }
        if !from_unknown {
            spots.extend(self.path(text.as_bytes(), bases, covers));
        }
        if !text.contains('/') && covers == Covers::Itself {
            for dir in &self.path {
                let path = dir.join(&text);
                spots.extend(self.path(path.as_os_str().as_bytes(), bases, covers));
            }
        }
        // From a directory below, or after a `cd`.
        let from_root = from_unknown || text.starts_with("../");
        let mut rest = text.trim_start_matches('/');
        while let Some(stripped) = rest.strip_prefix("../") {
            rest = stripped.trim_start_matches('/');
        }
        if from_root && !rest.is_empty() {
            spots.extend(self.path(rest.as_bytes(), bases, covers));
        }
    }

    /// Returns the place in the workspace that a path is by its name.
    pub(super) fn place(&self, path: &Path) -> Option<Option<RelPathBuf>> {
        let path = normal(path);
        let mut rests = self
            .roots
            .iter()
            .filter_map(|root| path.strip_prefix(root).ok());
        let rest = rests.next()?;
        if rest.as_os_str().is_empty() {
            return Some(None);
        }
        // What is no such path can't be changed by a batch.
        Some(Some(rest.to_str()?.parse().ok()?))
    }

    /// Adds the places that an absolute path has in the workspace: by its name, and by where
    /// links of this machine lead.
    pub(super) fn add(&self, path: &Path, covers: Covers, spots: &mut Vec<Spot>) {
        let named = normal(path);
        let real = self.resolve(&named);
        for path in [named, real] {
            let Some(place) = self.place(&path) else {
                continue;
            };
            let spot = Spot { place, covers };
            if !spots.contains(&spot) {
                spots.push(spot);
            }
        }
    }

    /// Resolves the links of a path as far as it is there. One that dangles is resolved, too:
    /// what it leads to may be created.
    fn resolve(&self, path: &Path) -> PathBuf {
        if let Some(known) = self.resolved.borrow().get(path) {
            return known.clone();
        }
        if path.as_os_str().len() > MOST_PATH_BYTES {
            return path.to_owned();
        }
        let found = resolved(path, MOST_LINKS);
        let mut known = self.resolved.borrow_mut();
        known.insert(path.to_owned(), found.clone());
        found
    }

    /// Names a file for messages: from the workspace, from the home, or whole.
    pub(super) fn shown(&self, path: &Path) -> String {
        let path = normal(path);
        let below = |root: &PathBuf| path.strip_prefix(root).ok();
        let text = match (
            self.roots.iter().find_map(below),
            self.home.as_ref().and_then(below),
        ) {
            (Some(rest), _) => rest.to_owned(),
            (_, Some(rest)) => Path::new("~").join(rest),
            _ => path.clone(),
        };
        escape(text.as_os_str().as_encoded_bytes())
    }
}

fn resolved(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let here = resolved(parent, links).join(name);
    match std::fs::read_link(&here) {
        Ok(target) if links > 0 => {
            let target = parent_of(&here).join(target);
            resolved(&normal(&target), links - 1)
        }
        _ => here,
    }
}

fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Takes `.` and `..` out of an absolute path, by its text.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

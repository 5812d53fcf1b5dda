//! `Ignores`: what git ignores, by the ignore files on the way to a path and those of the user.

use ignore::Match;
use ignore::gitignore::Gitignore;
use lazaret_tree::{Entry, RelPath};

use super::hidden;
use crate::Contents;
use crate::git_config::{ExcludeFile, GitConfig};
use crate::rules::content::file_pair::{FileSide, read};

/// Whether a path is a directory: patterns with a `/` at the end ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dir,
    Other,
}

/// The ignore files in force on the way to one path, for paths in their order.
pub(crate) struct Ignores<'a> {
    contents: &'a dyn Contents,
    /// By directory, the outermost first; the root is the empty text.
    levels: Vec<(String, Option<Gitignore>)>,
    /// What git reads beside them.
    excludes: Vec<Exclude>,
    /// What the last path was hidden with.
    last: Option<String>,
    /// Whether one could not be read.
    unknown: bool,
}

impl<'a> Ignores<'a> {
    /// Starts at the root, with what the user's git reads beside the files of the workspace.
    pub(crate) fn new(git: &GitConfig, contents: &'a dyn Contents) -> Self {
        Self {
            contents,
            levels: Vec::new(),
            excludes: git.excludes().iter().filter_map(Exclude::of).collect(),
            last: None,
            unknown: false,
        }
    }

    /// Whether an ignore file could not be read, so that git may ignore more.
    pub(crate) fn is_partial(&self) -> bool {
        self.unknown
    }

    /// Returns what hides a path: itself, or the outermost directory that git ignores.
    pub(crate) fn hidden<'t>(
        &mut self,
        path: &RelPath,
        kind: Kind,
        entry: impl Fn(&RelPath) -> Option<&'t Entry>,
    ) -> Option<String> {
        let text = path.as_str();
        let is_below = |place: &String| {
            let rest = text.strip_prefix(place.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(last) = self.last.clone().filter(is_below) {
            return Some(last);
        }
        self.last = None;
        let slashes = text.match_indices('/').map(|(at, _)| at);
        let dirs: Vec<usize> = [0].into_iter().chain(slashes).collect();
        self.enter(text, &dirs, entry);
        for end in dirs.iter().skip(1).copied().chain([text.len()]) {
            let place = &text[..end];
            let is_dir = end < text.len() || kind == Kind::Dir;
            if self.ignores(place, is_dir) {
                self.last = Some(place.to_owned());
                return self.last.clone();
            }
        }
        None
    }

    /// Reads the ignore files of the directories on the way to a path, and leaves others.
    fn enter<'t>(
        &mut self,
        text: &str,
        dirs: &[usize],
        entry: impl Fn(&RelPath) -> Option<&'t Entry>,
    ) {
        let mut kept = 0;
        for (level, end) in self.levels.iter().zip(dirs) {
            match level.0 == text[..*end] {
                true => kept += 1,
                false => break,
            }
        }
        self.levels.truncate(kept);
        for end in dirs.iter().skip(kept) {
            let dir = &text[..*end];
            let file = match dir {
                "" => ".gitignore".to_owned(),
                dir => format!("{dir}/.gitignore"),
            };
            let file = RelPath::new(&file).ok().and_then(&entry);
            let rules = match read(file, self.contents) {
                FileSide::Absent => None,
                FileSide::Bytes(bytes) | FileSide::Utf16(bytes) => {
                    let rules = hidden::ignored_by(&bytes);
                    self.unknown |= rules.is_none();
                    rules
                }
                FileSide::TooLarge | FileSide::Unreadable(_) => {
                    self.unknown = true;
                    None
                }
            };
            self.levels.push((dir.to_owned(), rules));
        }
    }

    /// Asks the nearest file that has something to say, then those beside them.
    fn ignores(&self, place: &str, is_dir: bool) -> bool {
        let levels = self.levels.iter().rev().filter_map(|(dir, rules)| {
            let inside = match &**dir {
                "" => Some(place),
                dir => place.strip_prefix(dir)?.strip_prefix('/'),
            };
            Some((inside?, rules.as_ref()?))
        });
        let mut said = levels.map(|(inside, rules)| match rules.matched(inside, is_dir) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        });
        let excludes = || {
            self.excludes
                .iter()
                .find_map(|file| file.says(place, is_dir))
        };
        said.find_map(|found| found)
            .or_else(excludes)
            .unwrap_or(false)
    }
}

/// An ignore file that git reads beside those of the workspace.
#[derive(Debug)]
struct Exclude {
    rules: Gitignore,
    /// Before each path: the workspace, as seen from where the patterns count from.
    prefix: String,
}

impl Exclude {
    /// Returns nothing if the file can't be read, or ignores the workspace itself: then its
    /// user means what is in it nevertheless.
    fn of(file: &ExcludeFile) -> Option<Self> {
        let rules = hidden::ignored_by(&file.contents)?;
        let ends = file.workspace.match_indices('/').map(|(at, _)| at);
        let ends = ends.chain([file.workspace.len()]);
        let mut dirs = ends.filter_map(|end| file.workspace.get(..end));
        let prefix = match &*file.workspace {
            "" => String::new(),
            _ if dirs.any(|dir| rules.matched(dir, true).is_ignore()) => return None,
            workspace => format!("{workspace}/"),
        };
        Some(Self { rules, prefix })
    }

    fn says(&self, place: &str, is_dir: bool) -> Option<bool> {
        match self
            .rules
            .matched(format!("{}{place}", self.prefix), is_dir)
        {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }
}

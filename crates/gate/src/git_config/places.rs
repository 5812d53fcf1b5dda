//! Where git looks for its configuration (git-config(1), FILES and ENVIRONMENT;
//! gitrepository-layout(5)).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::environment::GitEnvironment;
use super::{MOST_BYTES, is_absent, read};

/// What the variables of `git -c` and of `GIT_CONFIG_COUNT` may be, at most.
const MOST_VARIABLES: usize = 10_000;
/// The most directories below `.git/modules` and `.git/worktrees` that are looked at, and how
/// deep.
const MOST_DIRECTORIES: usize = 10_000;
const DEEPEST: usize = 16;

/// Where Apple's own git has its system file.
const OF_APPLE: [&str; 2] = [
    "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
    "/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
];

/// Returns the files of the system and of the user. They need not be there.
pub(super) fn files(env: GitEnvironment<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let set = |name: &str| env.variables.get(name);
    if !env.text("GIT_CONFIG_NOSYSTEM").is_some_and(is_true) {
        match set("GIT_CONFIG_SYSTEM") {
            // Set to nothing there is none.
            Some(file) if file.is_empty() => {}
            Some(file) => files.push(env.cwd.join(file)),
            None => files.extend(of_the_system(env)),
        }
    }
    match set("GIT_CONFIG_GLOBAL") {
        Some(file) if file.is_empty() => {}
        Some(file) => files.push(env.cwd.join(file)),
        None => {
            files.extend(of_the_user(env, "config"));
            let home = env.home();
            files.extend(home.map(|home| home.join(".gitconfig")));
        }
    }
    files
}

/// Returns a file in git's directory among the user's settings.
pub(super) fn of_the_user(env: GitEnvironment<'_>, name: &str) -> Option<PathBuf> {
    let config = env.variables.get("XDG_CONFIG_HOME");
    let dir = match config.filter(|dir| !dir.is_empty()) {
        Some(config) => env.cwd.join(config),
        None => env.home()?.join(".config"),
    };
    Some(dir.join("git").join(name))
}

/// `/etc/gitconfig`, and the like of it below the prefix of each `git` that is found.
fn of_the_system(env: GitEnvironment<'_>) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    if cfg!(target_os = "macos") {
        files.extend(OF_APPLE.map(PathBuf::from));
    }
    let path = env.variables.get("PATH").map(|path| path.as_bytes());
    for dir in path.unwrap_or_default().split(|&byte| byte == b':') {
        let dir = Path::new(OsStr::from_bytes(dir));
        let git = dir.join("git");
        if !dir.is_absolute() || !git.exists() {
            continue;
        }
        // Where it is linked from, and where it is.
        let real = git.canonicalize().unwrap_or_default();
        for prefix in [&git, &real].into_iter().filter_map(|git| {
            let bin = git.parent().filter(|dir| dir.ends_with("bin"))?;
            bin.parent()
        }) {
            files.push(prefix.join("etc/gitconfig"));
        }
    }
    files
}

/// Returns the variables that the environment sets, names with their values.
pub(super) fn variables(env: GitEnvironment<'_>) -> Vec<(String, String)> {
    let text = |name: &str| {
        let value = env.variables.get(name)?;
        Some(value.to_string_lossy().into_owned())
    };
    let count = text("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse::<usize>().ok());
    let mut found: Vec<(String, String)> = (0..count.unwrap_or(0).min(MOST_VARIABLES))
        .filter_map(|index| {
            let name = text(&format!("GIT_CONFIG_KEY_{index}"))?;
            let value = text(&format!("GIT_CONFIG_VALUE_{index}"))?;
            Some((name, value))
        })
        .collect();
    // What `git -c` hands to the programs that it starts: quoted words, `'name=value'`, or
    // `'name'='value'` since git 2.31.
    let parameters = text("GIT_CONFIG_PARAMETERS").unwrap_or_default();
    let words = unquoted(&parameters).into_iter().take(MOST_VARIABLES);
    found.extend(words.map(|word| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (word, String::new()),
    }));
    found
}

/// Splits words as git quotes them for a shell: in single quotes, with a backslash between
/// them.
fn unquoted(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\'' => {
                quoted = !quoted;
                continue;
            }
            '\\' if !quoted => chars.next().unwrap_or_default(),
            ' ' if !quoted => {
                words.push(String::new());
                continue;
            }
            c => c,
        };
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words
}

/// A repository: where git would read its configuration and hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top of its work tree, in which git starts programs.
    pub(super) top: PathBuf,
    /// Its own directory.
    pub(super) git_dir: PathBuf,
    /// The one that it shares with other work trees, or its own.
    pub(super) common: PathBuf,
}

impl Repository {
    /// Finds the repository whose work tree has its top in a directory: a `.git` directory, or
    /// a `.git` file that names one.
    ///
    /// # Errors
    /// When a `.git` is there and can't be read.
    pub(super) fn at(top: &Path) -> io::Result<Option<Self>> {
        let git = top.join(".git");
        let git_dir = match std::fs::metadata(&git) {
            Ok(metadata) if metadata.is_dir() => git,
            Ok(_) => match pointed(&git, b"gitdir:")? {
                Some(path) => top.join(path),
                None => return Ok(None),
            },
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        Self::new(top.to_owned(), git_dir).map(Some)
    }

    /// Looks where the directory of a repository leads.
    ///
    /// # Errors
    /// When its `commondir` is there and can't be read.
    pub(super) fn new(top: PathBuf, git_dir: PathBuf) -> io::Result<Self> {
        // A second work tree has its own, and shares the first one's.
        let common = match pointed(&git_dir.join("commondir"), b"") {
            Ok(Some(path)) => git_dir.join(path),
            Ok(None) => git_dir.clone(),
            Err(error) if is_absent(&error) => git_dir.clone(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            top,
            git_dir,
            common,
        })
    }

    /// Finds the repository that a directory is in, also of one whose top is further up.
    ///
    /// # Errors
    /// As [`Repository::at`].
    pub(super) fn around(workspace: &Path) -> io::Result<Option<Self>> {
        for dir in workspace.ancestors() {
            if let Some(found) = Self::at(dir)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the files of its configuration; they need not be there.
    pub(super) fn files(&self) -> [PathBuf; 4] {
        [
            self.common.join("config"),
            self.git_dir.join("config"),
            self.git_dir.join("config.worktree"),
            self.common.join("config.worktree"),
        ]
    }

    /// Returns where its hooks are, and its own ignore file beside those of the work tree.
    pub(super) fn in_both(&self, name: &str) -> Vec<PathBuf> {
        let mut found = vec![self.common.join(name)];
        if self.git_dir != self.common {
            found.push(self.git_dir.join(name));
        }
        found
    }

    /// Finds its submodules and its other work trees, by what it has of them: they may have
    /// been put aside, and come back.
    ///
    /// # Errors
    /// When there are more directories than are looked at, or one can't be read.
    pub(super) fn others(&self) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        let mut left = MOST_DIRECTORIES;
        let mut open = vec![
            (self.common.join("modules"), 0),
            (self.common.join("worktrees"), 0),
        ];
        while let Some((dir, depth)) = open.pop() {
            let entries = match std::fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let entry = entry?;
                if !entry.file_type()?.is_dir() {
                    continue;
                }
                left = left.checked_sub(1).ok_or(io::ErrorKind::FileTooLarge)?;
                let path = entry.path();
                if path.join("HEAD").exists() {
                    // The top of a submodule is in its configuration, as `core.worktree`.
                    let top = match pointed(&path.join("gitdir"), b"") {
                        Ok(Some(git)) => path.join(git).parent().map(Path::to_owned),
                        Ok(None) => None,
                        Err(error) if is_absent(&error) => None,
                        Err(error) => return Err(error),
                    };
                    found.push(Self::new(
                        top.unwrap_or_else(|| path.clone()),
                        path.clone(),
                    )?);
                    open.push((path.join("modules"), depth + 1));
                } else if depth < DEEPEST {
                    open.push((path, depth + 1));
                }
            }
        }
        Ok(found)
    }
}

/// Reads a file that holds a path, and no more.
fn pointed(file: &Path, prefix: &[u8]) -> io::Result<Option<PathBuf>> {
    let bytes = read(file, MOST_BYTES)?;
    let path = bytes.strip_prefix(prefix).map(<[u8]>::trim_ascii);
    let path = path.filter(|path| !path.is_empty());
    Ok(path.map(|path| PathBuf::from(OsStr::from_bytes(path))))
}

/// Returns the file that an include names, relative to the directory of the file that has
/// it. `None` for a place that only git or another user's home can tell.
pub(super) fn included(value: &[u8], dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(without_option(value)));
    match path.components().next() {
        Some(Component::Normal(first)) if first == "~" => {
            let below = path.strip_prefix("~").ok()?;
            home.map(|home| home.join(below))
        }
        Some(Component::Normal(first)) if first.as_bytes().starts_with(b"~") => None,
        Some(Component::Normal(first)) if first == "%(prefix)" => None,
        Some(_) => Some(dir.join(path)),
        None => None,
    }
}

/// Takes off what says that a file need not be there (since git 2.52).
pub(super) fn without_option(value: &[u8]) -> &[u8] {
    value.strip_prefix(b":(optional)").unwrap_or(value)
}

/// As git reads a truth.
fn is_true(text: &str) -> bool {
    !matches!(
        text.to_ascii_lowercase().as_str(),
        "" | "0" | "false" | "no" | "off"
    )
}

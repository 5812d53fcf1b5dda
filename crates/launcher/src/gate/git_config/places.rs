//! Where git looks for its configuration (git-config(1), FILES and ENVIRONMENT).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::{MOST_BYTES, is_absent, read};
use crate::environment::Environment;

/// What the variables of `git -c` and of `GIT_CONFIG_COUNT` may be, at most.
const MOST_VARIABLES: usize = 10_000;

/// Where Apple's own git has its system file.
const OF_APPLE: [&str; 2] = [
    "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
    "/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
];

/// Returns the files of the system and of the user. They need not be there.
pub(super) fn files(env: &Environment) -> Vec<PathBuf> {
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
            let home = env.home().ok();
            match set("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()) {
                Some(config) => files.push(env.cwd.join(config).join("git/config")),
                None => files.extend(home.map(|home| home.join(".config/git/config"))),
            }
            files.extend(home.map(|home| home.join(".gitconfig")));
        }
    }
    files
}

/// `/etc/gitconfig`, and the like of it below the prefix of each `git` that is found.
fn of_the_system(env: &Environment) -> Vec<PathBuf> {
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
pub(super) fn variables(env: &Environment) -> Vec<(String, String)> {
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

/// Returns the configuration of the repository that a directory is in, also of one whose
/// top is further up or whose `.git` is a file.
///
/// # Errors
/// When a `.git` is there and can't be read.
pub(super) fn repository(workspace: &Path) -> io::Result<Vec<PathBuf>> {
    for dir in workspace.ancestors() {
        let git = dir.join(".git");
        let git_dir = match std::fs::metadata(&git) {
            Ok(metadata) if metadata.is_dir() => git,
            Ok(_) => match pointed(&git, b"gitdir:")? {
                Some(path) => dir.join(path),
                None => continue,
            },
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(error),
        };
        // A second work tree has its own, and shares the first one's.
        let common = match pointed(&git_dir.join("commondir"), b"") {
            Ok(Some(path)) => git_dir.join(path),
            Ok(None) => git_dir.clone(),
            Err(error) if is_absent(&error) => git_dir.clone(),
            Err(error) => return Err(error),
        };
        return Ok(vec![
            common.join("config"),
            git_dir.join("config"),
            git_dir.join("config.worktree"),
            common.join("config.worktree"),
        ]);
    }
    Ok(Vec::new())
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
    let path = Path::new(OsStr::from_bytes(value));
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

/// As git reads a truth.
fn is_true(text: &str) -> bool {
    !matches!(
        text.to_ascii_lowercase().as_str(),
        "" | "0" | "false" | "no" | "off"
    )
}

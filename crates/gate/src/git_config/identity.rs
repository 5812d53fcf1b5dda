//! Who the user is to git: `user.name` and `user.email` of the user's own configuration.
//!
//! The repository's configuration is not read: its author could choose in whose name an agent
//! commits.

use std::path::Path;

use super::environment::GitEnvironment;
use super::parse::{parse, split};
use super::{MOST_BYTES, places, read};

/// How deep files may include others (git's own limit, `MAX_INCLUDE_DEPTH`).
const DEEPEST: usize = 10;
/// The most bytes of a name or an address.
const MOST: usize = 200;

/// A name and an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// Reads who the user is; `None` unless both are set and can be written in a commit.
pub fn identity(env: GitEnvironment<'_>) -> Option<Identity> {
    let mut found = Found::default();
    let home = env.home();
    for file in places::files(env) {
        found.file(&file, home, 0);
    }
    Some(Identity {
        name: found.name?,
        email: found.email?,
    })
}

/// The last value of each, as git takes it.
#[derive(Default)]
struct Found {
    name: Option<String>,
    email: Option<String>,
}

impl Found {
    fn file(&mut self, path: &Path, home: Option<&Path>, depth: usize) {
        let Ok(bytes) = read(path, MOST_BYTES) else {
            return;
        };
        let dir = path.parent().unwrap_or(Path::new("/"));
        for variable in parse(&bytes).variables {
            let is = |section: &str, key: &str| {
                let (found, subsection, found_key) = split(&variable.name);
                found.eq_ignore_ascii_case(section.as_bytes())
                    && found_key.eq_ignore_ascii_case(key.as_bytes())
                    && subsection.is_none()
            };
            if is("user", "name") {
                self.name = writable(variable.value());
            } else if is("user", "email") {
                self.email = writable(variable.value());
            } else if is("include", "path")
                && depth < DEEPEST
                && let Some(file) = places::included(variable.value(), dir, home)
            {
                self.file(&file, home, depth + 1);
            }
        }
    }
}

/// Returns a value that a commit can hold: git itself drops what would end the field.
fn writable(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let odd = |c: char| c.is_control() || matches!(c, '<' | '>');
    let is_fine = !text.is_empty() && text.len() <= MOST && !text.contains(odd);
    is_fine.then(|| text.to_owned())
}

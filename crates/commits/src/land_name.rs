//! `LandName`: what a ref is called in the user's repository (GIT-18).
//!
//! Names are ours: `refs/heads/lazaret/<session>/<name>`, and `refs/tags/lazaret/…` for tags. What
//! a ref was called inside is kept as far as it is plain; everything else of it becomes `-`.

use std::collections::HashSet;
use std::fmt;

use lazaret_transfer::ObjectId;
use lazaret_tree::{escape, is_invisible};

/// The longest name below `lazaret/<session>/`, in bytes.
const MAX_NAME: usize = 180;

/// Where work lay inside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A branch, by its raw name below `refs/heads/`.
    Branch(Vec<u8>),
    /// A tag, by its raw name below `refs/tags/`.
    Tag(Vec<u8>),
    /// A detached `HEAD`.
    Head,
    /// The detached `HEAD` of a linked worktree, by its raw name.
    Worktree(Vec<u8>),
    /// An entry of the stash, the newest 0.
    Stash(usize),
    /// A commit that only a reflog names.
    Lost(ObjectId),
    /// Another ref, by its full raw name.
    Ref(Vec<u8>),
}

/// A full name of a ref of the user's repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LandName(String);

/// Gives names, each once, also where a file system folds case.
#[derive(Debug)]
pub struct LandNames<'a> {
    session: &'a str,
    taken: HashSet<String>,
}

impl<'a> LandNames<'a> {
    /// Gives names below `lazaret/<session>/`; a session's name is made of plain characters.
    pub fn of(session: &'a str) -> Self {
        Self {
            session,
            taken: HashSet::new(),
        }
    }

    /// Names what lay at `source`. A name that is taken, or lies above or below one that is,
    /// gets a number.
    pub fn give(&mut self, source: &Source) -> LandName {
        let base = source.plain_name();
        let kind = match source {
            Source::Tag(_) => "tags",
            _ => "heads",
        };
        let mut number = 1;
        loop {
            let name = match number {
                1 => base.clone(),
                // Below a name that is taken, no number at the end helps.
                number => format!("{}-{number}", base.replace('/', "-")),
            };
            number += 1;
            let full = format!("refs/{kind}/lazaret/{}/{name}", self.session);
            let folded = full.to_lowercase();
            let is_below = |one: &str, other: &str| {
                let rest = one.strip_prefix(other);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let mut taken = self.taken.iter();
            if !taken.any(|taken| is_below(taken, &folded) || is_below(&folded, taken)) {
                self.taken.insert(folded);
                return LandName(full);
            }
        }
    }
}

impl LandName {
    /// Returns the full name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name as users type it, without `refs/heads/` or `refs/tags/`.
    pub fn short(&self) -> &str {
        let short = self.0.strip_prefix("refs/heads/");
        short
            .or_else(|| self.0.strip_prefix("refs/tags/"))
            .unwrap_or(&self.0)
    }

    /// Returns the name with a number, for a ref that can't be moved.
    pub(crate) fn numbered(&self, number: usize) -> Self {
        Self(format!("{}-{number}", self.0))
    }

    /// Returns the name under which what is replaced is kept.
    pub(crate) fn aside(&self, old: &ObjectId) -> Self {
        let short: String = old.to_string().chars().take(12).collect();
        let below = self.short().trim_start_matches("lazaret/");
        Self(format!("refs/lazaret/old/{below}-{short}"))
    }
}

impl fmt::Display for LandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

impl Source {
    /// Returns the name by which users say which one they mean, escaped.
    pub fn label(&self) -> String {
        match self {
            Self::Branch(name) | Self::Tag(name) | Self::Ref(name) => escape(name),
            Self::Worktree(name) => format!("worktree-{}", escape(name)),
            Self::Head | Self::Stash(_) | Self::Lost(_) => self.plain_name(),
        }
    }

    /// Returns what it is, in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Branch(_) => "branch",
            Self::Tag(_) => "tag",
            Self::Head => "head",
            Self::Worktree(_) => "worktree",
            Self::Stash(_) => "stash",
            Self::Lost(_) => "lost",
            Self::Ref(_) => "ref",
        }
    }

    /// Returns a name that git takes, and every file system holds (git-check-ref-format(1)).
    fn plain_name(&self) -> String {
        let raw: Vec<u8> = match self {
            Self::Branch(name) | Self::Tag(name) | Self::Ref(name) => name.clone(),
            Self::Head => b"HEAD".to_vec(),
            Self::Worktree(name) => [b"worktree-", &**name].concat(),
            Self::Stash(number) => format!("stash-{number}").into_bytes(),
            Self::Lost(id) => {
                let short: String = id.to_string().chars().take(12).collect();
                format!("lost-{short}").into_bytes()
            }
        };
        let text = String::from_utf8_lossy(&raw);
        let components = text.split('/').map(plain_component);
        let mut name = components
            .filter(|component| !component.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        let end = (0..=MAX_NAME.min(name.len()))
            .rev()
            .find(|&end| name.is_char_boundary(end));
        name.truncate(end.unwrap_or(0));
        let name = name.trim_end_matches(['/', '.', '-']);
        match name {
            "" => "unnamed".to_owned(),
            name => name.to_owned(),
        }
    }
}

fn plain_component(component: &str) -> String {
    let is_plain = |c: char| {
        (c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '=' | ',' | '#' | '@'))
            && !is_invisible(c)
            && c != char::REPLACEMENT_CHARACTER
    };
    let mut plain: String = component
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    while plain.contains("..") {
        plain = plain.replace("..", ".");
    }
    let plain = plain.trim_start_matches(['.', '-']).trim_end_matches('.');
    match plain.strip_suffix(".lock") {
        Some(stem) => format!("{stem}-lock"),
        None if plain == "@" => "at".to_owned(),
        None => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_18_names_are_ours() {
        let rows: &[(&[u8], &str)] = &[
            (b"fix", "fix"),
            (b"feature/login", "feature/login"),
            (b"../../x", "x"),
            (b"a..b", "a.b"),
            (b"-x", "x"),
            (b"x\ny", "x-y"),
            (b"x\x1b[2Jy", "x--2Jy"),
            (b"a.lock", "a-lock"),
            (b".git/hooks", "git/hooks"),
            (b"@", "at"),
            (b"a@{1}", "a@-1"),
            (b"\xff", "unnamed"),
            (b"", "unnamed"),
            ("über/ä".as_bytes(), "über/ä"),
            ("a\u{202e}b".as_bytes(), "a-b"),
            (b"//a//", "a"),
        ];
        for (raw, name) in rows {
            let given = LandNames::of("s").give(&Source::Branch(raw.to_vec()));
            assert_eq!(given.as_str(), format!("refs/heads/lazaret/s/{name}"));
        }
        let long = LandNames::of("s").give(&Source::Branch(vec![b'x'; 5000]));
        assert!(long.as_str().len() < 255, "{long}");
    }

    #[test]
    fn git_18_no_name_is_given_twice() {
        let mut names = LandNames::of("s");
        let mut give = |name: &str| {
            let source = Source::Branch(name.as_bytes().to_vec());
            names.give(&source).short().to_owned()
        };
        assert_eq!(give("a"), "lazaret/s/a");
        assert_eq!(give("A"), "lazaret/s/A-2");
        assert_eq!(give("a/b"), "lazaret/s/a-b-2");
        assert_eq!(give("b/c"), "lazaret/s/b/c");
        assert_eq!(give("b"), "lazaret/s/b-2");
        assert_eq!(give("HEAD"), "lazaret/s/HEAD");
        assert_eq!(names.give(&Source::Head).short(), "lazaret/s/HEAD-2");
        let tag = names.give(&Source::Tag(b"a".to_vec()));
        assert_eq!(tag.as_str(), "refs/tags/lazaret/s/a");
    }
}

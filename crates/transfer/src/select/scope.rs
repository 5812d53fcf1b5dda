//! `Scope`: a part of a project that goes in, and nothing else of it.

use lazaret_tree::{RelPath, RelPathBuf};

/// A folder of a project, and what else of the project goes in with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The folder, from the project's root.
    pub folder: RelPathBuf,
    /// Files, and directories with all below them, from the project's root.
    pub shared: Vec<RelPathBuf>,
}

/// How a path lies to the part that goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeMatch {
    /// It is of it.
    Inside,
    /// It is a directory that leads there.
    Ancestor,
    /// Neither.
    Outside,
}

impl Scope {
    pub(crate) fn scope_match(&self, path: &[u8]) -> ScopeMatch {
        // A name that is not carried is judged where it lies.
        let Ok(path) = RelPath::from_bytes(path) else {
            return ScopeMatch::Outside;
        };
        let all = || self.shared.iter().chain([&self.folder]);
        // The folder itself is the workspace: it was chosen, and no rule hides it.
        if *path == *self.folder || all().any(|part| part.starts_with(path) && **part != *path) {
            return ScopeMatch::Ancestor;
        }
        match all().any(|part| path.starts_with(part)) {
            true => ScopeMatch::Inside,
            false => ScopeMatch::Outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_its_way_and_the_rest() {
        let path = |text: &str| text.parse::<RelPathBuf>().expect("a path");
        let scope = Scope {
            folder: path("groups/one"),
            shared: vec![path("AGENTS.md"), path("docs/api")],
        };
        for (text, scope_match) in [
            ("groups", ScopeMatch::Ancestor),
            ("groups/one", ScopeMatch::Ancestor),
            ("groups/one/a", ScopeMatch::Inside),
            ("groups/one/a/b", ScopeMatch::Inside),
            ("groups/one.bak", ScopeMatch::Outside),
            ("groups/two", ScopeMatch::Outside),
            ("AGENTS.md", ScopeMatch::Inside),
            ("AGENTS.md.bak", ScopeMatch::Outside),
            ("docs", ScopeMatch::Ancestor),
            ("docs/api", ScopeMatch::Inside),
            ("docs/api/x", ScopeMatch::Inside),
            ("docs/else", ScopeMatch::Outside),
            (".git", ScopeMatch::Outside),
        ] {
            assert_eq!(scope.scope_match(text.as_bytes()), scope_match, "{text}");
        }
        assert_eq!(scope.scope_match(b"\xff"), ScopeMatch::Outside);
    }
}

//! `Only`: a part of a project that goes in, and nothing else of it.

use lazaret_tree::{RelPath, RelPathBuf};

/// A folder of a project, and what else of the project goes in with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// The folder, from the project's root.
    pub folder: RelPathBuf,
    /// Files, and directories with all below them, from the project's root.
    pub shared: Vec<RelPathBuf>,
}

/// How a path lies to the part that goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is of it.
    Part,
    /// It is a directory that leads there.
    Way,
    /// Neither.
    Elsewhere,
}

impl Only {
    pub(crate) fn reach(&self, path: &[u8]) -> Reach {
        // A name that is not carried is judged where it lies.
        let Ok(path) = RelPath::from_bytes(path) else {
            return Reach::Elsewhere;
        };
        let all = || self.shared.iter().chain([&self.folder]);
        // The folder itself is the workspace: it was chosen, and no rule hides it.
        if *path == *self.folder || all().any(|part| part.starts_with(path) && **part != *path) {
            return Reach::Way;
        }
        match all().any(|part| path.starts_with(part)) {
            true => Reach::Part,
            false => Reach::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_its_way_and_the_rest() {
        let path = |text: &str| text.parse::<RelPathBuf>().expect("a path");
        let only = Only {
            folder: path("groups/one"),
            shared: vec![path("AGENTS.md"), path("docs/api")],
        };
        for (text, reach) in [
            ("groups", Reach::Way),
            ("groups/one", Reach::Way),
            ("groups/one/a", Reach::Part),
            ("groups/one/a/b", Reach::Part),
            ("groups/one.bak", Reach::Elsewhere),
            ("groups/two", Reach::Elsewhere),
            ("AGENTS.md", Reach::Part),
            ("AGENTS.md.bak", Reach::Elsewhere),
            ("docs", Reach::Way),
            ("docs/api", Reach::Part),
            ("docs/api/x", Reach::Part),
            ("docs/else", Reach::Elsewhere),
            (".git", Reach::Elsewhere),
        ] {
            assert_eq!(only.reach(text.as_bytes()), reach, "{text}");
        }
        assert_eq!(only.reach(b"\xff"), Reach::Elsewhere);
    }
}

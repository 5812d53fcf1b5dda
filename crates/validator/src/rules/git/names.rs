//! The files that git reads from a work tree, under every name that some file system takes
//! for them (git's `is_ntfs_dot_generic`, `is_hfs_dot_generic`).

use std::borrow::Cow;

use crate::rules::names::fold::skeleton;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitFile {
    Modules,
    Attributes,
    Ignore,
    Mailmap,
}

impl GitFile {
    pub(crate) const ALL: [Self; 4] =
        [Self::Modules, Self::Attributes, Self::Ignore, Self::Mailmap];

    /// The name, and the first six characters of the short name that NTFS gives where
    /// `~1` to `~4` are taken (git, path.c).
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Modules => (".gitmodules", "gi7eba"),
            Self::Attributes => (".gitattributes", "gi7d29"),
            Self::Ignore => (".gitignore", "gi250a"),
            Self::Mailmap => (".mailmap", "maba30"),
        }
    }

    /// Whether a component is this file, or may be taken for it.
    pub(crate) fn is(self, component: &str) -> bool {
        // Nearly every name ends here.
        if !component.contains(['.', '~', ':']) && component.is_ascii() {
            return false;
        }
        let (long, hashed) = self.names();
        let stem = component.split(':').next().unwrap_or_default();
        let stem: Cow<'_, str> = skeleton(stem);
        let Some((head, number)) = stem.split_once('~') else {
            return stem == long;
        };
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let short = long.get(1..7).unwrap_or_default();
        let few = matches!(number, "1" | "2" | "3" | "4");
        (head == short && few)
            || (stem.len() == 8
                && hashed.starts_with(head)
                && digits
                && !number.is_empty()
                && !number.starts_with('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::GitFile;

    /// As git's own table (t0060) has them.
    #[test]
    fn git_13_every_name_of_a_file() {
        let file = GitFile::Modules;
        for name in [
            ".gitmodules",
            ".GITMODULES",
            ".gitmodules ",
            ".gitmodules. .",
            ".gitmodules:stream",
            ".gitmodules::$DATA",
            ".gitmodules .:x",
            ".gitmod\u{200c}ules",
            "GITMOD~1",
            "gitmod~4",
            "gitmod~2 .",
            "GI7EBA~1",
            "gi7eba~9",
            "gi7eb~10",
            "GI7E~123",
            "gi7~1000",
            "gi~10000",
            "g~100000",
            "~1000000",
        ] {
            assert!(file.is(name), "{name:?}");
        }
        for name in [
            ".gitmodule",
            "gitmodules",
            "x.gitmodules",
            ".gitmodules.txt",
            "gitmod~0",
            "gitmod~5",
            "gitmod~10",
            "gi7eba~0",
            "gi7eb~01",
            "gi7eba~10",
            "gi7eba~x",
            "gi7d29~1",
            "~",
        ] {
            assert!(!file.is(name), "{name:?}");
        }
        for (file, name) in [
            (GitFile::Attributes, "GITATT~1"),
            (GitFile::Attributes, "gi7d29~1"),
            (GitFile::Ignore, "gitign~1"),
            (GitFile::Ignore, "gi250a~1"),
            (GitFile::Mailmap, "mailma~1"),
            (GitFile::Mailmap, "maba30~1"),
        ] {
            assert!(file.is(name), "{name:?}");
        }
    }
}

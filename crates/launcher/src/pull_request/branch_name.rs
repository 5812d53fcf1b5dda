//! `BranchName`: the name of a branch, without `refs/heads/`.

use std::fmt;
use std::str::FromStr;

/// The longest name, in bytes.
const MAX_BYTES: usize = 250;

/// A name that git takes for a branch (git-check-ref-format(1)), and no program for an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchName(String);

/// It is no such name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a name that git takes for a branch")]
pub(crate) struct BranchNameError;

impl BranchName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BranchName {
    type Err = BranchNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
        let component =
            |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
        let is_good = name.len() <= MAX_BYTES
            && !name.starts_with('-')
            && !name.ends_with('.')
            && !name.contains(odd)
            && !name.contains("..")
            && !name.contains("@{")
            && !["@", "HEAD"].contains(&name)
            && name.split('/').all(component);
        match is_good {
            true => Ok(Self(name.to_owned())),
            false => Err(BranchNameError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_git_takes() {
        for good in ["main", "lazaret/shop/fix", "feature/ümlaut", "v1.0", "a@b"] {
            assert_eq!(good.parse(), Ok(BranchName(good.to_owned())));
        }
        let long = "a".repeat(MAX_BYTES + 1);
        for bad in [
            "",
            "-f",
            "--force",
            "a b",
            "a\nb",
            "a\u{1b}[2J",
            "a..b",
            "a:b",
            "+a:b",
            "a^",
            "a~1",
            "a*",
            "a?",
            "a[b",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            "a.",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "@",
            "HEAD",
            "a@{1}",
            &long,
        ] {
            // Git refuses or expands `+a:b` as a refspec.
            assert_eq!(bad.parse::<BranchName>(), Err(BranchNameError), "{bad}");
        }
    }
}

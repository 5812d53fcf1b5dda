//! What a commit deletes although its author never had it: for git, what stays out of a copy is
//! deleted there.

use std::borrow::Cow;
use std::sync::Arc;

use lazaret_tree::{ChangeSet, Entry, Severity, Tree};

use crate::codes;
use crate::{Finding, Subject};

const HINT: &str = "`git commit -a` takes what stays out of the copy for deleted. In the copy, \
                    `git checkout BASE -- PATH` puts it back into a commit.";

/// Looks for files that commits delete and that the copy, as it went in, did not have.
pub fn deleted_unseen(changes: &ChangeSet, copied: &Tree) -> Option<Arc<Finding>> {
    let is_unseen = |path| copied.get(path).is_none();
    let deleted = changes.iter().filter(|change| {
        let was_file = change
            .before
            .as_ref()
            .is_some_and(|before| *before != Entry::Dir);
        was_file && change.after.is_none() && is_unseen(&change.path)
    });
    let mut paths = deleted.map(|change| &change.path);
    let first = paths.next()?;
    let message = match paths.count() {
        0 => Cow::Borrowed("is deleted, and the copy never had it"),
        others => Cow::Owned(format!(
            "{} files are deleted that the copy never had, this one with them",
            others + 1
        )),
    };
    Some(Arc::new(Finding {
        code: codes::DELETED_LEFT_OUT.id,
        severity: Severity::Warn,
        subject: Subject::Path(first.clone()),
        line: None,
        message,
        hint: Some(HINT),
        allowed: false,
    }))
}

#[cfg(test)]
mod tests {
    use lazaret_tree::{Digest, Mode, diff};

    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        let file = Entry::File {
            mode: Mode::Plain,
            size: 0,
            digest: Digest::of(b""),
        };
        let entry = |path: &&str| match path.strip_suffix('/') {
            Some(dir) => (dir.parse().unwrap(), Entry::Dir),
            None => (path.parse().unwrap(), file.clone()),
        };
        paths.iter().map(entry).collect()
    }

    #[test]
    fn only_what_the_copy_never_had_is_told() {
        let before = tree(&["a", "b", "big/", "big/x", "big/y"]);
        let copied = tree(&["a", "b"]);
        for (after, expected) in [
            (&["a", "b", "big/", "big/x", "big/y"][..], None),
            (&["big/", "big/x", "big/y", "new"], None),
            (
                &["a", "b", "big/", "big/x"],
                Some("big/y: is deleted, and the copy never had it"),
            ),
            (
                &["a"],
                Some("big/x: 2 files are deleted that the copy never had, this one with them"),
            ),
        ] {
            let found = deleted_unseen(&diff(&before, &tree(after)), &copied);
            let said = found.map(|finding| match &finding.subject {
                Subject::Path(path) => format!("{path}: {}", finding.message),
                subject => format!("{subject:?}"),
            });
            assert_eq!(said.as_deref(), expected, "{after:?}");
        }
    }
}

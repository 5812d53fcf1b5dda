//! Shows a commit: the diff of each file that it changes, one below the other.

use std::error::Error;
use std::fmt;

use lazaret_gate::file_side::FileSides;
use lazaret_tree::{Blobs, Change, ChangeSet, Entry, escape};

use super::branch::CommitAt;
use super::diff_view::{DiffView, FileHead, Parts};
use super::gate_adapter::items::{change_facts, sign};

/// The most files of which lines are shown.
const MOST_FILES: usize = 200;
/// The most bytes of both versions of all files together that are compared.
const MOST_BYTES: u64 = 16 << 20;
/// The most files that are named.
const MOST_NAMED: usize = 2000;

/// Why the contents of a commit can't be had.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// Where what commits change is read.
pub trait CommitSource: fmt::Debug {
    /// Returns what a commit changes against its first parent.
    ///
    /// # Errors
    /// When an object can't be had.
    fn changes(&mut self, at: CommitAt) -> Result<ChangeSet, SourceError>;

    /// Lends the contents of all files that the commits change which were asked for.
    fn blobs(&self) -> &dyn Blobs;
}

/// Puts the diff of a commit together.
pub fn commit_view(changes: &ChangeSet, blobs: &dyn Blobs) -> DiffView {
    let mut view = DiffView {
        parts: Parts::Whole,
        ..DiffView::default()
    };
    let mut bytes = 0;
    for (number, change) in changes.into_iter().enumerate() {
        if number == MOST_NAMED {
            let more = changes.len() - MOST_NAMED;
            view.words.push(format!("{more} more files are not listed"));
            break;
        }
        bytes += size(change);
        let is_shown = number < MOST_FILES && bytes <= MOST_BYTES;
        add(&mut view, change, is_shown.then_some(blobs));
    }
    view
}

/// Adds a file; without its lines where the commit has too many of them.
fn add(view: &mut DiffView, change: &Change, blobs: Option<&dyn Blobs>) {
    let mut words = change_facts(change);
    let mut hunks = Vec::new();
    match blobs.map(|blobs| FileSides::of(change, blobs)) {
        None => words.push("not shown: the commit changes too much".to_owned()),
        Some(Err(_)) => words.push("its contents can't be read".to_owned()),
        Some(Ok(sides)) => {
            words.extend(sides.descriptions());
            hunks = DiffView::compare(sides.old.as_text(), sides.new.as_text()).hunks;
        }
    }
    view.files.push(FileHead {
        hunk: view.hunks.len(),
        sign: sign(change),
        path: escape(change.path.as_str().as_bytes()),
        words,
    });
    view.hunks.extend(hunks);
}

fn size(change: &Change) -> u64 {
    let sides = [&change.before, &change.after].into_iter().flatten();
    let sizes = sides.map(|entry| match entry {
        Entry::File { size, .. } => *size,
        Entry::Dir | Entry::Symlink { .. } => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io;
    use std::sync::Arc;

    use lazaret_tree::{Digest, Mode, RelPath};

    use super::*;

    #[derive(Default)]
    struct Texts(HashMap<Digest, Vec<u8>>);

    impl Texts {
        fn file(&mut self, text: impl Into<Vec<u8>>) -> Option<Entry> {
            let text = text.into();
            let (digest, size) = (Digest::of(&text), text.len() as u64);
            self.0.insert(digest, text);
            Some(Entry::File {
                mode: Mode::Plain,
                size,
                digest,
            })
        }
    }

    impl Blobs for Texts {
        fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
            let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
            Ok(Box::new(&bytes[..]))
        }
    }

    fn change(path: &str, before: Option<Entry>, after: Option<Entry>) -> Arc<Change> {
        Arc::new(Change {
            path: RelPath::new(path).unwrap().to_owned(),
            before,
            after,
        })
    }

    fn words(view: &DiffView) -> Vec<String> {
        let files = view.files.iter();
        let words = files.map(|file| format!("{} {}", file.path, file.words.join(", ")));
        words.chain(view.words.iter().cloned()).collect()
    }

    #[test]
    fn files_stand_above_their_hunks() {
        let mut texts = Texts::default();
        let changes = ChangeSet::new(vec![
            change("a", texts.file("1\n"), texts.file("2\n")),
            change("b\u{202e}", None, texts.file(b"\0\xff".to_vec())),
            change("c", texts.file("1\n"), None),
        ]);
        let view = commit_view(&changes, &texts);
        let firsts: Vec<usize> = view.files.iter().map(|file| file.hunk).collect();
        assert_eq!((firsts, view.hunks.len()), (vec![0, 1, 1], 2));
        let said = words(&view);
        assert_eq!(said[0], "a changed, 2 B");
        assert!(said[1].starts_with("b\\u{202e} new, 2 B, binary, 2 bytes, blake3 "));
        assert_eq!(said[2], "c deleted, 2 B");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let mut texts = Texts::default();
        let before = texts.file("1\n");
        texts.0.clear();
        let changes = ChangeSet::new(vec![change("a", before, texts.file("2\n"))]);
        let view = commit_view(&changes, &texts);
        assert_eq!(words(&view), ["a changed, 2 B, its contents can't be read"]);
    }

    #[test]
    fn a_large_commit_is_cut_and_says_so() {
        let mut texts = Texts::default();
        let file = texts.file("1\n");
        let paths = (0..MOST_NAMED + 5).map(|number| format!("{number:05}"));
        let changes = paths.map(|path| change(&path, None, file.clone()));
        let view = commit_view(&ChangeSet::new(changes.collect()), &texts);
        assert_eq!(
            (view.hunks.len(), view.files.len()),
            (MOST_FILES, MOST_NAMED)
        );
        let said = words(&view);
        assert!(said[MOST_FILES - 1].ends_with("new, 2 B"));
        assert!(said[MOST_FILES].ends_with("not shown: the commit changes too much"));
        assert_eq!(said.last().unwrap(), "5 more files are not listed");
        // One large file hides those after it, not the others.
        let large = Some(Entry::File {
            mode: Mode::Plain,
            size: MOST_BYTES + 1,
            digest: Digest::of(b""),
        });
        let changes = [change("a", None, file.clone()), change("b", None, large)];
        let view = commit_view(&ChangeSet::new(changes.to_vec()), &texts);
        assert_eq!(view.hunks.len(), 1);
    }
}

//! A store beside a workspace that goes on changing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lazaret_tree::{Entry, Mode, RelPath, Tree};

use super::writer::{FLUSH, HEAD};
use super::*;
use crate::WorkspaceDir;

/// A workspace, and a store beside it.
struct Desk {
    root: tempfile::TempDir,
}

impl Desk {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let desk = Self { root };
        fs::create_dir(desk.workspace()).unwrap();
        for (path, bytes) in files {
            desk.write(path, bytes);
        }
        desk
    }

    fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    fn path(&self) -> PathBuf {
        self.root.path().join("base")
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn add(&self, writer: &mut BaseWriter, files: &[(&str, &[u8])]) {
        let workspace = WorkspaceDir::open_ambient(&self.workspace()).unwrap();
        keep_texts(&workspace, &tree(files), writer, &mut || true);
    }

    /// Keeps what was sent in, if it is still there.
    fn keep(&self, files: &[(&str, &[u8])], room: u64) {
        let mut writer = BaseWriter::open(&self.path(), room).unwrap();
        self.add(&mut writer, files);
        writer.finish().unwrap();
    }

    /// Names what the store has of some files, as they were sent in.
    fn kept<'a>(&self, files: &[(&'a str, &[u8])]) -> Vec<&'a str> {
        let store = BaseStore::open(&self.path()).unwrap();
        let there = files
            .iter()
            .filter(|(_, text)| store.read(&Digest::of(text)).unwrap().as_deref() == Some(*text));
        there.map(|(path, _)| *path).collect()
    }
}

fn tree(files: &[(&str, &[u8])]) -> Tree {
    let entry = |bytes: &[u8]| Entry::File {
        mode: Mode::Plain,
        size: bytes.len() as u64,
        digest: Digest::of(bytes),
    };
    let entries = files
        .iter()
        .map(|(path, bytes)| (RelPath::new(path).unwrap().to_owned(), entry(bytes)));
    entries.collect()
}

const TWO: [(&str, &[u8]); 2] = [("a", b"one\n"), ("b", b"two\n")];

#[test]
fn texts_come_back_by_their_digest() {
    let large = vec![b'a'; MOST_FILE_BYTES as usize];
    let files: [(&str, &[u8]); 4] = [
        ("a", b"one\n"),
        ("b/c", b"two\n"),
        ("large", &large),
        ("twice", b"one\n"),
    ];
    let desk = Desk::new(&files);
    desk.keep(&files, u64::MAX);
    assert_eq!(desk.kept(&files), ["a", "b/c", "large", "twice"]);
    let store = BaseStore::open(&desk.path()).unwrap();
    assert_eq!(store.len(), 3);
    assert_eq!(store.read(&Digest::of(b"three")).unwrap(), None);
    for path in [desk.path(), index_of(&desk.path())] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
}

#[test]
fn only_small_text_outside_of_git_is_kept() {
    let mut late = vec![b'a'; HEAD];
    late.push(0);
    let mut early = vec![b'a'; HEAD - 1];
    early.push(0);
    let large = vec![b'a'; MOST_FILE_BYTES as usize + 1];
    let files: [(&str, &[u8]); 6] = [
        ("early", &early),
        ("late", &late),
        ("large", &large),
        (".git/HEAD", b"ref: refs/heads/main\n"),
        ("empty", b""),
        ("after", b"text after what was passed over\n"),
    ];
    let desk = Desk::new(&files);
    desk.keep(&files, u64::MAX);
    assert_eq!(desk.kept(&files), ["late", "after"]);
}

#[test]
fn what_is_no_longer_what_was_sent_is_passed_over() {
    let files: [(&str, &[u8]); 6] = [
        ("changed", b"one\n"),
        ("gone", b"two\n"),
        ("link", b"three\n"),
        ("longer", b"four\n"),
        ("same", b"five\n"),
        ("sub/under-a-link", b"six\n"),
    ];
    let desk = Desk::new(&files);
    desk.write("changed", b"1ne\n");
    desk.write("longer", b"four\nfive\n");
    fs::remove_file(desk.workspace().join("gone")).unwrap();
    desk.write("elsewhere/under-a-link", b"six\n");
    let link = |from: &str, to: &str| {
        let to = desk.workspace().join(to);
        fs::rename(&to, desk.workspace().join(from)).unwrap();
        std::os::unix::fs::symlink(from, to).unwrap();
    };
    link("target", "link");
    link("away", "sub");
    desk.keep(&files, u64::MAX);
    assert_eq!(desk.kept(&files), ["same"]);
}

#[test]
fn what_does_not_fit_is_passed_over() {
    let files: [(&str, &[u8]); 3] = [("a", b"12345"), ("b", b"123456"), ("c", b"1234")];
    let desk = Desk::new(&files);
    desk.keep(&files, 10);
    assert_eq!(desk.kept(&files), ["a", "c"]);
}

#[test]
fn a_writer_that_is_told_to_stop_keeps_what_it_has() {
    let desk = Desk::new(&TWO);
    let workspace = WorkspaceDir::open_ambient(&desk.workspace()).unwrap();
    let mut writer = BaseWriter::open(&desk.path(), u64::MAX).unwrap();
    let mut asked = 0;
    keep_texts(&workspace, &tree(&TWO), &mut writer, &mut || {
        asked += 1;
        asked < 2
    });
    writer.finish().unwrap();
    assert_eq!(desk.kept(&TWO), ["a"]);
}

#[test]
fn damage_is_noticed() {
    let desk = Desk::new(&TWO);
    desk.keep(&TWO, u64::MAX);
    for path in [desk.path(), index_of(&desk.path())] {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            fs::write(&path, &bytes).unwrap();
            let Ok(store) = BaseStore::open(&desk.path()) else {
                continue;
            };
            for (_, text) in TWO {
                if let Ok(Some(read)) = store.read(&Digest::of(text)) {
                    assert_eq!(read, text, "{at}");
                }
            }
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(BaseStore::open(&desk.path()).is_err(), "{length}");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

#[test]
fn what_was_kept_before_is_still_there() {
    let large = vec![b'a'; FLUSH * 3];
    let files: [(&str, &[u8]); 4] = [
        ("a", b"one\n"),
        ("b", b"two\n"),
        ("c", b"three\n"),
        ("large", &large),
    ];
    let desk = Desk::new(&files);
    desk.keep(&TWO, u64::MAX);
    let before = fs::read(desk.path()).unwrap();
    desk.keep(&TWO, u64::MAX);
    assert_eq!(fs::read(desk.path()).unwrap(), before, "nothing is new");
    desk.keep(&files, u64::MAX);
    assert_eq!(desk.kept(&files).len(), 4);
    // The room is for all of it.
    let used = fs::metadata(desk.path()).unwrap().len();
    let more: [(&str, &[u8]); 1] = [("d", b"four\n")];
    desk.write("d", b"four\n");
    desk.keep(&more, used + 4);
    assert!(desk.kept(&more).is_empty());
    desk.keep(&more, used + 5);
    assert_eq!(desk.kept(&more), ["d"]);
}

#[test]
fn a_store_that_is_missing_or_damaged_begins_anew() {
    let desk = Desk::new(&TWO);
    desk.keep(&TWO[..1], u64::MAX);
    fs::write(index_of(&desk.path()), "noise").unwrap();
    desk.keep(&TWO[1..], u64::MAX);
    assert_eq!(desk.kept(&TWO), ["b"]);
    fs::write(desk.path(), "").unwrap();
    desk.keep(&TWO[..1], u64::MAX);
    assert_eq!(desk.kept(&TWO), ["a"]);
    fs::remove_file(index_of(&desk.path())).unwrap();
    desk.keep(&TWO, u64::MAX);
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

/// Killed at any moment, a writer has only made the contents longer.
#[test]
fn a_writer_that_never_ends_leaves_the_store_as_it_was() {
    let large = vec![b'a'; FLUSH * 3];
    let files: [(&str, &[u8]); 2] = [("large", &large), ("b", b"two\n")];
    let desk = Desk::new(&files);
    desk.write("a", b"one\n");
    desk.keep(&TWO[..1], u64::MAX);
    let mut writer = BaseWriter::open(&desk.path(), u64::MAX).unwrap();
    desk.add(&mut writer, &files);
    assert!(fs::metadata(desk.path()).unwrap().len() > FLUSH as u64);
    assert_eq!(desk.kept(&TWO), ["a"], "beside the writer");
    drop(writer);
    assert_eq!(desk.kept(&TWO), ["a"]);
    // The next writer overwrites contents that the index does not list.
    desk.keep(&TWO, u64::MAX);
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

#[test]
fn a_second_writer_waits_for_the_first() {
    let desk = Desk::new(&TWO);
    let mut first = BaseWriter::open(&desk.path(), u64::MAX).unwrap();
    desk.add(&mut first, &TWO[..1]);
    let (begun, has_begun) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            begun.send(()).unwrap();
            desk.keep(&TWO[1..], u64::MAX);
            tell.send(()).unwrap();
        });
        has_begun.recv().unwrap();
        let early = told.recv_timeout(Duration::from_millis(50));
        assert!(early.is_err(), "it wrote beside the first");
        first.finish().unwrap();
        told.recv().unwrap();
    });
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

/// A full disk (`/dev/full` is always one) loses what was added, and the writer says so at
/// its end.
#[test]
fn flt_07_a_full_disk_loses_only_what_was_added() {
    let desk = Desk::new(&TWO);
    desk.keep(&TWO[..1], u64::MAX);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let path = Path::new("/nonexistent/base");
    let mut writer = BaseWriter::over(full, path, u64::MAX).unwrap();
    desk.add(&mut writer, &TWO);
    let error = writer.finish().unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(error.path, path);
}

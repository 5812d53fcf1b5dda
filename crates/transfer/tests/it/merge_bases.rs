//! A store of texts beside a workspace that goes on changing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lazaret_transfer::{MergeBases, WorkspaceDir, record_merge_bases};
use lazaret_tree::{Digest, Entry, Mode, PathError, RelPath, Tree};

/// What a store takes at most of one file, in bytes.
const MOST_FILE_BYTES: usize = 1 << 20;
/// Where a NUL byte makes a file binary, in bytes.
const HEAD: usize = 8 << 10;

/// A workspace, and a store beside it.
struct Desk {
    root: tempfile::TempDir,
}

type Files<'a> = [(&'a str, &'a [u8])];

impl Desk {
    fn new(files: &Files<'_>) -> Self {
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
        self.root.path().join("bases")
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn record(
        &self,
        files: &Files<'_>,
        room: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), PathError> {
        let workspace = WorkspaceDir::open_ambient(&self.workspace()).unwrap();
        record_merge_bases(&workspace, &tree(files), &self.path(), room, go_on)
    }

    /// Keeps what was sent in, if it is still there.
    fn keep(&self, files: &Files<'_>, room: u64) {
        self.record(files, room, &mut || true).unwrap();
    }

    /// Names what the store has of some files, as they were sent in.
    fn kept<'a>(&self, files: &[(&'a str, &[u8])]) -> Vec<&'a str> {
        let store = MergeBases::open(&self.path()).unwrap();
        let text = |text: &[u8]| store.read(&Digest::of(text)).ok().flatten();
        let there = files
            .iter()
            .filter(|(_, bytes)| text(bytes).as_deref() == Some(*bytes));
        there.map(|(path, _)| *path).collect()
    }

    /// The files of the store whose names start so, in order.
    fn files(&self, start: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(start)
        };
        let mut paths: Vec<PathBuf> = paths.filter(is_it).collect();
        paths.sort();
        paths
    }

    /// How many bytes of contents are stored.
    fn used(&self) -> u64 {
        let contents = self.files("spool-");
        let sizes = contents
            .iter()
            .map(|path| fs::metadata(path).unwrap().len());
        sizes.sum()
    }
}

fn tree(files: &Files<'_>) -> Tree {
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
    let large = vec![b'a'; MOST_FILE_BYTES];
    let files: [(&str, &[u8]); 4] = [
        ("a", b"one\n"),
        ("b/c", b"two\n"),
        ("large", &large),
        ("twice", b"one\n"),
    ];
    let desk = Desk::new(&files);
    desk.keep(&files, u64::MAX);
    assert_eq!(desk.kept(&files), ["a", "b/c", "large", "twice"]);
    assert_eq!(desk.used(), (MOST_FILE_BYTES + 8) as u64, "each text once");
    let store = MergeBases::open(&desk.path()).unwrap();
    assert_eq!(store.read(&Digest::of(b"three")).unwrap(), None);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&desk.path()), 0o700);
    for path in desk.files("") {
        assert_eq!(mode(&path), 0o600);
    }
}

#[test]
fn only_small_text_outside_of_git_is_kept() {
    let mut late = vec![b'a'; HEAD];
    late.push(0);
    let mut early = vec![b'a'; HEAD - 1];
    early.push(0);
    let large = vec![b'a'; MOST_FILE_BYTES + 1];
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
    let mut asked = 0;
    let stop = &mut || {
        asked += 1;
        asked < 2
    };
    desk.record(&TWO, u64::MAX, stop).unwrap();
    assert_eq!(desk.kept(&TWO), ["a"]);
}

#[test]
fn damage_is_noticed() {
    let desk = Desk::new(&TWO);
    desk.keep(&TWO, u64::MAX);
    for path in desk.files("") {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            fs::write(&path, &bytes).unwrap();
            let Ok(store) = MergeBases::open(&desk.path()) else {
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
            assert!(desk.kept(&TWO).len() < 2, "{length}");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

#[test]
fn what_was_kept_before_is_still_there() {
    let large = vec![b'a'; 3 << 18];
    let files: [(&str, &[u8]); 4] = [
        ("a", b"one\n"),
        ("b", b"two\n"),
        ("c", b"three\n"),
        ("large", &large),
    ];
    let desk = Desk::new(&files);
    desk.keep(&TWO, u64::MAX);
    let stored = || -> Vec<(PathBuf, Vec<u8>)> {
        let paths = desk.files("").into_iter();
        paths
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    };
    let before = stored();
    desk.keep(&TWO, u64::MAX);
    assert_eq!(stored(), before, "nothing is new");
    desk.keep(&files, u64::MAX);
    assert_eq!(desk.kept(&files).len(), 4);
    // The room is for all of it.
    let used = desk.used();
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
    fs::write(&desk.files("index-")[0], "some noise").unwrap();
    desk.keep(&TWO[1..], u64::MAX);
    assert_eq!(desk.kept(&TWO), ["b"]);
    fs::write(&desk.files("spool-")[0], "").unwrap();
    desk.keep(&TWO[..1], u64::MAX);
    assert_eq!(desk.kept(&TWO), ["a"]);
    for index in desk.files("index-") {
        fs::remove_file(index).unwrap();
    }
    desk.keep(&TWO, u64::MAX);
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

/// Killed at any moment, a writer has only left contents that no index lists.
#[test]
fn a_writer_that_never_ends_leaves_the_store_as_it_was() {
    let large = [vec![b'a'; MOST_FILE_BYTES], vec![b'b'; MOST_FILE_BYTES]];
    let files: [(&str, &[u8]); 4] = [
        ("b", b"two\n"),
        ("large", &large[0]),
        ("larger", &large[1]),
        ("last", b"never read"),
    ];
    let desk = Desk::new(&files);
    desk.write("a", b"one\n");
    desk.keep(&TWO[..1], u64::MAX);
    let mut asked = 0;
    let killed = catch_unwind(AssertUnwindSafe(|| {
        desk.record(&files, u64::MAX, &mut || {
            asked += 1;
            assert_eq!(desk.kept(&TWO), ["a"], "beside the writer");
            assert!(asked < 4, "here it is killed");
            true
        })
    }));
    assert!(killed.is_err() && asked == 4);
    assert!(desk.used() > MOST_FILE_BYTES as u64);
    assert_eq!(desk.kept(&TWO), ["a"]);
    // The next writer removes what no index lists.
    desk.keep(&TWO, u64::MAX);
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
    assert_eq!(desk.used(), 8);
}

#[test]
fn a_second_writer_waits_for_the_first() {
    let desk = Desk::new(&TWO);
    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let desk = &desk;
        scope.spawn(move || {
            let hold = &mut || {
                begun.send(()).unwrap();
                released.recv().unwrap();
                true
            };
            desk.record(&TWO[..1], u64::MAX, hold).unwrap();
        });
        has_begun.recv().unwrap();
        scope.spawn(move || {
            desk.keep(&TWO[1..], u64::MAX);
            tell.send(()).unwrap();
        });
        let early = told.recv_timeout(Duration::from_millis(50));
        assert!(early.is_err(), "it wrote beside the first");
        release.send(()).unwrap();
        told.recv().unwrap();
    });
    assert_eq!(desk.kept(&TWO), ["a", "b"]);
}

/// Set in a process whose files may have 4 KiB, as on a full disk.
const SMALL: &str = "LAZARET_TEST_SMALL_FILES";

/// A full disk loses what was added, and the writer says so.
#[expect(
    clippy::disallowed_methods,
    reason = "a shell sets a limit that this process must not have"
)]
#[test]
fn flt_07_a_full_disk_loses_only_what_was_added() {
    if std::env::var_os(SMALL).is_some() {
        return on_a_full_disk();
    }
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -S -f 8; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "merge_bases::flt_07_a_full_disk_loses_only_what_was_added",
        ])
        .arg("--nocapture")
        .env(SMALL, "1");
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn on_a_full_disk() {
    let parts = [vec![b'a'; 3000], vec![b'b'; 3000]];
    let files: [(&str, &[u8]); 2] = [("one", &parts[0]), ("two", &parts[1])];
    let desk = Desk::new(&files);
    desk.write("a", b"one\n");
    desk.keep(&TWO[..1], u64::MAX);
    let error = desk.record(&files, u64::MAX, &mut || true).unwrap_err();
    assert!(error.to_string().contains("File too large"), "{error}");
    assert!(error.path.starts_with(desk.path()), "{error}");
    assert_eq!(desk.kept(&TWO), ["a"]);
    assert!(desk.kept(&files).is_empty());
    desk.keep(&files[..1], u64::MAX);
    assert_eq!(desk.kept(&files), ["one"]);
}

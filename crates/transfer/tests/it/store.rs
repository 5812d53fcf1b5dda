//! The quarantine: private, content-addressed, complete or not at all.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use lazaret_protocol::StreamLimits;
use lazaret_tests::hostile_tar::{Header, TarBuilder};
use lazaret_tests::tree_text::{self, pattern};
use lazaret_transfer::{BlobStore, BlobStoreError, InsertError, StreamEnd, unpack};
use lazaret_tree::{Blobs, Digest};

fn fresh() -> (tempfile::TempDir, PathBuf, BlobStore) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quarantine");
    let quarantine = BlobStore::create(&path).unwrap();
    (dir, path, quarantine)
}

fn names(path: &PathBuf) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn sizes(path: &PathBuf) -> Vec<u64> {
    let size = |name: &String| fs::metadata(path.join(name)).unwrap().len();
    names(path).iter().map(size).collect()
}

#[test]
fn blobs_are_private_and_found_by_their_bytes() {
    let (_dir, path, quarantine) = fresh();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    for size in [0, 1, 65_535, 65_536, 65_537, 300_000] {
        let bytes = pattern(size);
        let (digest, counted) = quarantine.insert(&mut &bytes[..], u64::MAX).unwrap();
        assert_eq!((digest, counted), (Digest::of(&bytes), size as u64));
        assert!(quarantine.has(&digest));
        let mut read = Vec::new();
        quarantine
            .blob(&digest, counted)
            .unwrap()
            .read_to_end(&mut read)
            .unwrap();
        assert_eq!(read, bytes);
    }
    let files = names(&path);
    assert_eq!(files.len(), 2, "{files:?}");
    for name in &files {
        let file = fs::metadata(path.join(name)).unwrap();
        assert_eq!((file.mode() & 0o7777, file.nlink()), (0o600, 1));
    }
    // The same bytes again change nothing, and other processes find them.
    let before = sizes(&path);
    quarantine
        .insert(&mut &pattern(300_000)[..], u64::MAX)
        .unwrap();
    assert_eq!(sizes(&path), before);
    let again = BlobStore::open(&path).unwrap();
    assert!(again.has(&Digest::of(&pattern(1))));
    assert!(!again.has(&Digest::of(b"other")));
    // What a second one brings is its own; neither writes to the other's files.
    again.insert(&mut &b"other"[..], 5).unwrap();
    quarantine.insert(&mut &b"third"[..], 5).unwrap();
    assert_eq!(names(&path).len(), 4);
    assert!(!quarantine.has(&Digest::of(b"other")));
    let all = BlobStore::open(&path).unwrap();
    for (bytes, size) in [(b"other", 5), (b"third", 5)] {
        let mut read = Vec::new();
        let mut blob = all.blob(&Digest::of(bytes), size).unwrap();
        blob.read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes);
    }
    again.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_directory_that_others_may_enter_is_refused() {
    let (dir, path, quarantine) = fresh();
    drop(quarantine);
    assert!(matches!(
        BlobStore::create(&path),
        Err(BlobStoreError::Io(_))
    ));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(matches!(
        BlobStore::open(&path),
        Err(BlobStoreError::NotPrivate { .. })
    ));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(matches!(BlobStore::open(&link), Err(BlobStoreError::Io(_))));
    assert!(matches!(
        BlobStore::open(&dir.path().join("missing")),
        Err(BlobStoreError::Io(_))
    ));
}

#[test]
fn a_quarantine_that_is_damaged_is_refused() {
    let digest = Digest::of(b"abc");
    let damaged = |damage: &dyn Fn(&Path, &Path)| {
        let (_dir, path, quarantine) = fresh();
        quarantine.insert(&mut &b"abc"[..], 3).unwrap();
        drop(quarantine);
        let [index, spool] = <[String; 2]>::try_from(names(&path)).unwrap();
        damage(&path.join(spool), &path.join(index));
        match BlobStore::open(&path) {
            Err(_) => true,
            Ok(quarantine) => {
                let is_refused = quarantine.blob(&digest, 3).is_err();
                assert_eq!(is_refused, Blobs::open(&quarantine, &digest).is_err());
                is_refused
            }
        }
    };
    let replace = |at: &Path, with: &dyn Fn(&Path)| {
        fs::remove_file(at).unwrap();
        with(at);
    };
    let link = |at: &Path| symlink("/etc/passwd", at).unwrap();
    // Opening must not wait for a writer either.
    let fifo = |at: &Path| {
        let name = at.file_name().unwrap().to_str().unwrap();
        tree_text::build(&format!("p {name}"), at.parent().unwrap());
    };
    assert!(!damaged(&|_, _| {}));
    assert!(
        damaged(&|spool, _| fs::write(spool, "ab").unwrap()),
        "cut off"
    );
    assert!(damaged(&|spool, _| replace(spool, &link)), "a link");
    assert!(damaged(&|spool, _| replace(spool, &fifo)), "a FIFO");
    assert!(damaged(&|spool, _| replace(spool, &|_| {})), "gone");
    assert!(
        damaged(&|_, index| replace(index, &link)),
        "its index a link"
    );
    assert!(
        damaged(&|_, index| replace(index, &fifo)),
        "its index a FIFO"
    );
    assert!(damaged(&|_, index| replace(index, &|_| {})), "no index");
    assert!(
        damaged(&|_, index| fs::write(index, "lzindx 0").unwrap()),
        "another version"
    );
    let huge = |index: &Path| {
        let mut bytes = fs::read(index).unwrap();
        let length = bytes.len();
        bytes[length - 16..].fill(0xff);
        fs::write(index, bytes).unwrap();
    };
    assert!(damaged(&|_, index| huge(index)), "beyond all numbers");
    // Cut anywhere, an index tells of nothing that is not there.
    for length in 0..56 {
        let cut = |_: &Path, index: &Path| {
            let file = fs::OpenOptions::new().write(true).open(index).unwrap();
            file.set_len(length).unwrap();
        };
        assert!(damaged(&cut), "{length} bytes");
    }
    let (_dir, _path, quarantine) = fresh();
    let missing = Blobs::open(&quarantine, &digest).map(drop).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    quarantine.insert(&mut &b"abc"[..], 3).unwrap();
    let other = quarantine.blob(&digest, 4).map(drop).unwrap_err();
    assert!(matches!(other, BlobStoreError::Damaged { .. }));
}

#[test]
fn too_many_bytes_leave_nothing() {
    let (_dir, path, quarantine) = fresh();
    for (size, limit) in [
        (10, 9),
        (200_000, 199_999),
        (3_000_000, 2_999_999),
        (3_000_000, 70_000),
        (1, 0),
    ] {
        let inserted = quarantine.insert(&mut &pattern(size)[..], limit);
        assert!(matches!(inserted, Err(InsertError::TooBig { limit: told }) if told == limit));
    }
    assert_eq!(names(&path), [""; 0]);
    quarantine
        .insert(&mut &pattern(200_000)[..], 200_000)
        .unwrap();
}

/// A reader that goes on with a closure when its bytes are used up.
struct Then<'a, F>(&'a [u8], F);

impl<F: FnMut(&mut [u8]) -> io::Result<usize>> Read for Then<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => (self.1)(buffer),
            length => Ok(length),
        }
    }
}

#[test]
fn flt_07_a_failing_reader_leaves_nothing() {
    // Early, and after some was written.
    for length in [10, 200_000, 3_000_000] {
        let (_dir, path, quarantine) = fresh();
        let bytes = pattern(length);
        let mut reader = Then(&bytes, |_: &mut [u8]| Err(io::Error::other("gone")));
        let inserted = quarantine.insert(&mut reader, u64::MAX);
        assert!(matches!(inserted, Err(InsertError::Read(_))));
        assert_eq!(names(&path), [""; 0]);
    }
}

#[test]
fn flt_07_a_batch_that_breaks_off_is_taken_back() {
    let (_dir, path, quarantine) = fresh();
    let known = quarantine.insert(&mut &b"b"[..], 1).unwrap().0;
    let before = sizes(&path);
    let stream = TarBuilder::new()
        .file("a", pattern(1_300_000))
        .file("b", "b")
        .header(&Header::file("c", 2_700_000))
        .raw(pattern(1_300_000))
        .into_bytes();
    let mut reader = Then(&stream, |_: &mut [u8]| Err(io::Error::other("gone")));
    let limits = StreamLimits::DEFAULT;
    let unpacked = unpack(&mut reader, limits, &quarantine, StreamEnd::Plain);
    assert_eq!(unpacked.unwrap_err().code().id, "io.read");
    // What was there before stays, what came with the batch is gone.
    assert_eq!(sizes(&path), before);
    assert!(quarantine.has(&known) && !quarantine.has(&Digest::of(&pattern(1_300_000))));
    let again = BlobStore::open(&path).unwrap();
    assert!(again.has(&known) && !again.has(&Digest::of(&pattern(1_300_000))));
    // And it goes on as if nothing had been.
    let whole = TarBuilder::new().file("a", pattern(1_300_000)).end();
    unpack(&mut &whole[..], limits, &quarantine, StreamEnd::Plain).unwrap();
    let again = BlobStore::open(&path).unwrap();
    let mut read = Vec::new();
    let mut blob = again
        .blob(&Digest::of(&pattern(1_300_000)), 1_300_000)
        .unwrap();
    blob.read_to_end(&mut read).unwrap();
    assert_eq!(read, pattern(1_300_000));
}

/// Set in a process that has room for 85 records of an index, as on a full disk.
const SMALL: &str = "LAZARET_TEST_SMALL_FILES";

#[expect(
    clippy::disallowed_methods,
    reason = "a shell sets a limit that this process must not have"
)]
#[test]
fn flt_07_an_index_that_found_no_room_tells_of_nothing_that_is_not_there() {
    if std::env::var_os(SMALL).is_some() {
        return in_a_small_disk();
    }
    let name = "store::flt_07_an_index_that_found_no_room_tells_of_nothing_that_is_not_there";
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -S -f 8; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(SMALL, "1");
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn in_a_small_disk() {
    let bytes = |number: usize| format!("{number:03}").into_bytes();
    let batch = |numbers: std::ops::Range<usize>| {
        let each = |tar: TarBuilder, number: usize| tar.file(number.to_string(), bytes(number));
        numbers.fold(TarBuilder::new(), each).end()
    };
    let (_dir, path, quarantine) = fresh();
    let put = |numbers| {
        let (stream, limits) = (batch(numbers), StreamLimits::DEFAULT);
        unpack(&mut &stream[..], limits, &quarantine, StreamEnd::Plain)
    };
    put(0..10).unwrap();
    // 90 records find no room: 75 of them whole, and a part of one, would.
    let failed = put(10..100).unwrap_err();
    assert!(failed.to_string().contains("File too large"), "{failed}");
    // With room again, others take the place of their bytes.
    let room = rustix::process::getrlimit(rustix::process::Resource::Fsize).maximum;
    let limit = rustix::process::Rlimit {
        current: room,
        maximum: room,
    };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    put(100..110).unwrap();
    let again = BlobStore::open(&path).unwrap();
    for number in 0..110 {
        let digest = Digest::of(&bytes(number));
        let is_there = !(10..100).contains(&number);
        assert_eq!(again.has(&digest), is_there, "{number}");
        if is_there {
            let mut read = Vec::new();
            again
                .blob(&digest, 3)
                .unwrap()
                .read_to_end(&mut read)
                .unwrap();
            assert_eq!(read, bytes(number));
        }
    }
}

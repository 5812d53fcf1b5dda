//! The quarantine: private, content-addressed, complete or not at all.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;

use lazaret_tests::hostile_tar::{Header, TarBuilder};
use lazaret_tests::tree_text::{self, pattern};
use lazaret_transfer::{
    Blobs, Digest, Ending, InsertError, Quarantine, QuarantineError, StreamLimits, unpack,
};

fn fresh() -> (tempfile::TempDir, PathBuf, Quarantine) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quarantine");
    let quarantine = Quarantine::create(&path).unwrap();
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

#[test]
fn blobs_are_private_and_named_by_their_bytes() {
    let (_dir, path, quarantine) = fresh();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    for size in [0, 1, 65_535, 65_536, 65_537, 300_000] {
        let bytes = pattern(size);
        let (digest, counted) = quarantine.insert(&mut &bytes[..], u64::MAX).unwrap();
        assert_eq!((digest, counted), (Digest::of(&bytes), size as u64));
        assert!(quarantine.has(&digest).unwrap());
        let mut read = Vec::new();
        quarantine
            .blob(&digest, counted)
            .unwrap()
            .read_to_end(&mut read)
            .unwrap();
        assert_eq!(read, bytes);
        let blob = fs::metadata(path.join(digest.to_hex())).unwrap();
        assert_eq!((blob.mode() & 0o7777, blob.nlink()), (0o600, 1));
    }
    // The same bytes again change nothing, and other processes find them.
    let before = names(&path);
    quarantine
        .insert(&mut &pattern(300_000)[..], u64::MAX)
        .unwrap();
    assert_eq!(names(&path), before);
    let again = Quarantine::open(&path).unwrap();
    assert!(again.has(&Digest::of(&pattern(1))).unwrap());
    assert!(!again.has(&Digest::of(b"other")).unwrap());
    again.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_directory_that_others_may_enter_is_refused() {
    let (dir, path, quarantine) = fresh();
    drop(quarantine);
    assert!(matches!(
        Quarantine::create(&path),
        Err(QuarantineError::Io(_))
    ));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(matches!(
        Quarantine::open(&path),
        Err(QuarantineError::NotPrivate { .. })
    ));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(matches!(
        Quarantine::open(&link),
        Err(QuarantineError::Io(_))
    ));
    assert!(matches!(
        Quarantine::open(&dir.path().join("missing")),
        Err(QuarantineError::Io(_))
    ));
}

#[test]
fn a_blob_that_is_damaged_is_refused() {
    let (_dir, path, quarantine) = fresh();
    let digest = Digest::of(b"abc");
    let is_damaged = || {
        let opened = quarantine.blob(&digest, 3).is_err();
        let inserted = quarantine.insert(&mut &b"abc"[..], 10);
        opened && matches!(inserted, Err(InsertError::Store(_)))
    };
    let blob = path.join(digest.to_hex());
    fs::write(&blob, "abcd").unwrap();
    assert!(is_damaged(), "another size");
    fs::remove_file(&blob).unwrap();
    symlink("/etc/passwd", &blob).unwrap();
    assert!(is_damaged(), "a link");
    assert!(Blobs::open(&quarantine, &digest).is_err());
    fs::remove_file(&blob).unwrap();
    // Opening must not wait for a writer either.
    tree_text::build(&format!("p {digest}"), &path);
    assert!(is_damaged(), "a FIFO");
    fs::remove_file(&blob).unwrap();
    let missing = Blobs::open(&quarantine, &digest).map(drop).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[test]
fn too_many_bytes_leave_nothing() {
    let (_dir, path, quarantine) = fresh();
    for (size, limit) in [(10, 9), (200_000, 199_999), (200_000, 70_000), (1, 0)] {
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
    for length in [10, 200_000] {
        let (_dir, path, quarantine) = fresh();
        let bytes = pattern(length);
        let mut reader = Then(&bytes, |_: &mut [u8]| Err(io::Error::other("gone")));
        let inserted = quarantine.insert(&mut reader, u64::MAX);
        assert!(matches!(inserted, Err(InsertError::Read(_))));
        assert_eq!(names(&path), [""; 0]);
    }
}

#[test]
fn flt_07_a_failing_quarantine_takes_the_batch_back() {
    let (_dir, path, quarantine) = fresh();
    let known = quarantine.insert(&mut &b"b"[..], 1).unwrap().0;
    let stream = TarBuilder::new()
        .file("a", pattern(300_000))
        .file("b", "b")
        .header(&Header::file("c", 700_000))
        .raw(pattern(300_000))
        .into_bytes();
    let mut reader = Then(&stream, |buffer: &mut [u8]| {
        // The blob of `c` loses its name while it is written.
        for name in names(&path)
            .iter()
            .filter(|name| name.starts_with("partial"))
        {
            fs::remove_file(path.join(name)).unwrap();
        }
        buffer.fill(0);
        Ok(buffer.len())
    });
    let unpacked = unpack(
        &mut reader,
        StreamLimits::DEFAULT,
        &quarantine,
        Ending::Plain,
    );
    assert_eq!(unpacked.unwrap_err().code(), "io.store");
    // What was there before stays, what came with the batch is gone.
    assert_eq!(names(&path), [known.to_hex()]);
}

//! Streams: what the grammar accepts, it accepts for good reasons and in one way.

use std::io::Read;

use lazaret_protocol::{
    Checksum, Member, MemberKind, MemberPath, Members, StreamError, StreamLimits, TRAILER_BYTES,
    Trailer,
};
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder, fix_checksum};
use lazaret_transfer::{BlobStore, StreamEnd, unpack};
use lazaret_tree::{Digest, Entry};

use crate::input::Input;

/// Small enough that an input reaches them.
const LIMITS: StreamLimits = StreamLimits {
    entries: 64,
    total_bytes: 1 << 20,
    file_bytes: 64 << 10,
    meta_bytes: 8 << 10,
    name_bytes: 32 << 10,
};

/// Members with their bodies, in the order of the stream.
pub type Manifest = Vec<(Member, Vec<u8>)>;

/// Reads a stream without a quarantine.
///
/// # Errors
/// As the grammar says.
pub fn manifest(
    stream: impl Read,
    limits: StreamLimits,
    ending: StreamEnd,
) -> Result<Manifest, StreamError> {
    let mut members = Members::new(stream, limits);
    let mut manifest = Vec::new();
    while let Some(member) = members.next()? {
        let mut body = Vec::new();
        members.body().read_to_end(&mut body)?;
        manifest.push((member, body));
    }
    match ending {
        StreamEnd::Plain => members.finish_plain()?,
        StreamEnd::Trailer => drop(members.finish_trailer()?),
    }
    Ok(manifest)
}

/// The stream behind the first byte, which says whether checksums are put right first:
/// otherwise nearly every change ends there.
pub(crate) fn stream_of(bytes: &[u8]) -> (u8, Vec<u8>) {
    let mut input = Input(bytes);
    let flags = input.byte();
    let mut stream = input.0.to_vec();
    if flags & 1 != 0 {
        for block in stream.chunks_exact_mut(512) {
            let block: &mut [u8; 512] = block.try_into().expect("exact");
            if block[257..262] == *b"ustar" {
                fix_checksum(block);
            }
        }
    }
    (flags, stream)
}

/// The same is read in pieces of any size, nothing is claimed that did not arrive, and an
/// error is a line.
pub(crate) fn members(bytes: &[u8]) {
    let (flags, stream) = stream_of(bytes);
    let ending = match flags & 2 {
        0 => StreamEnd::Plain,
        _ => StreamEnd::Trailer,
    };
    let whole = manifest(&stream[..], LIMITS, ending);
    let pieces = Pieces {
        rest: &stream,
        size: 1 + usize::from(flags >> 2),
    };
    match (&whole, &manifest(pieces, LIMITS, ending)) {
        (Ok(one), Ok(other)) => assert_eq!(one, other),
        (Err(one), Err(other)) => {
            assert_eq!(one.code(), other.code());
            let message = one.to_string();
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
        (one, other) => panic!("{one:?} at once, {other:?} in pieces"),
    }
    let Ok(manifest) = whole else {
        return;
    };
    let mut names = std::collections::BTreeSet::new();
    for (member, body) in &manifest {
        assert!(names.insert(member.path.as_bytes().to_vec()), "twice");
        if let MemberKind::File { size, .. } = member.kind {
            assert_eq!(size, body.len() as u64);
            assert!(size <= LIMITS.file_bytes);
        } else {
            assert_eq!(body.len(), 0);
        }
        if let MemberPath::Odd(refusal) = &member.path {
            assert!(!refusal.reason.chars().any(char::is_control));
        }
    }
    assert!(manifest.len() as u64 <= LIMITS.entries);
    // Cut anywhere before its zero blocks end, it is no longer whole (TAR-34, TAR-35).
    let end = stream
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last / 512 * 512 + 512);
    if ending == StreamEnd::Plain {
        for cut in [end, end.saturating_sub(512), end + 512] {
            let cut = cut.min(stream.len());
            if cut < end + 1024 {
                let shorter = self::manifest(&stream[..cut], LIMITS, ending);
                assert!(shorter.is_err(), "cut at {cut} of {}", stream.len());
            }
        }
    }
}

/// A reader that gives no more than so much at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.size);
        self.rest.read(&mut buffer[..length])
    }
}

/// All or nothing: each blob is there and is what its entry says, or the quarantine is empty;
/// the tree has its parents; the trailer is that of the stream.
pub(crate) fn unpacked(bytes: &[u8]) {
    let (flags, mut stream) = stream_of(bytes);
    let ending = match flags & 2 {
        0 => StreamEnd::Plain,
        _ => StreamEnd::Trailer,
    };
    if let (StreamEnd::Trailer, true) = (ending, flags & 4 != 0) {
        // With the right trailer, which no change would hit on.
        if let Ok(manifest) = manifest(&stream[..], LIMITS, StreamEnd::Plain) {
            stream.truncate(end_of(&stream));
            stream.extend_from_slice(&[0; 1024]);
            let sizes = manifest.iter().map(|(_, body)| body.len() as u64);
            let trailer = Trailer {
                entries: manifest.len() as u64,
                bytes: sizes.sum(),
                stream: Checksum::of(&stream),
            };
            stream.extend_from_slice(&trailer.encode());
        }
    }
    let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let home = home.expect("a place for a quarantine");
    let path = home.path().join("quarantine");
    let quarantine = BlobStore::create(&path).expect("a quarantine");
    let outcome = unpack(&mut &stream[..], LIMITS, &quarantine, ending);
    let left = std::fs::read_dir(&path).expect("its folder").count();
    let Ok(unpacked) = outcome else {
        assert_eq!(left, 0, "something is left of a rejected stream");
        return;
    };
    for (path, entry) in unpacked.tree.iter() {
        if let Entry::File { size, digest, .. } = entry {
            let mut blob = Vec::new();
            let mut file = quarantine.blob(digest, *size).expect("its blob");
            file.read_to_end(&mut blob).expect("readable");
            assert_eq!((blob.len() as u64, Digest::of(&blob)), (*size, *digest));
        }
        if let Some(parent) = path.parent() {
            assert_eq!(unpacked.tree.get(parent), Some(&Entry::Dir), "{path}");
        }
    }
    if let Some(trailer) = unpacked.trailer {
        assert_eq!(&stream[stream.len() - TRAILER_BYTES..], trailer.encode());
    }
}

/// Where the last block ends that is not zero.
fn end_of(stream: &[u8]) -> usize {
    let last = stream.iter().rposition(|&byte| byte != 0);
    last.map_or(0, |last| last / 512 * 512 + 512)
}

/// One of everything that is accepted.
pub fn specimen() -> Vec<u8> {
    TarBuilder::new()
        .dir("./")
        .dir("./d/")
        .member(&Header::file("./d/run", 5).mode(0o755), "#!sh\n")
        .symlink("./d/link", "../f")
        .hard("./hard", "./d/run")
        .header(&Header::new(b'6', "./fifo"))
        .pax(&[("path", b"d/renamed"), ("size", b"3"), ("mtime", b"-1.5")])
        .member(&Header::file("short", 0), "abc")
        .header(&Header::file("n", 0).raw(Field::Prefix, "d"))
        .pax(&[("linkpath", b"d/n"), ("SCHILY.xattr.user.x", b"\0=")])
        .symlink("last", "")
        .end()
}

/// The offsets of the specimen's blocks that are headers or PAX records.
pub fn header_blocks(stream: &[u8]) -> Vec<usize> {
    let is_body = |at: usize| stream[at..].starts_with(b"#!sh") || stream[at..].starts_with(b"abc");
    (0..stream.len())
        .step_by(512)
        .filter(|&at| !is_body(at))
        .collect()
}

/// The bytes are changes of the specimen's headers, as place and value: the manifest is the
/// same, or there is an error. PAX records have no checksum and are left alone.
pub(crate) fn changed(bytes: &[u8]) {
    let stream = specimen();
    let expected = manifest(&stream[..], LIMITS, StreamEnd::Plain).expect("the specimen is good");
    let blocks: Vec<usize> = header_blocks(&stream)
        .into_iter()
        .filter(|&block| !stream[block..block + 512].contains(&b'='))
        .collect();
    let mut changed = stream;
    // One byte, or two in one header: a sum can't tell three that cancel out.
    let mut input = Input(bytes);
    let block = blocks[usize::from(input.byte()) % blocks.len()];
    let (at, value) = (block + input.short() % 512, input.byte());
    changed[at] = value;
    if let Ok(found) = manifest(&changed[..], LIMITS, StreamEnd::Plain) {
        assert_eq!(found, expected, "byte {at} = {value}");
    }
}

pub(crate) fn changes() -> Vec<Vec<u8>> {
    (0..10).map(|block| vec![block, 0, 148, b'0']).collect()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let flagged = |flags: u8, stream: &[u8]| [&[flags], stream].concat();
    let specimen = specimen();
    let small = TarBuilder::new().file("a", "abc").end();
    let links = TarBuilder::new()
        .file("f", "x")
        .hard("h", "f")
        .symlink("s", "h")
        .dir("d/")
        .end();
    let long = TarBuilder::new()
        .pax(&[("path", "p".repeat(150).as_bytes()), ("size", b"4")])
        .member(&Header::file("short", 0), "long")
        .end();
    let odd = TarBuilder::new()
        .file("bad\x1b", "x")
        .hard("good", "bad\x1b")
        .header(&Header::new(b'6', "pipe"))
        .hard("pipe2", "pipe")
        .end();
    [specimen, small, links, long, odd]
        .iter()
        .flat_map(|stream| [0, 1, 7].map(|flags| flagged(flags, stream)))
        .collect()
}

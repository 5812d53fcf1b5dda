//! Every message with samples, for the tests and for `fuzz/`.
//!
//! A new message gets one row in [`MESSAGES`]: the round-trip test and the fuzz target
//! `lists` take it from there.

use std::io;

use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree};

use crate::{
    Checksum, Control, FileTime, ForeignNamespace, FoundEntry, FoundKind, HashPolicy, IdMapping,
    NetworkBarrier, ProbeRequest, ProtectedKind, Protection, Receipt, Resource, SizedPath,
    SpecialType, StreamError, StreamLimits, Survey, SurveyRequest, Trailer, Ulimit, UpdateReceipt,
    UpdateRequest, VolumeIdentity, Wanted, Writers, read_tree, read_wanted, write_tree,
    write_wanted,
};

/// A message that is one frame.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Its type, for the output of tests.
    pub name: &'static str,
    /// Frames of it.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// Reads a frame and writes it again.
    pub reread: fn(&mut &[u8]) -> Reread,
}

/// The frame that was written, or the message of the refusal.
pub type Reread = Result<Vec<u8>, String>;

/// Every message.
pub const MESSAGES: &[Message] = &[
    Message {
        name: "tree",
        samples: || vec![written(|out| write_tree(&tree(), out))],
        reread: |frame| again(read_tree(frame), |tree, out| write_tree(tree, out)),
    },
    Message {
        name: "receipt",
        samples: || vec![written(|out| receipt().write_to(out))],
        reread: |frame| again(Receipt::read_from(frame, 1000), Receipt::write_to),
    },
    Message {
        name: "survey",
        samples: || vec![written(|out| survey().write_to(out))],
        reread: |frame| {
            let survey = Survey::read_from(frame, &StreamLimits::DEFAULT);
            again(survey, Survey::write_to)
        },
    },
    Message {
        name: "survey request",
        samples: || vec![written(|out| survey_request().write_to(out))],
        reread: |frame| again(SurveyRequest::read_from(frame), SurveyRequest::write_to),
    },
    Message {
        name: "wanted",
        samples: || vec![written(|out| write_wanted(&wanted(), out))],
        reread: |frame| again(read_wanted(frame), |wanted, out| write_wanted(wanted, out)),
    },
    Message {
        name: "protection",
        samples: || vec![written(|out| protection().write_to(out))],
        reread: |frame| again(Protection::read_from(frame), Protection::write_to),
    },
    Message {
        name: "update order",
        samples: || {
            let empty = UpdateRequest::default();
            [update_request(), empty]
                .map(|request| written(|out| request.write_frame(out)))
                .into()
        },
        reread: |frame| again(UpdateRequest::read_frame(frame), UpdateRequest::write_frame),
    },
    Message {
        name: "update receipt",
        samples: || vec![written(|out| update_receipt().write_to(out))],
        reread: |frame| {
            let receipt = UpdateReceipt::read_from(frame, &update_request());
            again(receipt, UpdateReceipt::write_to)
        },
    },
];

impl Message {
    /// Checks that every sample comes back byte for byte, and is refused when it is cut off
    /// anywhere, changed in any bit, or followed by another byte.
    ///
    /// # Panics
    /// Otherwise.
    pub fn check(&self) {
        let name = self.name;
        let read = |mut bytes: &[u8]| (self.reread)(&mut bytes);
        let samples = (self.samples)();
        assert!(!samples.is_empty(), "{name}");
        for whole in samples {
            assert_eq!(read(&whole).as_ref(), Ok(&whole), "{name}");
            for length in 0..whole.len() {
                assert!(read(&whole[..length]).is_err(), "{name}, {length} bytes");
            }
            for bit in 0..whole.len() * 8 {
                let mut changed = whole.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(read(&changed).is_err(), "{name}, bit {bit}");
            }
            let longer = [&whole[..], b"\0"].concat();
            assert!(read(&longer).is_err(), "{name} with a byte more");
        }
    }
}

/// Puts the digest of a frame behind a magic and records that may be no message.
pub fn sealed(magic: &[u8], records: &[u8], count: u64) -> Vec<u8> {
    let mut frame = [magic, records, &[0], &count.to_le_bytes()].concat();
    let digest = Digest::of(&frame);
    frame.extend_from_slice(digest.as_bytes());
    frame
}

/// Splits a frame into magic, records and how many there are; undoes [`sealed`].
pub fn unsealed(frame: &[u8]) -> Option<(&[u8], &[u8], u64)> {
    let (magic, rest) = frame.split_at_checked(size_of::<crate::FormatTag>())?;
    let (rest, _digest) = rest.split_last_chunk::<32>()?;
    let (records, count) = rest.split_last_chunk::<8>()?;
    Some((
        magic,
        records.strip_suffix(&[0])?,
        u64::from_le_bytes(*count),
    ))
}

/// Returns what `write` writes.
pub fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("to memory");
    bytes
}

fn again<T, E: std::fmt::Display>(
    read: Result<T, E>,
    write: fn(&T, &mut dyn io::Write) -> io::Result<()>,
) -> Reread {
    let message = read.map_err(|error| error.to_string())?;
    Ok(written(|out| write(&message, out)))
}

fn path(text: &str) -> RelPathBuf {
    text.parse().expect("a path")
}

/// Returns an identity that no other number gives.
pub fn identity(ino: u64, mode: u32, size: u64) -> VolumeIdentity {
    VolumeIdentity {
        ino,
        size,
        mode,
        mtime: FileTime {
            seconds: -1,
            nanos: 5,
        },
        ctime: FileTime {
            seconds: 1_700_000_000,
            nanos: 5,
        },
    }
}

/// A tree with an entry of every kind.
pub fn tree() -> Tree {
    let file = |mode, text: &str| Entry::File {
        mode,
        size: text.len() as u64,
        digest: Digest::of(text.as_bytes()),
    };
    let target = "../x".parse().expect("a target");
    let entries = [
        ("a", Entry::Dir),
        ("a/b", file(Mode::Executable, "run")),
        ("a/c", Entry::Symlink { target }),
        ("ä", file(Mode::Plain, "text")),
        ("z", Entry::Dir),
        ("z/z", file(Mode::Plain, "")),
    ];
    let entries = entries.into_iter();
    entries.map(|(name, entry)| (path(name), entry)).collect()
}

/// A receipt for three entries.
pub fn receipt() -> Receipt {
    received(["a", "a/b", "c"].map(path).into())
}

fn received(paths: Vec<RelPathBuf>) -> Receipt {
    Receipt {
        arrived: Trailer {
            entries: paths.len() as u64,
            bytes: 14,
            stream: Checksum::of(b"stream"),
        },
        identities: (paths.into_iter().zip(1..))
            .map(|(path, ino)| (path, identity(ino, 0o100_644, 7)))
            .collect(),
    }
}

/// A survey with an entry of every kind.
pub fn survey() -> Survey {
    let file = |digest| FoundKind::File {
        identity: identity(1, 0o100_755, 1),
        links: 1,
        digest,
    };
    let dir = FoundKind::Dir {
        identity: identity(2, 0o40_755, 0),
    };
    let link = FoundKind::Symlink {
        identity: identity(3, 0o120_777, 4),
        target: b"\xffraw".to_vec(),
    };
    let found = [
        (&b"bad\xff"[..], FoundKind::BadName),
        (b"d", dir),
        (b"d/f", file(Some(Digest::of(b"x")))),
        (b"d/g", file(None)),
        (b"d/l", link),
        (b"node_modules", FoundKind::Cache),
        (b"p", FoundKind::Special(SpecialType::Fifo)),
        (b"q", FoundKind::Special(SpecialType::Unknown)),
    ];
    let entry = |(name, kind): (&[u8], _)| FoundEntry {
        name: name.to_vec(),
        kind,
    };
    Survey {
        found: found.into_iter().map(entry).collect(),
        gone: vec![b"old".to_vec(), b"old/inside".to_vec()],
    }
}

fn survey_request() -> SurveyRequest {
    SurveyRequest {
        limits: StreamLimits {
            entries: 1,
            ..StreamLimits::DEFAULT
        },
        writers: Writers::Paused,
        hash_policy: HashPolicy::KnownOnly,
        known: receipt().identities.into_iter().collect(),
    }
}

fn wanted() -> Vec<Wanted> {
    let wanted = |(name, digest)| Wanted {
        path: path(name),
        identity: identity(4, 0o100_644, 3),
        digest,
    };
    [("a", Some(Digest::of(b"a"))), ("b/c", None)]
        .map(wanted)
        .into()
}

fn protection() -> Protection {
    let entries = [
        ("AGENTS.md", ProtectedKind::File),
        ("a", ProtectedKind::Shared),
        ("a/b", ProtectedKind::Closed),
        ("a/b/c", ProtectedKind::Dir),
        ("a/b/c/link", ProtectedKind::Link),
        ("a/b/c/run", ProtectedKind::Program),
    ];
    Protection {
        root: ProtectedKind::Shared,
        entries: entries.map(|(name, kind)| (path(name), kind)).into(),
    }
}

/// An order with removals, entries of every kind, and a time.
pub fn update_request() -> UpdateRequest {
    UpdateRequest {
        remove: ["a", "gone"].map(path).into(),
        send: tree(),
        quiet_since: Some(FileTime {
            seconds: 7,
            nanos: 5,
        }),
    }
}

/// A receipt for [`update_request`].
pub fn update_receipt() -> UpdateReceipt {
    let sent = update_request().send;
    UpdateReceipt {
        written: received(sent.iter().map(|(path, _)| path.to_owned()).collect()),
        stayed: vec![path("gone")],
    }
}

/// Surveys that a porter gave up.
pub fn given_up() -> Vec<Vec<u8>> {
    let limits = [
        StreamError::TooManyEntries { limit: 3 },
        StreamError::TooManyBytes { limit: 3 },
        StreamError::TooManyNames { limit: 3 },
        StreamError::FileTooBig {
            name: b"big".to_vec(),
            size: 4,
            limit: 3,
        },
    ];
    let written = |error: &StreamError| written(|out| Survey::write_given_up(error, out));
    limits.iter().map(written).collect()
}

/// A request with something in every field.
pub fn probe_request(ids: IdMapping) -> ProbeRequest {
    let text = |text: &str| text.to_owned();
    ProbeRequest {
        uid: 1000,
        gid: 1001,
        capabilities: 1 << 63,
        shm: 2,
        pids: 3,
        memory: 4,
        nano_cpus: 5,
        hostname: text("lazaret"),
        workdir: text("/workspace/a=b"),
        ids,
        network: NetworkBarrier::NoSocket,
        tmpfs: vec![SizedPath {
            path: text("/tmp:x"),
            bytes: 6,
        }],
        masked: vec![text("/proc/a"), text("/proc/b")],
        read_only: vec![text("/proc/c")],
        volumes: vec![text("/workspace")],
        read_only_volumes: vec![text("/share")],
        ulimits: vec![Ulimit {
            resource: Resource::Nofile,
            limit: 7,
        }],
        foreign_namespaces: vec![ForeignNamespace {
            kind: text("pid"),
            inode: 8,
        }],
        not_applicable: vec![Control::Pids],
        env: vec![text("PATH"), text("TOKEN")],
    }
}

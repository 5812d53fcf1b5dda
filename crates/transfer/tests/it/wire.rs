//! The lists between host and porter, read as if an enemy had written them.

use lazaret_protocol::{
    Checksum, Digests, FileTime, Receipt, StreamError, StreamLimits, Survey, SurveyRequest,
    Trailer, UpdateOrder, UpdateReceipt, VolumeIdentity, Wanted, Writers, read_tree, read_wanted,
    write_tree, write_wanted,
};
use lazaret_protocol::{FoundEntry, FoundKind, OddType};
use lazaret_tests::Random;
use lazaret_transfer::{PendingSurvey, PendingUpdate, VolumeState};
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree};

const LIMITS: StreamLimits = StreamLimits::DEFAULT;

fn path(text: &str) -> RelPathBuf {
    text.parse().expect("a path")
}

fn time(seconds: i64) -> FileTime {
    FileTime { seconds, nanos: 5 }
}

fn identity(ino: u64, mode: u32, size: u64) -> VolumeIdentity {
    VolumeIdentity {
        ino,
        size,
        mode,
        mtime: time(-1),
        ctime: time(1_700_000_000),
    }
}

fn receipt() -> Receipt {
    Receipt {
        arrived: Trailer {
            entries: 3,
            bytes: 14,
            stream: Checksum::of(b"stream"),
        },
        identities: ["a", "a/b", "c"]
            .map(path)
            .into_iter()
            .zip((1..).map(|ino| identity(ino, 0o100_644, 7)))
            .collect(),
    }
}

fn file(name: &[u8], mode: u32, size: u64) -> FoundEntry {
    FoundEntry {
        name: name.to_vec(),
        kind: FoundKind::File {
            identity: identity(1, mode, size),
            links: 1,
            digest: Some(Digest::of(b"x")),
        },
    }
}

fn unread(name: &[u8]) -> FoundEntry {
    FoundEntry {
        name: name.to_vec(),
        kind: FoundKind::File {
            identity: identity(1, 0o100_755, 1),
            links: 2,
            digest: None,
        },
    }
}

fn found(name: &[u8], kind: FoundKind) -> FoundEntry {
    let name = name.to_vec();
    FoundEntry { name, kind }
}

fn survey() -> Survey {
    Survey {
        found: vec![
            found(b"bad\xff", FoundKind::BadName),
            found(
                b"d",
                FoundKind::Dir {
                    identity: identity(2, 0o40_755, 0),
                },
            ),
            file(b"d/f", 0o100_755, 1),
            unread(b"d/g"),
            found(
                b"d/l",
                FoundKind::Symlink {
                    identity: identity(3, 0o120_777, 4),
                    target: b"\xffraw".to_vec(),
                },
            ),
            found(b"p", FoundKind::Odd(OddType::Fifo)),
            found(b"q", FoundKind::Odd(OddType::Unknown)),
        ],
        gone: vec![b"old".to_vec(), b"old/inside".to_vec()],
    }
}

fn bytes(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("to memory");
    bytes
}

#[test]
fn lists_are_read_as_they_were_written() {
    let written = bytes(|out| receipt().write_to(out));
    assert_eq!(
        Receipt::read_from(&mut &written[..], 3).expect("whole"),
        receipt()
    );
    let request = SurveyRequest {
        limits: StreamLimits {
            entries: 1,
            ..LIMITS
        },
        writers: Writers::Held,
        digests: Digests::OfKnown,
        known: receipt().identities.into_iter().collect(),
    };
    let written = bytes(|out| request.write_to(out));
    assert_eq!(
        SurveyRequest::read_from(&mut &written[..]).expect("whole"),
        request
    );
    let written = bytes(|out| survey().write_to(out));
    assert_eq!(
        Survey::read_from(&mut &written[..], &LIMITS).expect("whole"),
        survey()
    );
    let digest = Digest::of(b"a");
    let wanted = [("a", Some(digest)), ("b/c", None)].map(|(name, digest)| Wanted {
        path: path(name),
        identity: identity(4, 0o100_644, 3),
        digest,
    });
    let written = bytes(|out| write_wanted(&wanted, out));
    assert_eq!(read_wanted(&mut &written[..]).expect("whole"), wanted);
}

fn order() -> UpdateOrder {
    let mut send = baseline();
    send.insert(
        path("l"),
        Entry::Symlink {
            target: "c".parse().expect("a target"),
        },
    );
    UpdateOrder {
        remove: ["a", "gone"].map(path).into(),
        send,
        quiet_since: Some(time(7)),
    }
}

fn update_receipt() -> UpdateReceipt {
    let order = order();
    let identities = order.send.iter().map(|(path, _)| path.to_owned());
    UpdateReceipt {
        written: Receipt {
            arrived: Trailer {
                entries: order.send.len() as u64,
                bytes: 2,
                stream: Checksum::of(b"stream"),
            },
            identities: identities
                .zip((1..).map(|ino| identity(ino, 0o100_644, 1)))
                .collect(),
        },
        stayed: vec![path("gone")],
    }
}

fn state() -> VolumeState {
    let (mut found, gone) = (survey().found, Vec::new());
    found.retain(|found| !matches!(found.kind, FoundKind::File { digest: None, .. }));
    let state = VolumeState::default().surveyed(Survey { found, gone }, &Tree::new());
    state.and_then(PendingSurvey::whole).expect("a tree")
}

/// Every list that is sent before an update or kept after one, and its reader.
type Reader = fn(&[u8]) -> Option<Vec<u8>>;

fn lists_of_updates() -> Vec<(Vec<u8>, Reader)> {
    let intent = PendingUpdate {
        gone: order().remove,
        there: order().send,
    };
    vec![
        (bytes(|out| order().write_to(out)), |mut list| {
            let read = UpdateOrder::read_from(&mut list).ok()?;
            list.is_empty().then(|| bytes(|out| read.write_to(out)))
        }),
        (bytes(|out| update_receipt().write_to(out)), |mut list| {
            let read = UpdateReceipt::read_from(&mut list, &order()).ok()?;
            Some(bytes(|out| read.write_to(out)))
        }),
        (bytes(|out| intent.write_to(out)), |mut list| {
            let read = PendingUpdate::read_from(&mut list).ok()?;
            Some(bytes(|out| read.write_to(out)))
        }),
        (bytes(|out| state().write_to(out)), |mut list| {
            let whole = list;
            let read = VolumeState::read_from(&mut list, &Tree::new()).ok()?;
            // Whatever it shares its texts with.
            for alike in [state().tree(), order().send] {
                let shared = VolumeState::read_from(&mut { whole }, &alike);
                assert_eq!(shared.ok().as_ref(), Some(&read));
            }
            Some(bytes(|out| read.write_to(out)))
        }),
    ]
}

#[test]
fn lists_of_updates_are_read_as_they_were_written_or_not_at_all() {
    for (number, (whole, read)) in lists_of_updates().into_iter().enumerate() {
        assert_eq!(read(&whole).as_ref(), Some(&whole), "list {number}");
        for length in 0..whole.len() {
            assert_eq!(
                read(&whole[..length]),
                None,
                "list {number}, {length} bytes"
            );
        }
        for position in 0..whole.len() {
            let mut changed = whole.clone();
            changed[position] ^= 1;
            assert_eq!(read(&changed), None, "list {number}, byte {position}");
        }
    }
}

/// A stream follows on the same pipe.
#[test]
fn an_order_is_read_and_not_a_byte_more() {
    let mut pipe = bytes(|out| order().write_to(out));
    pipe.extend_from_slice(b"stream");
    let mut rest = &pipe[..];
    assert_eq!(UpdateOrder::read_from(&mut rest).expect("whole"), order());
    assert_eq!(rest, b"stream");
}

#[test]
fn a_receipt_for_something_else_is_refused() {
    let refused = |receipt: &UpdateReceipt| {
        let written = bytes(|out| receipt.write_to(out));
        let read = UpdateReceipt::read_from(&mut &written[..], &order());
        read.map_err(|error| error.code())
    };
    assert_eq!(refused(&update_receipt()), Ok(update_receipt()));
    let mut stayed = update_receipt();
    stayed.stayed = vec![path("c")];
    assert_eq!(refused(&stayed), Err("list.malformed"));
    let mut fewer = update_receipt();
    fewer.written.identities.pop_last();
    fewer.written.arrived.entries -= 1;
    assert_eq!(refused(&fewer), Err("list.malformed"));
}

#[test]
fn a_receipt_over_the_sent_entries_is_refused() {
    let written = bytes(|out| receipt().write_to(out));
    let error = Receipt::read_from(&mut &written[..], 2).expect_err("one too many");
    assert_eq!(error.code(), "limit.list");
    let mut fewer = receipt();
    fewer.arrived.entries = 4;
    let written = bytes(|out| fewer.write_to(out));
    let error = Receipt::read_from(&mut &written[..], 9).expect_err("one is missing");
    assert_eq!(error.code(), "list.malformed");
}

#[test]
fn what_is_cut_or_changed_is_refused() {
    let all = [
        bytes(|out| receipt().write_to(out)),
        bytes(|out| survey().write_to(out)),
    ];
    let read = |bytes: &[u8]| {
        let receipt = Receipt::read_from(&mut &bytes[..], 3).is_ok();
        receipt || Survey::read_from(&mut &bytes[..], &LIMITS).is_ok()
    };
    for whole in &all {
        assert!(read(whole));
        for length in 0..whole.len() {
            assert!(!read(&whole[..length]), "{length} bytes");
        }
        for position in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[position] ^= 1 << bit;
                assert!(!read(&changed), "byte {position}, bit {bit}");
            }
        }
    }
}

#[test]
fn noise_is_refused_without_a_panic() {
    let random = &mut Random::new(7);
    for magic in [
        &b"lzrcpt 3"[..],
        b"lzsurv 3",
        b"lzask  4",
        b"lzwant 3",
        b"lztree 1",
    ] {
        for _ in 0..3000 {
            let mut noise = magic.to_vec();
            for _ in 0..random.below(200) {
                noise.push(match random.below(3) {
                    0 => b"tidflogmwnEBNFx"[random.below(15)],
                    1 => random.below(4) as u8,
                    _ => random.below(256) as u8,
                });
            }
            Receipt::read_from(&mut &noise[..], 9).expect_err("noise");
            Survey::read_from(&mut &noise[..], &LIMITS).expect_err("noise");
            SurveyRequest::read_from(&mut &noise[..]).expect_err("noise");
            read_wanted(&mut &noise[..]).expect_err("noise");
            read_tree(&mut &noise[..]).expect_err("noise");
        }
    }
}

#[test]
fn the_host_holds_a_survey_to_its_own_limits() {
    let written = bytes(|out| survey().write_to(out));
    let code = |limits: StreamLimits| {
        Survey::read_from(&mut &written[..], &limits).map_err(|error| error.code())
    };
    assert_eq!(
        code(StreamLimits {
            entries: 5,
            ..LIMITS
        }),
        Err("limit.entries")
    );
    assert_eq!(
        code(StreamLimits {
            total_bytes: 0,
            ..LIMITS
        }),
        Err("limit.total_bytes")
    );
    assert_eq!(
        code(StreamLimits {
            file_bytes: 0,
            ..LIMITS
        }),
        Err("limit.file_bytes")
    );
    assert_eq!(
        code(StreamLimits {
            name_bytes: 9,
            ..LIMITS
        }),
        Err("limit.names")
    );
    let given_up = StreamError::TooManyEntries { limit: 3 };
    let written = bytes(|out| Survey::write_given_up(&given_up, out));
    let error = Survey::read_from(&mut &written[..], &LIMITS).expect_err("given up");
    assert_eq!(error.to_string(), "more than 3 entries");
}

fn baseline() -> Tree {
    let file = Entry::File {
        mode: Mode::Plain,
        size: 1,
        digest: Digest::of(b"x"),
    };
    let entries = [("a", Entry::Dir), ("a/b", file.clone()), ("c", file)];
    entries
        .into_iter()
        .map(|(name, entry)| (path(name), entry))
        .collect()
}

#[track_caller]
fn collected(found: Vec<FoundEntry>, gone: &[&[u8]]) -> String {
    let gone = gone.iter().map(|name| name.to_vec()).collect();
    let baseline = baseline();
    let sent = Receipt {
        identities: (baseline.iter().zip(1..))
            .map(|((path, _), ino)| (path.to_owned(), identity(ino, 0o100_644, 1)))
            .collect(),
        ..receipt()
    };
    let sent = VolumeState::received(&baseline, &sent).expect("of one tree");
    let surveyed = sent.surveyed(Survey { found, gone }, &baseline);
    match surveyed.and_then(PendingSurvey::whole) {
        Ok(state) => {
            let collection = state.collect(&baseline);
            let paths = collection.tree.iter().map(|(path, _)| path.as_str());
            let refused = collection.refusals.iter().map(|refusal| refusal.code);
            paths.chain(refused).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn a_survey_is_applied_to_the_baseline() {
    assert_eq!(collected(vec![], &[]), "a a/b c");
    assert_eq!(collected(vec![], &[b"c"]), "a a/b");
    assert_eq!(
        collected(vec![file(b"d", 0o100_644, 1)], &[b"a", b"a/b"]),
        "c d"
    );
}

/// What a survey did not read is wanted, and in the state as it arrived.
#[test]
fn what_was_not_read_comes_from_what_arrived() {
    let dir = FoundKind::Dir {
        identity: identity(2, 0o40_755, 0),
    };
    let found = vec![
        file(b"b", 0o100_644, 1),
        found(b"d", dir),
        unread(b"d/g"),
        unread(b"e"),
    ];
    let gone = Vec::new();
    let empty = Tree::new();
    let surveyed = VolumeState::default().surveyed(Survey { found, gone }, &empty);
    let surveyed = surveyed.expect("no contradiction");
    let wanted = surveyed.wanted(&empty);
    let names: Vec<_> = wanted.iter().map(|wanted| wanted.path.as_str()).collect();
    assert_eq!(names, ["b", "d/g", "e"]);
    assert_eq!(
        wanted
            .iter()
            .map(|wanted| wanted.digest)
            .collect::<Vec<_>>(),
        [Some(Digest::of(b"x")), None, None]
    );
    let arrived = |size| {
        let entry = |digest| Entry::File {
            mode: Mode::Plain,
            size,
            digest,
        };
        ["b", "d/g", "e"]
            .map(|name| (path(name), entry(Digest::of(b"arrived"))))
            .into_iter()
            .collect::<Tree>()
    };
    let missing = Tree::new();
    for wrong in [&arrived(2), &missing] {
        let refused = surveyed
            .clone()
            .arrived(wrong)
            .expect_err("not what was found");
        assert_eq!(refused.path, path("d/g"));
    }
    let state = surveyed.clone().arrived(&arrived(1)).expect("all of it");
    let collection = state.collect(&empty);
    let of = |name: &str| match collection.tree.get(&path(name)) {
        Some(Entry::File { mode, digest, .. }) => (*mode, *digest),
        other => panic!("{other:?}"),
    };
    assert_eq!(of("b"), (Mode::Plain, Digest::of(b"x")));
    assert_eq!(of("e"), (Mode::Executable, Digest::of(b"arrived")));
    let linked: Vec<_> = collection.notes.iter().map(|note| note.code).collect();
    assert_eq!(linked, ["link.hard", "link.hard"]);
    assert_eq!(
        surveyed.whole().expect_err("not all of it").code(),
        "survey.contradiction"
    );
}

/// A survey always reads a known file: the host could not tell otherwise whether it changed.
#[test]
fn only_new_files_in_directories_may_be_left_unread() {
    let surveyed = |found: Vec<FoundEntry>| {
        let sent = Receipt {
            identities: (baseline().iter().zip(1..))
                .map(|((path, _), ino)| (path.to_owned(), identity(ino, 0o100_644, 1)))
                .collect(),
            ..receipt()
        };
        let sent = VolumeState::received(&baseline(), &sent).expect("of one tree");
        let gone = Vec::new();
        let surveyed = sent.surveyed(Survey { found, gone }, &baseline());
        surveyed.map_or_else(|error| error.code(), |_| "fine")
    };
    assert_eq!(surveyed(vec![unread(b"a/new")]), "fine");
    assert_eq!(surveyed(vec![unread(b"a/b")]), "survey.contradiction");
    assert_eq!(surveyed(vec![unread(b"c/new")]), "survey.contradiction");
    assert_eq!(surveyed(vec![unread(b"no/new")]), "survey.contradiction");
    let git = FoundKind::Dir {
        identity: identity(2, 0o40_755, 0),
    };
    let config = vec![found(b".git", git), unread(b".git/config")];
    assert_eq!(surveyed(config), "survey.contradiction");
    assert_eq!(
        surveyed(vec![unread(b"new"), file(b"new/x", 0o100_644, 1)]),
        "survey.contradiction"
    );
}

#[test]
fn what_is_refused_is_neither_changed_nor_deleted() {
    let fifo = |name: &[u8]| found(name, FoundKind::Odd(OddType::Fifo));
    assert_eq!(collected(vec![fifo(b"c")], &[]), "a a/b c type.fifo");
    assert_eq!(collected(vec![fifo(b"a")], &[b"a/b"]), "a a/b c type.fifo");
    assert_eq!(collected(vec![fifo(b"new")], &[]), "a a/b c type.fifo");
    let link = found(
        b"a",
        FoundKind::Symlink {
            identity: identity(3, 0o120_777, 1025),
            target: vec![b't'; 1025],
        },
    );
    assert_eq!(collected(vec![link], &[b"a/b"]), "a a/b c link.too_long");
}

#[test]
fn contradictions_end_the_batch() {
    // Gone, yet never there; twice gone; gone and found.
    assert_eq!(collected(vec![], &[b"nothing"]), "survey.contradiction");
    assert_eq!(collected(vec![], &[b"c", b"c"]), "survey.contradiction");
    let again = file(b"c", 0o100_644, 1);
    assert_eq!(
        collected(vec![again.clone()], &[b"c"]),
        "survey.contradiction"
    );
    assert_eq!(
        collected(vec![again.clone(), again], &[]),
        "survey.contradiction"
    );
    // Below a file; below nothing; a directory is gone and what it held is not.
    assert_eq!(
        collected(vec![file(b"c/d", 0, 1)], &[]),
        "survey.contradiction"
    );
    assert_eq!(
        collected(vec![file(b"x/d", 0, 1)], &[]),
        "survey.contradiction"
    );
    assert_eq!(collected(vec![], &[b"a"]), "survey.contradiction");
    // A good name that is called bad.
    assert_eq!(
        collected(vec![found(b"ok", FoundKind::BadName)], &[]),
        "survey.contradiction"
    );
}

#[test]
fn impossible_names_end_the_batch() {
    for name in [
        &b""[..],
        b"/etc/passwd",
        b"../x",
        b"a/../b",
        b"a//b",
        b"./a",
        b"nul\0",
    ] {
        assert_eq!(collected(vec![file(name, 0, 1)], &[]), "survey.name");
        assert_eq!(
            collected(vec![found(name, FoundKind::BadName)], &[]),
            "survey.name"
        );
        assert_eq!(collected(vec![], &[name]), "survey.name");
    }
}

#[test]
fn trees_go_to_disk_and_back() {
    let file = |mode, text: &str| Entry::File {
        mode,
        size: text.len() as u64,
        digest: Digest::of(text.as_bytes()),
    };
    let target = "../x".parse().expect("a target");
    let tree: Tree = [
        (path("a"), Entry::Dir),
        (path("a/b"), file(Mode::Executable, "run")),
        (path("a/c"), Entry::Symlink { target }),
        (path("ä"), file(Mode::Plain, "text")),
        (path("z"), Entry::Dir),
        (path("z/z"), file(Mode::Plain, "")),
    ]
    .into_iter()
    .collect();
    let mut bytes = Vec::new();
    write_tree(&tree, &mut bytes).expect("to memory");
    assert_eq!(read_tree(&mut &bytes[..]).expect("whole"), tree);
    let mut again = Vec::new();
    write_tree(&tree, &mut again).expect("to memory");
    assert_eq!(bytes, again);
    for length in 0..bytes.len() {
        read_tree(&mut &bytes[..length]).expect_err("cut off");
    }
    for position in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[position] ^= 0x20;
        read_tree(&mut &changed[..]).expect_err("changed");
    }
    let error = read_tree(&mut &b"lztree 2 and more"[..]).expect_err("newer");
    assert_eq!(error.to_string(), "not a tree of version 1");
}

//! What a survey makes of a volume state, and the lists that the host keeps.

use lazaret_protocol::testing::{Message, identity, receipt, survey, update_request, written};
use lazaret_protocol::{FoundEntry, FoundKind, Receipt, SpecialType, Survey, UpdateRequest};
use lazaret_transfer::{PendingSurvey, PendingUpdate, VolumeState};
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree};

fn path(text: &str) -> RelPathBuf {
    text.parse().expect("a path")
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

fn state() -> VolumeState {
    let (mut found, gone) = (survey().found, Vec::new());
    found.retain(|found| !matches!(found.kind, FoundKind::File { digest: None, .. }));
    let state = VolumeState::default().surveyed(Survey { found, gone }, &Tree::new());
    state.and_then(PendingSurvey::whole).expect("a tree")
}

#[test]
fn lists_of_updates_are_read_as_they_were_written_or_not_at_all() {
    let intent = Message {
        name: "intent",
        samples: || {
            let UpdateRequest { remove, send, .. } = update_request();
            let intent = PendingUpdate {
                gone: remove,
                there: send,
            };
            vec![written(|out| intent.write_to(out))]
        },
        reread: |list| match PendingUpdate::read_from(list) {
            Ok(read) => Ok(written(|out| read.write_to(out))),
            Err(error) => Err(error.to_string()),
        },
    };
    let state = Message {
        name: "state",
        samples: || vec![written(|out| state().write_to(out))],
        reread: |list| {
            let whole = *list;
            let read = VolumeState::read_from(list, &Tree::new());
            let read = read.map_err(|error| error.to_string())?;
            // Whatever it shares its texts with.
            for alike in [state().tree(), update_request().send] {
                let shared = VolumeState::read_from(&mut { whole }, &alike);
                assert_eq!(shared.ok().as_ref(), Some(&read));
            }
            Ok(written(|out| read.write_to(out)))
        },
    };
    for list in [intent, state] {
        list.check();
    }
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
            let refused = collection.refusals.iter().map(|refusal| refusal.code.id);
            paths.chain(refused).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.code().id.to_owned(),
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
    let linked: Vec<_> = collection.notes.iter().map(|note| note.code.id).collect();
    assert_eq!(linked, ["link.hard", "link.hard"]);
    assert_eq!(
        surveyed.whole().expect_err("not all of it").code().id,
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
        surveyed.map_or_else(|error| error.code().id, |_| "fine")
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
    let fifo = |name: &[u8]| found(name, FoundKind::Special(SpecialType::Fifo));
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

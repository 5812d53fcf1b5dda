//! The sessions on disk: names, locks, records.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_session::store::from_branch::FromBranch;
use lazaret_session::store::record::{
    GateLimits, GitSelection, KeepVolume, NewRecord, Phase, Record, RecordError, SelectionRecord,
};
use lazaret_session::store::{Store, StoreError};

fn record(id: &str) -> Record {
    let new = NewRecord {
        id: id.parse().expect("a name"),
        store: "0123456789abcdef".to_owned(),
        workspace: "/projects/shop".into(),
        workspace_identity: (1, 2),
        profile: "base".to_owned(),
        command: vec!["make".to_owned()],
        engine: "docker".to_owned(),
        image: "sha256:00".to_owned(),
        gate: GateLimits {
            max_entries: 1,
            max_bytes: 2,
            max_file_bytes: 3,
        },
        ignored: IgnoredFiles::Offered,
        keep: KeepVolume::Always,
        bounds: lazaret_session::store::record::WriteScope::default(),
        pr_file: Some("meta/pr.json".parse().expect("a path")),
        selection: SelectionRecord {
            git: GitSelection::Full,
            exclude: vec!["*.log".to_owned()],
            shared: None,
            from: Some(FromBranch {
                branch: "main".to_owned(),
                commit: "5".repeat(40),
            }),
        },
        egress: None,
        services: Vec::new(),
    };
    Record::new(new, SystemTime::UNIX_EPOCH)
}

#[test]
fn a_record_survives_the_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    let mut session = store.create(record("one")).expect("a session");
    session
        .update(|record| record.phase = Phase::Running)
        .expect("written");
    let read = store
        .find(&session.record().id)
        .expect("found")
        .record()
        .expect("read");
    assert_eq!(&read, session.record());
    assert_eq!(read.phase, Phase::Running);
}

#[test]
fn flt_12_a_lock_is_held_while_its_holder_lives_and_no_longer() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    let id = "one".parse().expect("a name");
    let session = store.create(record("one")).expect("a session");
    assert!(matches!(store.lock(&id), Err(StoreError::Busy { .. })));
    drop(session);
    // A process that another test starts holds it from its fork to its exec.
    let free = |_: i32| match store.lock(&id) {
        Err(StoreError::Busy { .. }) => {
            std::thread::sleep(std::time::Duration::from_millis(10));
            None
        }
        other => Some(other),
    };
    let session = (0..1000).find_map(free).expect("no process holds it");
    let session = session.expect("a session");
    session.remove().expect("removed");
    assert!(matches!(store.lock(&id), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_name_is_taken_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    drop(store.create(record("one")).expect("a session"));
    assert!(matches!(
        store.create(record("one")),
        Err(StoreError::Exists { .. })
    ));
    let names: Vec<String> = store
        .list()
        .expect("listed")
        .iter()
        .map(|dir| dir.id().to_string())
        .collect();
    assert_eq!(names, ["one"], "what could not be created left nothing");
}

#[test]
fn the_store_is_private_and_keeps_its_id() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state");
    let id = Store::open(&state).expect("a store").id().to_owned();
    assert_eq!(Store::open(&state).expect("a store").id(), id);
    for path in [state.clone(), state.join("sessions"), state.join("locks")] {
        let mode = std::fs::metadata(&path)
            .expect("is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn app_23_a_record_that_is_cut_changed_or_of_another_version_is_refused() {
    let bytes = record("one").to_bytes().expect("written");
    assert_eq!(Record::parse(&bytes).expect("whole"), record("one"));
    for cut in 0..bytes.len() - 2 {
        assert!(Record::parse(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    let text = String::from_utf8(bytes).expect("text");
    for found in [0, 3] {
        let other = text.replace("\"version\": 2", &format!("\"version\": {found}"));
        assert!(matches!(
            Record::parse(other.as_bytes()),
            Err(RecordError::Version { found: other }) if other == found
        ));
    }
    let more = text.replace("\"version\": 2", "\"version\": 2, \"colour\": 1");
    assert!(Record::parse(more.as_bytes()).is_err());
    let bad_name = text.replace("\"id\": \"one\"", "\"id\": \"../one\"");
    assert!(Record::parse(bad_name.as_bytes()).is_err());
}

/// As lazaret wrote it before volumes were kept.
const VERSION_1: &str = r#"{
  "version": 1, "id": "one", "store": "0123456789abcdef", "created": 7,
  "workspace": "/projects/shop", "workspace_identity": [1, 2], "profile": "base",
  "command": ["make"], "engine": "docker", "image": "sha256:00", "phase": "collected",
  "gate": { "max_entries": 1, "max_bytes": 2, "max_file_bytes": 3 },
  "end": null, "outcome": "kept", "rejection": null, "left_out": 0
}"#;

#[test]
fn a_record_of_the_version_before_is_read_and_written_as_this_one() {
    let old = Record::parse(VERSION_1.as_bytes()).expect("read");
    assert_eq!(old.keep, KeepVolume::UntilSettled);
    assert_eq!(
        (old.selection.clone(), old.reset, old.phase_before),
        (None, false, None)
    );
    let again = Record::parse(&old.to_bytes().expect("written")).expect("read");
    assert_eq!(again, old);
}

#[test]
fn fresh_names_come_from_the_workspace_and_are_valid() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    for (path, start) in [
        ("/projects/Shop", "shop-"),
        ("/projects/ünï cøde", "n--c-de-"),
        ("/", "session-"),
        ("/x/---", "session-"),
        (
            "/x/a-very-long-name-of-a-directory-that-goes-on-and-on",
            "a-very-long-name-of-a-direct-",
        ),
    ] {
        let id = store.fresh_id(path.as_ref()).expect("a name");
        assert!(id.as_str().starts_with(start), "{path}: {id}");
    }
}

/// Applies are told apart by their numbers: a clock that was wrong changes nothing.
#[test]
fn flt_22_the_order_of_applies_is_counted_and_not_dated() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    let session = store.create(record("one")).expect("a session");
    let session = session.dir();
    let decade = Duration::from_secs(10 * 365 * 86_400);
    for number in 1..=12_u32 {
        assert_eq!(session.next_apply().expect("a number"), number);
        let journal = session.journal(number);
        std::fs::create_dir(&journal).expect("made");
        // Each is ten years older than the one before it.
        let when = SystemTime::now() - decade / 12 * number;
        let journal = std::fs::File::open(&journal).expect("open");
        journal.set_modified(when).expect("dated");
    }
    let all: Vec<_> = (1..=12).map(|number| session.journal(number)).collect();
    assert_eq!(session.journals().expect("a list"), all);
}

//! Captures of a session without an engine.

use std::time::SystemTime;

use super::super::{Capture, restore};
use super::*;
use crate::store::example::example_record;
use crate::store::sync_state::read_collection;

fn waiting(store: &Store) -> LockedSession {
    let mut session = store.create(example_record()).unwrap();
    session
        .update(|record| {
            record.phase = Phase::Collected;
            record.keep = KeepVolume::Always;
        })
        .unwrap();
    for name in ["volume", "baseline", "intent", "changes.txt"] {
        fs::write(session.dir().file(name), name).unwrap();
    }
    let deep = session.dir().file("quarantine/deep");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("blob"), "blob").unwrap();
    session
}

fn everything() -> CaptureRequest<'static> {
    const NO_COMMITS: &Unlanded = &Unlanded::NONE;
    CaptureRequest {
        commits: NO_COMMITS,
        packs: None,
        files: &CapturedFiles::Collected,
    }
}

#[test]
fn what_waits_outlives_its_session_and_becomes_one_again() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let session = waiting(&store);
    let first = take(&store, &session, &everything()).unwrap();
    fs::write(session.dir().file("volume"), "seen again").unwrap();
    let second = take(&store, &session, &everything()).unwrap();
    assert_ne!(first, second);
    // What a later command writes into the same file is not the capture's.
    fs::write(session.dir().file("changes.txt"), "later").unwrap();
    session.remove().unwrap();
    let all = Capture::list(&store).unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|capture| capture.session() == "shop"));
    restore(&store, &first).unwrap();
    let restored = store.lock(&first).unwrap();
    let record = restored.record();
    assert_eq!((&record.id, record.phase), (&first, Phase::Collected));
    assert_eq!(record.keep, KeepVolume::UntilSettled);
    let read = |name: &str| fs::read_to_string(restored.dir().file(name)).unwrap();
    assert_eq!(read("quarantine/deep/blob"), "blob");
    assert_eq!(read("changes.txt"), "changes.txt");
    assert!(!restored.dir().file("intent").exists());
    assert!(matches!(
        restore(&store, &first),
        Err(CaptureError::NotFound(_))
    ));
    Capture::open(&store, &second).unwrap().remove().unwrap();
    assert!(Capture::list(&store).unwrap().is_empty());
}

#[test]
fn what_was_cut_off_is_no_capture_and_goes_after_a_day() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let session = waiting(&store);
    let [young, old] = [".new-1", ".new-2"].map(|name| store.captures().join(name));
    for dir in [&young, &old] {
        fs::create_dir_all(dir).unwrap();
    }
    let long_ago = SystemTime::now() - 2 * LONGEST;
    let times = fs::FileTimes::new().set_modified(long_ago);
    File::open(&old).unwrap().set_times(times).unwrap();
    assert!(Capture::list(&store).unwrap().is_empty());
    let id = take(&store, &session, &everything()).unwrap();
    assert!(young.exists() && !old.exists());
    assert_eq!(Capture::list(&store).unwrap()[0].id(), &id);
}

#[test]
fn what_can_not_be_taken_over_leaves_no_capture() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let session = waiting(&store);
    std::os::unix::fs::symlink("nowhere", session.dir().file("dangling")).unwrap();
    assert!(take(&store, &session, &everything()).is_err());
    assert!(list_dir(&store.captures()).unwrap().is_empty());
}

#[test]
fn a_removal_that_is_repeated_finds_its_capture() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let mut session = waiting(&store);
    let first = take(&store, &session, &everything()).unwrap();
    let open = || Capture::open(&store, &first).unwrap();
    let origin = Origin {
        at: Moment::at(SystemTime::UNIX_EPOCH),
        ..open().origin
    };
    origin.write(open().dir.path()).unwrap();
    assert_eq!(take(&store, &session, &everything()).unwrap(), first);
    assert_ne!(open().taken(), &origin.at);

    session.update(|record| record.left_out = 1).unwrap();
    let second = take(&store, &session, &everything()).unwrap();
    let lost = CapturedFiles::Lost {
        why: "no".to_owned(),
    };
    let request = CaptureRequest {
        files: &lost,
        ..everything()
    };
    let third = take(&store, &session, &request).unwrap();
    assert_eq!(Capture::list(&store).unwrap().len(), 3);
    assert!(first != second && second != third);
    Capture::open(&store, &second).unwrap().remove().unwrap();
    assert_ne!(take(&store, &session, &everything()).unwrap(), second);
}

#[test]
fn a_capture_without_files_holds_no_change_of_a_file() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let session = waiting(&store);
    let lost = CapturedFiles::Lost {
        why: "stream.cut".to_owned(),
    };
    let request = CaptureRequest {
        files: &lost,
        ..everything()
    };
    let id = take(&store, &session, &request).unwrap();
    let capture = Capture::open(&store, &id).unwrap();
    assert_eq!(capture.lacks_files(), Some("stream.cut"));
    restore(&store, &id).unwrap();
    let restored = store.lock(&id).unwrap();
    let (baseline, collection) = read_collection(restored.dir()).unwrap();
    assert!(baseline.is_empty() && collection.tree.is_empty());
    assert!(!restored.dir().file("quarantine/deep").exists());
    assert!(restored.dir().file("changes.txt").exists());
}

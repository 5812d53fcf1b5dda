//! Generations of shared volumes, as files.

use lazaret_runtime::VolumeName;

use super::*;

const ENGINE: &str = "unix:///run/docker.sock";

fn store() -> (tempfile::TempDir, SharedVolumes) {
    let dir = tempfile::tempdir().unwrap();
    let volumes = SharedVolumes::of(&Store::open(dir.path()).unwrap());
    (dir, volumes)
}

fn id() -> VolumeId {
    "cargo".parse().unwrap()
}

fn fill(volumes: &SharedVolumes, command: &str) -> VolumeName {
    let filling = volumes.begin(&id(), ENGINE).unwrap();
    let record = FillRecord {
        name: "cargo".to_owned(),
        engine: ENGINE.to_owned(),
        profile: "rust".to_owned(),
        image: "rust@sha256:0".to_owned(),
        command: vec![command.to_owned()],
        filled: 0,
    };
    filling.finish(record).unwrap();
    filling.volume()
}

fn pinned(volumes: &SharedVolumes) -> Option<PinnedVolume> {
    volumes.pin(&id(), ENGINE).unwrap()
}

#[test]
fn a_session_gets_the_newest_generation_of_its_engine() {
    let (_dir, volumes) = store();
    assert!(pinned(&volumes).is_none());
    let first = fill(&volumes, "one");
    assert_eq!(pinned(&volumes).unwrap().volume(), first);
    let second = fill(&volumes, "two");
    assert_eq!(pinned(&volumes).unwrap().volume(), second);
    assert!(volumes.pin(&id(), "other").unwrap().is_none());
    let listed = volumes.list().unwrap();
    let commands: Vec<_> = listed.iter().map(|record| &record.command[..]).collect();
    assert_eq!(commands, [["two".to_owned()]]);
}

#[test]
fn a_fill_that_is_given_up_changes_nothing() {
    let (_dir, volumes) = store();
    let first = fill(&volumes, "one");
    let filling = volumes.begin(&id(), ENGINE).unwrap();
    assert!(matches!(
        volumes.begin(&id(), ENGINE),
        Err(VolumeError::Busy { .. })
    ));
    assert!(volumes.replaced().unwrap().is_empty());
    filling.forget().unwrap();
    drop(filling);
    assert_eq!(pinned(&volumes).unwrap().volume(), first);
}

#[test]
fn a_fill_whose_launcher_died_is_given_up() {
    let (_dir, volumes) = store();
    let filling = volumes.begin(&id(), ENGINE).unwrap();
    let owner = filling.owner().clone();
    drop(filling);
    assert_eq!(volumes.replaced().unwrap(), [owner]);
    assert!(volumes.files().unwrap().is_empty());
}

#[test]
fn a_generation_stays_as_long_as_a_session_uses_it() {
    let (_dir, volumes) = store();
    fill(&volumes, "one");
    let first = pinned(&volumes).unwrap();
    assert!(matches!(
        volumes.remove(&id(), ENGINE),
        Err(VolumeError::InUse { .. })
    ));
    fill(&volumes, "two");
    assert!(volumes.replaced().unwrap().is_empty());
    let owner = first.owner.clone();
    drop(first);
    assert_eq!(volumes.replaced().unwrap(), [owner]);
    assert_eq!(volumes.remove(&id(), ENGINE).unwrap().len(), 1);
    assert!(volumes.list().unwrap().is_empty());
}

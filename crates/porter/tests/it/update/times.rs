//! Times: what an update brings is newer than whatever was built inside before it.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lazaret_protocol::FileTime;

use super::kept::Kept;

const PROJECT: &str = "f a.c 1\nf b/b.c 1\nl l.c -> a.c\nf same.c 1\nf .git/HEAD \"ref: refs/heads/main\"\nf .git/index 1\nd .git/objects/\nd .git/refs/";

fn modified(root: &Path, path: &str) -> SystemTime {
    let metadata = fs::symlink_metadata(root.join(path)).expect("there");
    metadata.modified().expect("on Linux")
}

fn set(root: &Path, path: &str, time: SystemTime) {
    let file = fs::File::open(root.join(path)).expect("there");
    file.set_modified(time).expect("ours");
}

/// Builds inside, at once.
fn build(kept: &Kept) -> SystemTime {
    kept.agent("f a.o built");
    modified(kept.volume.path(), "a.o")
}

#[test]
fn an_edit_in_the_second_of_the_build_is_newer() {
    for _ in 0..3 {
        let mut kept = Kept::new(PROJECT);
        let built = build(&kept);
        kept.host("f a.c 2\n- l.c\nl l.c -> b/b.c");
        kept.update();
        for path in ["a.c", "l.c"] {
            assert!(modified(kept.volume.path(), path) > built, "{path}");
        }
    }
}

/// A host edit that is older than the product: made before the build and sent after it, or a
/// file that was replaced by an old one.
#[test]
fn an_edit_from_before_the_build_is_newer() {
    for age in [
        Duration::from_millis(1),
        Duration::from_secs(3600),
        Duration::from_secs(1 << 30),
    ] {
        let mut kept = Kept::new(PROJECT);
        kept.survey();
        kept.host("f a.c 2\nf new.c 1\nf b/b.c 2");
        let built = build(&kept);
        for path in ["a.c", "new.c", "b/b.c"] {
            set(kept.workspace.path(), path, built - age);
        }
        let untouched = modified(kept.volume.path(), "same.c");
        kept.update();
        for path in ["a.c", "new.c", "b/b.c"] {
            let time = modified(kept.volume.path(), path);
            assert!(time > built, "{path}");
            assert!(time <= SystemTime::now(), "{path}");
        }
        assert_eq!(modified(kept.volume.path(), "same.c"), untouched);
    }
}

/// What was built on the host, and sent with its source, is as new inside as it was there.
#[test]
fn the_newer_one_of_two_stays_the_newer_one() {
    let mut kept = Kept::new(PROJECT);
    let built = build(&kept);
    kept.host("f a.c 2\nf b/b.c 2\nf a.h 2");
    for (path, age) in [("a.c", 7200), ("b/b.c", 7201), ("a.h", 7202)] {
        set(
            kept.workspace.path(),
            path,
            built - Duration::from_secs(age),
        );
    }
    kept.update();
    let times = ["a.h", "b/b.c", "a.c"].map(|path| modified(kept.volume.path(), path));
    assert!(
        built < times[0] && times[0] < times[1] && times[1] < times[2],
        "{times:?}"
    );
}

/// Git's index knows the host's times: what was edited after the command had ended keeps them.
#[test]
fn an_edit_after_the_last_command_keeps_its_time() {
    let mut kept = Kept::new(PROJECT);
    let built = build(&kept);
    let edited = built - Duration::from_secs(600);
    let quiet = (edited - Duration::from_secs(3)).duration_since(UNIX_EPOCH);
    let quiet = quiet.expect("after 1970");
    kept.quiet_since = Some(FileTime {
        seconds: quiet.as_secs().try_into().expect("in range"),
        nanos: quiet.subsec_nanos(),
    });
    kept.host("f a.c 2\nf b/b.c 2\nf .git/index 2");
    set(kept.workspace.path(), "a.c", edited);
    set(
        kept.workspace.path(),
        "b/b.c",
        edited - Duration::from_secs(9),
    );
    set(
        kept.workspace.path(),
        ".git/index",
        UNIX_EPOCH + Duration::new(1_600_000_000, 5),
    );
    kept.update();
    assert_eq!(modified(kept.volume.path(), "a.c"), edited);
    let moved = modified(kept.volume.path(), "b/b.c");
    assert!(moved > edited - Duration::from_secs(3) && moved < edited);
    // Never later than it is: git looks into what is as new as its index.
    let index = UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    assert_eq!(modified(kept.volume.path(), ".git/index"), index);
}

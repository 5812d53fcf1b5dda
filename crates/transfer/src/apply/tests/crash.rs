//! Crashes and failures at every operation.

use std::sync::Arc;

use rustix::io::Errno;

use super::attributes::dressed;
use super::faulty::Op;
use super::{Able, Direction, Fault, Faulty, Hits, Scene, Snapshot, recover_with};
use crate::apply::{ApplyError, Attempt, HistoryState, Recovered, history_state};

/// Every kind of change at once, nested where order matters.
pub(super) const BEFORE: &str = r#"
    f changed.txt "old"
    x mode.sh "same"
    f gone.txt "gone"
    f gone-dir/a "a"
    f gone-dir/deep/b "b"
    d empty/
    f dir-to-file/x "x"
    f file-to-dir "f"
    l link -> changed.txt
    f file-to-link "f"
    l link-to-dir -> empty
    f kept/untouched "u"
    m 600 kept/untouched
    m 700 gone-dir
    m 700 gone-dir/deep
    m 750 dir-to-file
    m 710 empty
"#;

pub(super) const AFTER: &str = r#"
    f changed.txt "new contents"
    f mode.sh "same"
    f dir-to-file "now a file"
    f file-to-dir/inner/leaf "leaf"
    x file-to-dir/run "run"
    l link -> kept/untouched
    l file-to-link -> kept
    f link-to-dir/y "y"
    f kept/untouched "u"
    f kept/added "added"
    f new/dir/file "n"
    d new/void/
"#;

fn scene() -> Scene {
    dressed(
        Scene::new(BEFORE, AFTER),
        &["changed.txt", "gone.txt", "gone-dir", "empty"],
    )
}

/// What the tree is before and after an undisturbed apply, and its operations.
fn expected(able: Able) -> (Snapshot, Snapshot, usize) {
    let scene = scene();
    let before = scene.snapshot();
    let ops = Arc::new(Faulty::none().able(able));
    let receipt = scene.apply_on(Arc::clone(&ops) as _).unwrap();
    assert_eq!(receipt.cleanup, None);
    assert_eq!(scene.recover(), Recovered::Nothing);
    let after = scene.snapshot();
    assert_ne!(before, after);
    (before, after, ops.count())
}

#[test]
fn app_15_applies_every_kind_of_change() {
    let scene = scene();
    scene.apply().unwrap();
    insta::assert_snapshot!(scene.dump(), @r#"
    f changed.txt "new contents"
    f dir-to-file "now a file"
    f file-to-dir/inner/leaf "leaf"
    x file-to-dir/run "run"
    l file-to-link -> kept
    f kept/added "added"
    f kept/untouched "u"
    l link -> kept/untouched
    f link-to-dir/y "y"
    f mode.sh "same"
    f new/dir/file "n"
    d new/void/
    "#);
}

/// Every error of APP-13, with what a disk, a quota, a remount and a full table say.
const ERRORS: [Errno; 5] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::IO,
    Errno::ROFS,
    Errno::MFILE,
];

/// APP-13: this error at every operation of an apply: rolled back, or done.
fn fail_everywhere(able: Able, errno: Errno) -> Hits {
    let (before, after, count) = expected(able);
    let mut hits = Hits::default();
    let mut done = 0;
    hits.enumerate(Fault::Fail(errno), able, |ops| {
        let scene = scene();
        let result = scene.apply_on(Arc::clone(&ops) as _);
        let at = ops.failed();
        match result {
            Ok(receipt) => {
                done += 1;
                if receipt.cleanup.is_some() {
                    // "Nothing" when only the last sync failed.
                    let recovered = scene.recover();
                    assert!(!matches!(recovered, Recovered::RolledBack { .. }), "{at:?}");
                }
                assert_eq!(scene.snapshot(), after, "{at:?}");
            }
            Err(ApplyError::Unfinished { .. }) => {
                let recovered = scene.recover();
                assert!(matches!(recovered, Recovered::RolledBack { .. }), "{at:?}");
                assert_eq!(scene.snapshot(), before, "{at:?}");
            }
            Err(error) => {
                assert!(
                    !matches!(error, ApplyError::NotRestored { .. }),
                    "{at:?} {error}"
                );
                assert!(!error.to_string().is_empty());
                // Aborting may have failed too, where the failure was in it.
                let _recovered = scene.recover();
                assert_eq!(scene.snapshot(), before, "{at:?}: {error}");
            }
        }
        assert_eq!(scene.recover(), Recovered::Nothing, "{at:?}");
    });
    // The failures of an apply are as many as its operations.
    assert_eq!(hits.runs(), count);
    assert!(done > 0 && done < count / 2, "{done} of {count}");
    hits
}

#[test]
fn app_13_every_error_at_every_operation_of_an_apply() {
    for errno in ERRORS {
        let hits = fail_everywhere(Able::All, errno);
        // No undo, so no time is set; no links, where names can be exchanged.
        assert_eq!(
            hits.missing(),
            [
                Op::RemoveAttribute,
                Op::Link,
                Op::Chown,
                Op::SetMtime,
                Op::SyncAll
            ]
        );
    }
}

#[test]
fn app_13_every_operation_fails_where_names_can_not_be_exchanged() {
    fail_everywhere(Able::NoExchange, Errno::ROFS);
    let hits = fail_everywhere(Able::NoNoReplace, Errno::NOSPC);
    let never = [Op::RemoveAttribute, Op::Chown, Op::SetMtime, Op::SyncAll];
    assert_eq!(hits.missing(), never);
}

/// APP-25: on overlayfs a directory of a lower layer can't be renamed.
#[test]
fn app_25_every_operation_fails_where_old_directories_can_not_be_renamed() {
    fail_everywhere(Able::NoOldDirs, Errno::IO);
}

/// APP-10: killed at every operation, then recovered: the old tree or the new one.
fn kill_everywhere(able: Able) {
    let (before, after, count) = expected(able);
    let mut hits = Hits::default();
    let (mut old, mut new) = (0, 0);
    hits.enumerate(Fault::Kill, able, |ops| {
        let scene = scene();
        let result = scene.apply_on(Arc::clone(&ops) as _);
        let at = ops.failed();
        let recovered = scene.recover();
        let tree = scene.snapshot();
        match recovered {
            Recovered::Completed => assert_eq!(tree, after, "{at:?}"),
            Recovered::RolledBack { ref not_restored } => {
                assert_eq!(*not_restored, [], "{at:?}");
                assert_eq!(tree, before, "{at:?}");
            }
            Recovered::Nothing => assert!(tree == before || tree == after, "{at:?}"),
        }
        if tree == before {
            assert!(result.is_err(), "{at:?}");
            old += 1;
        } else {
            new += 1;
        }
        assert_eq!(scene.recover(), Recovered::Nothing, "{at:?}");
    });
    assert_eq!(hits.runs(), count);
    assert!(old > 0 && new > 0, "{old} {new}");
}

#[test]
fn app_10_killed_at_every_operation() {
    kill_everywhere(Able::All);
}

#[test]
fn app_10_killed_at_every_operation_without_exchange() {
    kill_everywhere(Able::NoExchange);
}

#[test]
fn app_10_killed_at_every_operation_with_links_only() {
    kill_everywhere(Able::NoNoReplace);
}

#[test]
fn app_25_killed_where_old_directories_can_not_be_renamed() {
    kill_everywhere(Able::NoOldDirs);
}

/// A few changes, for loops in loops.
fn small(able: Able) -> (Scene, Snapshot) {
    const BEFORE: &str = "f a \"old\"\nf gone/x \"x\"\nf to-dir \"f\"\nl link -> a";
    const AFTER: &str = "f a \"new\"\nf to-dir/leaf \"l\"\nl link -> to-dir\nd new/";
    let scene = || dressed(Scene::new(BEFORE, AFTER), &["a", "gone", "gone/x"]);
    let applied = scene();
    let ops = Faulty::none().able(able);
    applied.apply_on(Arc::new(ops)).unwrap();
    (scene(), applied.snapshot())
}

/// APP-12 and APP-13: each error, and a kill, at every operation of the recovery of an
/// apply that was killed early, in the middle, late, and after it was committed.
#[test]
fn app_12_every_error_at_every_operation_of_a_recovery() {
    let mut all = Hits::default();
    for able in [Able::All, Able::NoNoReplace] {
        let (scene, after) = small(able);
        let before = scene.snapshot();
        let ops = Arc::new(Faulty::none().able(able));
        scene.apply_on(Arc::clone(&ops) as _).unwrap();
        let count = ops.count();
        let errors = ERRORS.map(Fault::Fail).into_iter();
        for (fault, share) in errors.chain([Fault::Kill]).flat_map(|fault| {
            let shares = [4, 7, 8, 9];
            shares.map(move |share| (fault, share))
        }) {
            all.enumerate(fault, able, |ops| {
                let (scene, _) = small(able);
                let killed = Faulty::new(Fault::Kill, count * share / 10).able(able);
                assert!(scene.apply_on(Arc::new(killed)).is_err());
                let first = recover_with(&*ops, &scene.journal());
                let at = ops.failed();
                assert!(first.is_err() || at.is_none(), "{at:?} {first:?}");
                let _second = scene.recover();
                let tree = scene.snapshot();
                assert!(tree == before || tree == after, "{fault:?} {share} {at:?}");
                assert_eq!(scene.recover(), Recovered::Nothing);
            });
        }
    }
    // A recovery copies no contents and makes nothing new but its journal.
    let never = [
        Op::ReadLink,
        Op::Attributes,
        Op::Attribute,
        Op::SetAttribute,
        Op::RemoveAttribute,
        Op::Pinned,
        Op::Writable,
        Op::Mkdir,
        Op::Symlink,
        Op::Chmod,
        Op::Chown,
        Op::SetMtime,
        Op::SyncAll,
    ];
    assert_eq!(all.missing(), never);
}

/// APP-10 and APP-13 for undo and redo: each error, and a kill, at every operation.
#[test]
fn app_18_every_error_at_every_operation_of_an_undo_and_a_redo() {
    for which in [Direction::Undo, Direction::Redo] {
        let mut hits = Hits::default();
        for fault in ERRORS.map(Fault::Fail).into_iter().chain([Fault::Kill]) {
            hits.enumerate(fault, Able::All, |ops| {
                let (scene, _) = small(Able::All);
                let mut ends = [scene.snapshot(), {
                    scene.apply().unwrap();
                    scene.snapshot()
                }];
                if which == Direction::Redo {
                    scene
                        .turn_on(Arc::new(Faulty::none()), Direction::Undo)
                        .unwrap();
                    ends.reverse();
                }
                let [to, from] = ends;
                let result = scene.turn_on(Arc::clone(&ops) as _, which);
                let at = ops.failed();
                let _recovered = scene.recover();
                let tree = scene.snapshot();
                match result {
                    Ok(_) => assert_eq!(tree, to, "{fault:?} {at:?}"),
                    Err(error) => assert!(tree == from || tree == to, "{at:?} {error}"),
                }
                assert_eq!(scene.recover(), Recovered::Nothing);
                if tree == from {
                    scene.turn_on(Arc::new(Faulty::none()), which).unwrap();
                }
                assert_eq!(scene.snapshot(), to, "{fault:?} {at:?}");
            });
        }
        let never = [Op::RemoveAttribute, Op::Link, Op::Chown];
        assert_eq!(hits.missing(), never, "{which:?}");
    }
}

/// APP-26: killed at every operation of an undo and of a redo, and the first lines of the
/// journals say so without a word from a record, until they are recovered; then they say what
/// the tree is.
#[test]
fn app_26_killed_at_every_operation_of_an_undo_and_a_redo_is_found_by_the_journals() {
    for (which, attempt, from, to) in [
        (
            Direction::Undo,
            Attempt::Undo,
            HistoryState::Applied,
            HistoryState::Undone,
        ),
        (
            Direction::Redo,
            Attempt::Redo,
            HistoryState::Undone,
            HistoryState::Applied,
        ),
    ] {
        let mut hits = Hits::default();
        let (mut found, mut moved) = (0, 0);
        hits.enumerate(Fault::Kill, Able::All, |ops| {
            let (scene, _) = small(Able::All);
            scene.apply().unwrap();
            if which == Direction::Redo {
                scene
                    .turn_on(Arc::new(Faulty::none()), Direction::Undo)
                    .unwrap();
            }
            let state = || history_state(&scene.journal()).unwrap();
            assert_eq!(state(), Some(from));
            let old = scene.snapshot();
            let _killed = scene.turn_on(Arc::clone(&ops) as _, which);
            let at = ops.failed();
            let left = state();
            match left {
                Some(HistoryState::Unfinished(what)) => {
                    assert_eq!(what, attempt, "{at:?}");
                    found += 1;
                }
                // Before there was a journal, or after it was done.
                other => assert!(other == Some(from) || other == Some(to), "{at:?} {other:?}"),
            }
            let is_mixed = scene.snapshot() != old;
            if is_mixed && left != Some(to) {
                moved += 1;
                assert_eq!(left, Some(HistoryState::Unfinished(attempt)), "{at:?}");
            }
            match scene.recover() {
                Recovered::RolledBack { .. } => assert_eq!(state(), Some(from), "{at:?}"),
                Recovered::Completed => assert_eq!(state(), Some(to), "{at:?}"),
                Recovered::Nothing => assert_eq!(state(), left, "{at:?}"),
            }
            assert_eq!(scene.snapshot() == old, state() == Some(from), "{at:?}");
        });
        assert!(found > moved && moved > 10, "{found} {moved}");
    }
}

/// What can't be read does not count as finished.
#[test]
fn app_26_a_journal_that_can_not_be_read_is_not_finished() {
    let (scene, _) = small(Able::All);
    scene.apply().unwrap();
    let path = scene.journal().join("journal");
    let good = std::fs::read(&path).unwrap();
    let phase = good.windows(4).position(|bytes| bytes == b"done").unwrap();
    for cut in 0..phase + "done".len() {
        std::fs::write(&path, &good[..cut]).unwrap();
        let read = history_state(&scene.journal());
        assert!(read.is_err(), "{cut}: {read:?}");
    }
    std::fs::write(&path, "lazaret-journal 2\nphase\tdone\n").unwrap();
    assert!(history_state(&scene.journal()).is_err());
    std::fs::write(&path, &good).unwrap();
    assert_eq!(
        history_state(&scene.journal()).unwrap(),
        Some(HistoryState::Applied)
    );
}

/// Giving away is for root, or for groups; it fails too.
#[test]
fn app_13_every_operation_fails_where_owners_are_kept() {
    if !super::is_root("chown") {
        return;
    }
    let foreign = || {
        let (scene, _) = small(Able::All);
        for name in ["a", "to-dir", "link"] {
            std::os::unix::fs::lchown(scene.path().join(name), Some(1234), Some(1234)).unwrap();
        }
        scene
    };
    let scene = foreign();
    let before = scene.snapshot();
    let mut hits = Hits::default();
    hits.enumerate(Fault::Fail(Errno::PERM), Able::All, |ops| {
        let scene = foreign();
        let result = scene.apply_on(Arc::clone(&ops) as _);
        let _recovered = scene.recover();
        if result.is_err() {
            assert_eq!(scene.snapshot(), before, "{:?}", ops.failed());
        }
    });
    assert!(!hits.missing().contains(&Op::Chown));
}

/// APP-12: killed in the middle, and then again and again during recovery, at
/// every operation in turn.
#[test]
fn app_12_killed_during_every_recovery() {
    for able in [
        Able::All,
        Able::NoExchange,
        Able::NoNoReplace,
        Able::NoOldDirs,
    ] {
        let (before, after, count) = expected(able);
        for n in (0..count).step_by(19) {
            let scene = scene();
            let ops = Arc::new(Faulty::new(Fault::Kill, n).able(able));
            let _killed = scene.apply_on(ops);
            for m in 0.. {
                let ops = Faulty::new(Fault::Kill, m).able(able);
                match recover_with(&ops, &scene.journal()) {
                    Ok(_) => break,
                    Err(error) => assert!(ops.count() > m, "{able:?} {n} {m}: {error}"),
                }
            }
            let tree = scene.snapshot();
            assert!(tree == before || tree == after, "{able:?} {n}");
            assert_eq!(scene.recover(), Recovered::Nothing);
        }
    }
}

/// APP-11: after a power cut any subset of the renames that were not yet synced may be
/// there. Each must be taken back; `power` has the rest.
#[test]
fn app_11_any_subset_of_independent_steps() {
    const BEFORE: &str = r#"
        f a "a"
        f b/c "c"
        l d -> a
        f e "e"
    "#;
    const AFTER: &str = r#"
        f a "changed"
        d b/
        f d "file"
        f e "e"
        f new "new"
        f b/other "o"
    "#;
    let steps = Scene::new(BEFORE, AFTER).changes.len();
    for subset in 0..1_u32 << steps {
        let scene = Scene::new(BEFORE, AFTER);
        let before = scene.snapshot();
        let transaction = scene.prepare_on(Arc::new(Faulty::none())).unwrap();
        let context = transaction.context();
        for (index, step) in transaction.journal.steps.iter().enumerate() {
            if subset & (1 << index) != 0 {
                context.execute(index, step).unwrap();
            }
        }
        std::mem::forget(transaction);
        let not_restored = Vec::new();
        assert_eq!(scene.recover(), Recovered::RolledBack { not_restored });
        assert_eq!(scene.snapshot(), before, "{subset:b}");
    }
}

/// APP-23: a journal with any byte changed is refused, and nothing is touched.
#[test]
fn app_23_damaged_journal_is_refused() {
    let scene = scene();
    let transaction = scene.prepare_on(Arc::new(Faulty::none())).unwrap();
    std::mem::forget(transaction);
    let path = scene.journal().join("journal");
    let good = std::fs::read(&path).unwrap();
    let tree = scene.snapshot();
    let mut tried = 0;
    for at in (0..good.len()).step_by(3) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        crate::recover(&scene.journal()).unwrap_err();
        std::fs::write(&path, &good[..at]).unwrap();
        crate::recover(&scene.journal()).unwrap_err();
        tried += 1;
    }
    assert!(tried > 100);
    assert_eq!(scene.snapshot(), tree);
    // The first version was a text.
    for (text, version) in [
        ("lazaret-journal 1\nphase\tdone\n", "(lazaret-journal 1)"),
        ("lazaret-journal 2\nwhatever\n", "(lazaret-journal 2)"),
        ("lzjrnl 3", "(lzjrnl 3)"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = crate::recover(&scene.journal()).unwrap_err().to_string();
        assert!(error.contains("another version"), "{error}");
        assert!(error.contains(version), "{error}");
        assert!(history_state(&scene.journal()).is_err());
    }
    std::fs::write(&path, &good).unwrap();
    assert!(matches!(scene.recover(), Recovered::RolledBack { .. }));
}

//! Crashes and failures at every operation.

use std::sync::Arc;

use rustix::io::Errno;

use super::{Able, Fault, Faulty, Scene, Snapshot, recover_with};
use crate::transaction::{ApplyError, Recovered};

/// Every kind of change at once, nested where order matters.
const BEFORE: &str = r#"
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

const AFTER: &str = r#"
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
    Scene::new(BEFORE, AFTER)
}

/// What the tree is after an undisturbed apply.
fn expected(able: Able) -> (Snapshot, Snapshot, usize) {
    let scene = scene();
    let before = scene.snapshot();
    let ops = Arc::new(Faulty::new(Fault::None, 0).able(able));
    let receipt = scene.apply_on(Arc::clone(&ops) as _).unwrap();
    assert_eq!(receipt.cleanup, None);
    assert_eq!(scene.recover(), Recovered::Nothing);
    let after = scene.snapshot();
    assert_ne!(before, after);
    (before, after, ops.count())
}

#[test]
fn applies_every_kind_of_change() {
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

/// APP-13: every error at every operation: rolled back, or done.
fn fail_everywhere(able: Able, errno: Errno, every: usize) {
    let (before, after, count) = expected(able);
    let mut done = 0;
    for n in (0..count).step_by(every) {
        let scene = scene();
        let ops = Arc::new(Faulty::new(Fault::Fail(errno), n).able(able));
        match scene.apply_on(ops) {
            Ok(receipt) => {
                done += 1;
                if receipt.cleanup.is_some() {
                    // "Nothing" when only the last sync failed.
                    let recovered = scene.recover();
                    assert!(!matches!(recovered, Recovered::RolledBack { .. }), "{n}");
                }
                assert_eq!(scene.snapshot(), after, "{n}");
            }
            Err(ApplyError::Unfinished { .. }) => {
                let recovered = scene.recover();
                assert!(matches!(recovered, Recovered::RolledBack { .. }), "{n}");
                assert_eq!(scene.snapshot(), before, "{n}");
            }
            Err(error) => {
                assert!(
                    !matches!(error, ApplyError::LeftAlone { .. }),
                    "{n} {error}"
                );
                // Aborting may have failed too, where the failure was in it.
                let _recovered = scene.recover();
                assert_eq!(scene.snapshot(), before, "{n}: {error}");
            }
        }
        assert_eq!(scene.recover(), Recovered::Nothing, "{n}");
    }
    assert!(done > 0 && done * every < count, "{done} of {count}");
}

#[test]
fn app_13_enospc_at_every_operation() {
    fail_everywhere(Able::All, Errno::NOSPC, 1);
}

#[test]
fn app_13_eio_at_every_operation() {
    fail_everywhere(Able::All, Errno::IO, 3);
}

#[test]
fn app_13_erofs_at_every_operation_without_exchange() {
    fail_everywhere(Able::NoExchange, Errno::ROFS, 4);
}

#[test]
fn app_13_emfile_at_every_operation_with_links_only() {
    fail_everywhere(Able::NoNoReplace, Errno::MFILE, 4);
}

/// APP-10: killed at every operation, then recovered: the old tree or the new one.
fn kill_everywhere(able: Able) {
    let (before, after, count) = expected(able);
    let (mut old, mut new) = (0, 0);
    for n in 0..count {
        let scene = scene();
        let ops = Arc::new(Faulty::new(Fault::Kill, n).able(able));
        let result = scene.apply_on(ops);
        let recovered = scene.recover();
        let tree = scene.snapshot();
        match recovered {
            Recovered::Completed => assert_eq!(tree, after, "{n}"),
            Recovered::RolledBack { ref left_alone } => {
                assert_eq!(*left_alone, [], "{n}");
                assert_eq!(tree, before, "{n}");
            }
            Recovered::Nothing => assert!(tree == before || tree == after, "{n}"),
        }
        if tree == before {
            assert!(result.is_err(), "{n}");
            old += 1;
        } else {
            new += 1;
        }
        assert_eq!(scene.recover(), Recovered::Nothing, "{n}");
    }
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

/// APP-25: on overlayfs a directory of a lower layer can't be renamed.
#[test]
fn app_25_killed_where_old_directories_can_not_be_renamed() {
    kill_everywhere(Able::NoOldDirs);
    fail_everywhere(Able::NoOldDirs, Errno::IO, 5);
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

/// APP-12: a recovery that fails at any operation can be repeated.
#[test]
fn app_12_failed_recovery_is_repeated() {
    let (before, after, count) = expected(Able::All);
    for n in (count / 2..count).step_by(29) {
        for m in 0.. {
            let scene = scene();
            let _killed = scene.apply_on(Arc::new(Faulty::new(Fault::Kill, n)));
            let ops = Faulty::new(Fault::Fail(Errno::IO), m);
            let failed = recover_with(&ops, &scene.journal()).is_err();
            let _recovered = scene.recover();
            let tree = scene.snapshot();
            assert!(tree == before || tree == after, "{n} {m}");
            assert_eq!(scene.recover(), Recovered::Nothing);
            if !failed && ops.count() <= m {
                break;
            }
        }
    }
}

/// APP-11, as far as it can be modelled here: after a power cut any subset of the
/// renames that were not yet synced may be there. Each must be taken back.
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
        let transaction = scene
            .prepare_on(Arc::new(Faulty::new(Fault::None, 0)))
            .unwrap();
        let ground = transaction.ground();
        for (index, step) in transaction.journal.steps.iter().enumerate() {
            if subset & (1 << index) != 0 {
                ground.execute(index, step).unwrap();
            }
        }
        std::mem::forget(transaction);
        let left_alone = Vec::new();
        assert_eq!(scene.recover(), Recovered::RolledBack { left_alone });
        assert_eq!(scene.snapshot(), before, "{subset:b}");
    }
}

/// APP-23: a journal with any byte changed is refused, and nothing is touched.
#[test]
fn app_23_damaged_journal_is_refused() {
    let scene = scene();
    let transaction = scene
        .prepare_on(Arc::new(Faulty::new(Fault::None, 0)))
        .unwrap();
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
    std::fs::write(&path, "lazaret-journal 2\nwhatever\n").unwrap();
    let error = crate::recover(&scene.journal()).unwrap_err().to_string();
    assert!(error.contains("another version"), "{error}");
    std::fs::write(&path, &good).unwrap();
    assert!(matches!(scene.recover(), Recovered::RolledBack { .. }));
}

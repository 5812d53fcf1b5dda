//! Undo and redo.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::Scene;
use crate::apply::{ApplyError, UndoError, redo, undo};

const BEFORE: &str = r#"
    f changed "old"
    x gone/tool "tool"
    f becomes-dir "f"
    l link -> changed
    d empty/
"#;

const AFTER: &str = r#"
    f changed "new"
    f becomes-dir/x "x"
    l link -> becomes-dir
    f added/deep/file "a"
"#;

fn times(scene: &Scene) -> Vec<(i64, i64)> {
    ["changed", "gone/tool", "becomes-dir", "link"]
        .iter()
        .map(|name| {
            let metadata = fs::symlink_metadata(scene.path().join(name)).unwrap();
            (metadata.mtime(), metadata.mtime_nsec())
        })
        .collect()
}

#[test]
fn app_18_undo_restores_bytes_modes_and_times() {
    let scene = Scene::new(BEFORE, AFTER);
    scene.build("m 600 changed\nm 711 gone\nm 4755 gone/tool");
    let (tree, before) = (scene.snapshot(), times(&scene));
    scene.apply().unwrap();
    assert_ne!(scene.snapshot(), tree);
    undo(&scene.journal(), &scene.workspace()).unwrap();
    assert_eq!(scene.snapshot(), tree);
    assert_eq!(times(&scene), before);
}

#[test]
fn app_18_undo_after_further_edits_is_a_conflict() {
    let scene = Scene::new(BEFORE, AFTER);
    scene.apply().unwrap();
    scene.build("f changed \"mine now\"\nf added/mine \"mine\"");
    let tree = scene.snapshot();
    let error = undo(&scene.journal(), &scene.workspace()).unwrap_err();
    let UndoError::Apply(ApplyError::Conflicts(conflicts)) = error else {
        panic!("{error}");
    };
    assert_eq!(
        super::lines(&conflicts),
        "`added` is to be removed, but holds `mine`, which the session does not know\n\
         `changed` was changed here too\n"
    );
    assert_eq!(scene.snapshot(), tree);
}

#[test]
fn app_19_undo_twice_and_undo_of_the_undo() {
    let scene = Scene::new(BEFORE, AFTER);
    let (dir, workspace) = (scene.journal(), scene.workspace());
    let before = scene.snapshot();
    let nothing = undo(&dir, &workspace).unwrap_err();
    assert!(matches!(nothing, UndoError::Nothing { .. }), "{nothing}");
    scene.apply().unwrap();
    let after = scene.snapshot();
    assert!(matches!(redo(&dir, &workspace), Err(UndoError::NotUndone)));
    for _ in 0..3 {
        undo(&dir, &workspace).unwrap();
        assert_eq!(scene.snapshot(), before);
        assert!(matches!(
            undo(&dir, &workspace),
            Err(UndoError::AlreadyUndone)
        ));
        redo(&dir, &workspace).unwrap();
        assert_eq!(scene.snapshot(), after);
    }
}

#[test]
fn app_19_undo_with_a_missing_or_damaged_blob() {
    for damage in [true, false] {
        let scene = Scene::new(BEFORE, AFTER);
        scene.apply().unwrap();
        let after = scene.snapshot();
        let kept = scene.journal().join("kept");
        for blob in fs::read_dir(kept).unwrap() {
            let blob = blob.unwrap().path();
            if damage {
                fs::write(blob, "bad").unwrap();
            } else {
                fs::remove_file(blob).unwrap();
            }
        }
        let error = undo(&scene.journal(), &scene.workspace()).unwrap_err();
        assert!(
            matches!(error, UndoError::Apply(ApplyError::Blob { .. })),
            "{error}"
        );
        assert_eq!(scene.snapshot(), after);
    }
}

//! The user's own changes, before and during an apply.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use super::{Faulty, Scene, conflicts_in};
use crate::apply::{ApplyError, Conflict, HostState, Recovered, host_states};

const BEFORE: &str = r#"
    f edited "base"
    f deleted "base"
    f removed-by-agent "base"
    f dir/inside "base"
    x tool "base"
"#;

const AFTER: &str = r#"
    f edited "agent"
    f deleted "agent"
    f created "agent"
    x tool "agent"
"#;

/// Applies after the user did `edits`; nothing may have happened.
#[track_caller]
fn check(edits: &str, conflicts: &str) {
    let scene = Scene::new(BEFORE, AFTER);
    scene.build(edits);
    let tree = scene.snapshot();
    assert_eq!(conflicts_before(&scene), conflicts);
    assert_eq!(conflicts_in(scene.apply()), conflicts);
    assert_eq!(scene.snapshot(), tree);
    assert_eq!(scene.recover(), Recovered::Nothing);
}

/// What `host_states` says of the batch, before anything is prepared.
fn conflicts_before(scene: &Scene) -> String {
    let host_states = host_states(&scene.workspace(), &scene.changes).unwrap();
    let pairs = scene.changes.iter().zip(host_states);
    let conflicts = pairs.filter_map(|(change, host_state)| match host_state {
        HostState::Conflict(kind) => Some(Conflict {
            path: change.path.clone(),
            kind,
        }),
        HostState::Expected | HostState::Already => None,
    });
    super::lines(&conflicts.collect::<Vec<_>>())
}

#[test]
fn app_06_edited_on_both_sides() {
    check(r#"f edited "user""#, "`edited` was changed here too\n");
}

#[test]
fn app_06_mode_changed_here() {
    check("m 755 edited", "`edited` was changed here too\n");
}

#[test]
fn app_06_edited_here_and_removed_by_the_agent() {
    check(
        r#"f removed-by-agent "user""#,
        "`removed-by-agent` was changed here too\n",
    );
}

#[test]
fn app_08_deleted_here() {
    check("- deleted", "`deleted` was deleted here\n");
}

#[test]
fn app_08_created_here_too() {
    check(
        r#"f created "user""#,
        "`created` was created here too, with other contents\n",
    );
}

#[test]
fn app_08_type_changed_here() {
    check(
        "- edited\nl edited -> tool\n- deleted\np deleted\n- tool\nd tool/",
        "`deleted` has become something of another type here\n\
         `edited` has become something of another type here\n\
         `tool` has become something of another type here\n",
    );
}

#[test]
fn app_16_users_file_in_a_directory_that_goes() {
    check(
        r#"f dir/notes.txt "mine""#,
        "`dir` is to be removed, but holds `notes.txt`, which the session does not know\n",
    );
}

#[test]
fn app_17_excluded_directory_is_no_deletion() {
    // The change set knows nothing of what was not sent in; a directory that
    // holds it is kept, as in APP-16.
    check(
        "f dir/target/debug/x *100",
        "`dir` is to be removed, but holds `target`, which the session does not know\n",
    );
}

#[test]
fn app_08_parent_is_gone_or_a_file() {
    for edit in ["- sub", "- sub\nf sub \"now a file\""] {
        let scene = Scene::new("f sub/a \"a\"", "f sub/a \"a\"\nf sub/b \"b\"");
        scene.build(edit);
        assert_eq!(
            conflicts_in(scene.apply()),
            "`sub/b` lies in a directory that is no longer here\n"
        );
    }
}

#[test]
fn app_09_identical_edit_is_nothing_to_do() {
    let scene = Scene::new(BEFORE, AFTER);
    scene.build(
        r#"
        f edited "agent"
        f created "agent"
        - dir
        - removed-by-agent
        "#,
    );
    let inode = fs::metadata(scene.path().join("edited")).unwrap().ino();
    let receipt = scene.apply().unwrap();
    let applied: Vec<_> = receipt.applied.iter().map(|path| path.as_str()).collect();
    assert_eq!(applied, ["deleted", "tool"]);
    assert_eq!(receipt.already, 5);
    let metadata = fs::metadata(scene.path().join("edited")).unwrap();
    assert_eq!(metadata.ino(), inode);
    insta::assert_snapshot!(scene.dump(), @r#"
    f created "agent"
    f deleted "agent"
    f edited "agent"
    x tool "agent"
    "#);
}

/// APP-07: edits that come after every check but the last two.
#[test]
fn app_07_edited_just_before_the_rename() {
    for (edit, conflict) in [
        (r#"f edited "users""#, "`edited` was changed here too"),
        ("- edited", "No such file"),
        (
            "- edited\nf edited \"base\"",
            "`edited` was changed here too",
        ),
    ] {
        let scene = Scene::new(BEFORE, AFTER);
        let path = scene.path();
        let ops = Faulty::none().with_hook("edited", move || {
            lazaret_tests::tree_text::build(edit, &path)
        });
        let error = scene.apply_on(Arc::new(ops)).unwrap_err().to_string();
        assert!(error.contains(conflict), "{error}");
        let expected = Scene::new(BEFORE, AFTER);
        expected.build(edit);
        assert_eq!(scene.dump(), expected.dump());
        assert_eq!(scene.recover(), Recovered::Nothing);
    }
}

/// APP-07: the user puts something into a directory just before it goes.
#[test]
fn app_16_filled_just_before_it_goes() {
    let scene = Scene::new(BEFORE, AFTER);
    let path = scene.path();
    let ops = Faulty::none().with_hook("dir", move || {
        lazaret_tests::tree_text::build("f dir/mine \"mine\"", &path);
    });
    let error = scene.apply_on(Arc::new(ops)).unwrap_err().to_string();
    assert!(error.contains("holds `mine`"), "{error}");
    let expected = Scene::new(BEFORE, AFTER);
    expected.build("f dir/mine \"mine\"");
    assert_eq!(scene.dump(), expected.dump());
}

/// APP-08: another process creates the file just before it is placed.
#[test]
fn app_08_created_just_before_the_rename() {
    let scene = Scene::new(BEFORE, AFTER);
    let path = scene.path();
    let ops = Faulty::none().with_hook("created", move || {
        lazaret_tests::tree_text::build("f created \"mine\"", &path);
    });
    assert_eq!(
        conflicts_in(scene.apply_on(Arc::new(ops))),
        "`created` was created here too, with other contents\n"
    );
    let expected = Scene::new(BEFORE, AFTER);
    expected.build("f created \"mine\"");
    assert_eq!(scene.dump(), expected.dump());
}

/// P5: what the user does to a file that was placed survives the rollback, and
/// so does what was there before.
#[test]
fn app_07_edited_between_placing_and_rolling_back() {
    let scene = Scene::new(BEFORE, AFTER);
    let path = scene.path();
    let ops = Faulty::none().with_hook("tool", move || {
        lazaret_tests::tree_text::build(
            r#"
            f edited "user, on top of the agent's"
            f created "user, too"
            x tool "and this is the conflict"
            "#,
            &path,
        );
    });
    let error = scene.apply_on(Arc::new(ops)).unwrap_err();
    let ApplyError::NotRestored { not_restored, .. } = error else {
        panic!("{error}");
    };
    let dump = scene.dump();
    for kept in [
        r#"f edited "user, on top of the agent's""#,
        r#"f created "user, too""#,
        r#"x tool "and this is the conflict""#,
        r#"f deleted "base""#,
        r#"f dir/inside "base""#,
    ] {
        assert!(dump.contains(kept), "{kept} in {dump}");
    }
    let saved: Vec<_> = not_restored
        .iter()
        .filter_map(|left| {
            let saved = left.saved.as_ref()?;
            let text = fs::read_to_string(scene.path().join(saved.as_str())).unwrap();
            Some((left.path.as_str(), text))
        })
        .collect();
    assert_eq!(saved, [("edited", "base".to_owned())]);
    assert_eq!(not_restored.len(), 2);
    assert_eq!(scene.recover(), Recovered::Nothing);
}

#[test]
fn app_21_rename_that_changes_case_only() {
    let scene = Scene::new(
        "f readme \"r\"\nf Dir/x \"x\"",
        "f README \"r\"\nf dir/x \"x\"",
    );
    scene.apply().unwrap();
    insta::assert_snapshot!(scene.dump(), @r#"
    f README "r"
    f dir/x "x"
    "#);
}

#[test]
fn app_24_open_file_keeps_its_contents() {
    use std::io::Read as _;
    let scene = Scene::new(BEFORE, AFTER);
    let mut open = fs::File::open(scene.path().join("edited")).unwrap();
    scene.apply().unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "base");
    let there = fs::read_to_string(scene.path().join("edited")).unwrap();
    assert_eq!(there, "agent");
}

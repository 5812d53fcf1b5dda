//! What can't be carried, or only in part: named, and nothing else held back.

use std::fs;
use std::os::unix::fs::chown;

use lazaret_protocol::StreamLimits;
use lazaret_tests::tree_text;

use crate::session::{Session, check, fast_tempdir, packed, porter, print};

#[test]
fn tar_28_tar_41_tar_42_odd_entries_are_refused_by_name_and_delete_nothing() {
    let before = r#"
        f keep "x"
        f dir/a "x"
        f dir/b "x"
        l link -> keep
    "#;
    let edits = r#"
        - keep
        p keep
        - dir
        p dir
        - link
        l link -> "\xff"
        s socket
        f "bad\xff" "x"
        f "esc\e]0;x\x07" "x"
        f "dir\n/inside" "x"
        f good "x"
    "#;
    insta::assert_snapshot!(check(before, edits), @r"
    + good
    bad\xff: the path is not UTF-8 [name.encoding]
    dir: a FIFO [type.fifo]
    dir\u{a}: the path has a control character [name.control]
    esc\u{1b}]0;x\u{7}: the path has a control character [name.control]
    keep: a FIFO [type.fifo]
    link: the link target is not UTF-8 [link.encoding]
    socket: a socket [type.socket]
    ");
}

#[test]
fn tar_30_special_modes_and_hard_links_are_noted() {
    let edits = r#"
        f suid "x"
        m 4755 suid
        d shared/
        m 2775 shared
        d tmp/
        m 1777 tmp
        f none "x"
        m 0 none
        h twin -> run.sh
    "#;
    insta::assert_snapshot!(check("x run.sh \"x\"", edits), @r"
    + none
    + shared/
    + suid
    + tmp/
    + twin
    run.sh: one of 2 names of a file; becomes a copy [link.hard]
    shared: the mode bits 2000 are dropped [mode.special]
    suid: the mode bits 4000 are dropped [mode.special]
    tmp: the mode bits 1000 are dropped [mode.special]
    twin: one of 2 names of a file; becomes a copy [link.hard]
    ");
}

/// The engine makes it as root; what the agent or `protect` has made is surveyed as ever.
#[test]
fn con_32_the_mount_point_of_extra_directories_is_no_part_of_the_workspace() {
    let workspace = tree_text::temp("f a \"x\"");
    let volume = fast_tempdir();
    let extra = volume.path().join("extra");
    fs::create_dir(&extra).expect("nothing there");
    chown(&extra, Some(0), Some(0)).expect("root");
    porter("receive", volume.path(), &packed(workspace.path()).1).ok();

    let session = Session::start(workspace.path());
    let extra = session.volume.path().join("extra");
    fs::create_dir(&extra).expect("nothing there");
    for (uid, gid, expected) in [(0, 0, ""), (1000, 1000, "+ extra/"), (0, 1000, "+ extra/")] {
        chown(&extra, Some(uid), Some(gid)).expect("root");
        assert_eq!(print(&session), expected, "{uid} {gid}");
    }
    fs::remove_dir(&extra).expect("empty");
    fs::write(&extra, b"").expect("nothing there");
    assert_eq!(print(&session), "+ extra");
}

#[test]
fn tar_40_deep_directories_are_refused_and_not_entered() {
    let workspace = tree_text::temp("f a \"x\"");
    let session = Session::start(workspace.path());
    fs::create_dir_all(session.volume.path().join("d/".repeat(70))).expect("short enough");
    let printed = print(&session);
    assert!(printed.ends_with("[path.too_deep]"), "{printed}");
    assert_eq!(printed.lines().count(), 65);
}

#[test]
fn app_17_caches_that_appear_stay_where_they_are() {
    let before = r#"
        f Cargo.toml ""
        f package.json ""
        f node_modules "a file"
        f src/target/mine "x"
    "#;
    let edits = r#"
        f target/debug/big *100000
        - node_modules
        f node_modules/a/index.js "x"
        f venv/pyvenv.cfg ""
        f cache/CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
        f cache/x "x"
        f fake/CACHEDIR.TAG "Signature: no"
        f src/target/more "x"
        f src/CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
    "#;
    insta::assert_snapshot!(check(before, edits), @r"
    + fake/
    + fake/CACHEDIR.TAG
    + src/CACHEDIR.TAG
    + src/target/more
    left out: cache
    left out: node_modules
    left out: target
    left out: venv
    ");
}

#[test]
fn tar_48_tar_49_limits_end_the_survey_early() {
    let workspace = tree_text::temp("f a \"x\"");
    let session = Session::start(workspace.path());
    let limited = |limits: StreamLimits| session.survey(limits).expect_err("over").to_string();
    let default = StreamLimits::DEFAULT;
    let huge = fs::File::create(session.volume.path().join("sparse")).expect("ours");
    huge.set_len(3 << 40).expect("a hole");
    assert_eq!(
        limited(default),
        "sparse: 3298534883328 bytes are more than 536870912"
    );
    huge.set_len(1000).expect("a hole");
    let total_bytes = 999;
    assert_eq!(
        limited(StreamLimits {
            total_bytes,
            ..default
        }),
        "more than 999 bytes in all"
    );
    let entries = 1;
    assert_eq!(
        limited(StreamLimits { entries, ..default }),
        "more than 1 entries"
    );
    let name_bytes = 6;
    let error = limited(StreamLimits {
        name_bytes,
        ..default
    });
    assert_eq!(error, "the names alone are more than 6 bytes");
}

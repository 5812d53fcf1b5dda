//! What goes in and comes out as it should.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lazaret_protocol::{StreamLimits, Survey};
use lazaret_tests::{Random, random_tree, tree_text};

use crate::session::{PROJECT, Session, check, fast_tempdir, packed, print};

#[test]
fn what_arrives_is_what_was_there() {
    let workspace = tree_text::temp(PROJECT);
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, 176_543_219);
    let file = fs::File::open(workspace.path().join("README.md")).expect("just built");
    file.set_modified(old).expect("our own");
    let session = Session::start(workspace.path());
    let config = "f .git/config \"[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\ttrustctime = false\\n\\tcheckStat = minimal\\n\\tuntrackedCache = false\\n\"";
    tree_text::build(config, workspace.path());
    assert_eq!(
        tree_text::dump(session.volume.path()),
        tree_text::dump(workspace.path())
    );
    let metadata =
        |path: &str| fs::symlink_metadata(session.volume.path().join(path)).expect("there");
    assert_eq!(metadata("README.md").mtime(), 1_600_000_000);
    assert_eq!(metadata("README.md").mtime_nsec(), 176_543_219);
    let link = |root: &Path| {
        let link = fs::symlink_metadata(root.join("src/link")).expect("there");
        link.modified().expect("on Linux")
    };
    assert_eq!(link(session.volume.path()), link(workspace.path()));
    assert_eq!(metadata("README.md").mode() & 0o7777, 0o644);
    assert_eq!(metadata("run.sh").mode() & 0o7777, 0o755);
    assert_eq!(metadata("src").mode() & 0o7777, 0o755);
}

#[test]
fn tar_52_odd_entries_that_are_untouched_are_no_change() {
    let before = r#"
        l absolute -> /etc/passwd
        l up -> ../../outside
        l loop -> loop
        f Makefile "all:\n"
        f "rlo\xe2\x80\xaex" "x"
        f A "x"
        f a "x"
        f "C:x" "x"
        f .vscode/tasks.json "{}"
    "#;
    insta::assert_snapshot!(check(before, ""), @"");
    let workspace = tree_text::temp(before);
    let session = Session::start(workspace.path());
    let survey = session.survey(StreamLimits::DEFAULT).expect("a survey");
    assert_eq!(survey, Survey::default(), "nothing is even read");
}

#[test]
fn ordinary_work_comes_out() {
    let edits = r#"
        f README.md "changed\n"
        f new/deep/file "new"
        x run.sh "exit 0\n"
        m 644 run.sh
        - src/lib.rs
        - empty
        - src/link
        l src/link -> lib.rs
        f copy "hello\n"
        f copy2 "same"
        f copy3 "same"
        f .git/objects/ef/gh "y"
        f .git/hooks/pre-commit "evil"
    "#;
    insta::assert_snapshot!(check(PROJECT, edits), @r"
    + .git/hooks/
    + .git/hooks/pre-commit
    + .git/objects/ef/
    + .git/objects/ef/gh
    ~ README.md
    + copy
    + copy2
    + copy3
    - empty
    + new/
    + new/deep/
    + new/deep/file
    x run.sh
    - src/lib.rs
    ~ src/link@
    ");
}

#[test]
fn nothing_below_git_is_fetched_and_each_content_once() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    session.edit("f .git/objects/ef/gh \"y\"\nf b \"same\"\nf c \"same\"\nf README.md \"new\"");
    let fetched = session.fetch(&session.look().wanted(&session.baseline));
    let fetched: Vec<_> = fetched.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(fetched, ["README.md", "b"]);
}

#[test]
fn a_rewrite_with_the_same_bytes_is_no_change() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    let readme = session.volume.path().join("README.md");
    let before = fs::metadata(&readme)
        .expect("there")
        .modified()
        .expect("Unix");
    fs::write(&readme, "hello\n").expect("ours");
    assert_eq!(print(&session), "");
    // The same size, and the time of before: only ctime tells.
    fs::write(&readme, "HELLO\n").expect("ours");
    let file = fs::File::options().write(true).open(&readme).expect("ours");
    file.set_modified(before).expect("ours");
    assert_eq!(print(&session), "~ README.md");
}

#[test]
fn types_change_both_ways() {
    let before = r#"
        f file "x"
        f dir/a "x"
        f dir/b/c "x"
        l link -> file
    "#;
    let edits = r#"
        - file
        f file/inside "y"
        - dir
        f dir "y"
        - link
        f link "y"
    "#;
    insta::assert_snapshot!(check(before, edits), @r"
    ! dir
    - dir/a
    - dir/b
    - dir/b/c
    ! file/
    + file/inside
    ! link
    ");
}

#[test]
fn random_trees_go_in_and_come_out() {
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let workspace = fast_tempdir();
        random_tree::grow(random, workspace.path(), 12);
        let session = Session::start(workspace.path());
        let there = tree_text::dump(workspace.path());
        assert_eq!(
            tree_text::dump(session.volume.path()),
            there,
            "seed {seed}, in"
        );
        random_tree::prune(random, session.volume.path());
        random_tree::grow(random, session.volume.path(), 6);
        let seen = session.look();
        let collection = seen.collect(&session.baseline);
        assert!(collection.refusals.is_empty(), "seed {seed}");
        // What a fresh walk of the volume finds is what survey and baseline amount to.
        let (walked, _) = packed(session.volume.path());
        let walked = walked.manifest.tree().expect("in path order");
        assert_eq!(collection.tree, walked, "seed {seed}, out");
        session.fetch(&seen.wanted(&session.baseline));
        assert_eq!(session.look_and_fetch(), seen, "seed {seed}");
    }
}

#[test]
fn twenty_thousand_files_go_in_and_the_changed_ones_come_out() {
    let workspace = fast_tempdir();
    for directory in 0..200 {
        let at = workspace.path().join(format!("d{directory}"));
        fs::create_dir(&at).expect("new");
        for file in 0..100 {
            fs::write(at.join(format!("f{file}")), format!("{directory} {file}")).expect("new");
        }
    }
    let session = Session::start(workspace.path());
    assert_eq!(session.baseline.len(), 20_200);
    session.edit("f d7/f7 \"changed\"\n- d8/f8\nf d9/new \"new\"");
    assert_eq!(print(&session), "~ d7/f7\n- d8/f8\n+ d9/new");
}

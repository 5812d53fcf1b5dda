//! What an update does, and what it leaves alone.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use lazaret_transfer::AgentChanges;
use lazaret_tree::diff;

use super::kept::{Fault, Kept, conflicts};

const PROJECT: &str = r#"
    f README.md "hello"
    x run.sh "exit 0"
    f src/main.rs *40000
    f src/lib.rs ""
    l src/link -> ../README.md
    f docs/a "a"
    f docs/deep/b "b"
    f .git/HEAD "ref: refs/heads/main"
    f .git/refs/heads/main "1111111111111111111111111111111111111111\n"
"#;

#[test]
fn host_edits_go_in_and_nothing_else_moves() {
    let mut kept = Kept::new(PROJECT);
    let inode = |kept: &Kept| fs::metadata(kept.path("src/main.rs")).expect("there").ino();
    let before = inode(&kept);
    kept.host(
        r#"
        f README.md "changed"
        m 644 run.sh
        f src/new/file *300000
        - src/lib.rs
        - src/link
        l src/link -> main.rs
        - docs
        f docs "now a file"
        f .git/refs/heads/main "2222222222222222222222222222222222222222\n"
    "#,
    );
    let plan = kept.update();
    assert_eq!(conflicts(&plan), "");
    insta::assert_snapshot!(kept.dump(), @r#"
    f .git/HEAD "ref: refs/heads/main\n"
    f .git/config "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\ttrustctime = false\n\tcheckStat = minimal\n\tuntrackedCache = false\n"
    f .git/refs/heads/main "2222222222222222222222222222222222222222\n"
    f README.md "changed"
    f docs "now a file"
    f run.sh "exit 0"
    l src/link -> main.rs
    f src/main.rs *40000
    f src/new/file *300000
    "#);
    kept.assert_known("after the update");
    let host = kept.look().tree;
    assert_eq!(kept.baseline, host);
    assert_eq!(inode(&kept), before, "what is equal is not written again");
    assert!(kept.update().request.is_empty());
}

#[test]
fn what_the_agent_changed_stays_the_agents() {
    let mut kept = Kept::new(PROJECT);
    kept.agent(
        "f README.md \"mine\"\nf docs/mine \"x\"\nf build/__pycache__/x \"y\"\n- src/lib.rs",
    );
    kept.host("f README.md \"yours\"\n- docs\nx src/main.rs \"yours\"");
    let plan = kept.update();
    assert_eq!(conflicts(&plan), "README.md");
    let stays: Vec<_> = plan.stays.iter().map(|path| path.as_str()).collect();
    assert_eq!(stays, ["docs"]);
    kept.assert_known("after the update");
    let changes = diff(&kept.baseline, &kept.known.tree());
    let changes: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(changes, ["README.md", "build", "docs/mine", "src/lib.rs"]);
    assert!(kept.path("build/__pycache__/x").exists());
    // The agent gives in, and the host's edit goes in.
    kept.agent("f README.md \"hello\"\n- docs/mine");
    kept.update();
    assert_eq!(fs::read(kept.path("README.md")).expect("there"), b"yours");
    assert!(!kept.path("docs").exists());
}

#[test]
fn a_discard_leaves_caches() {
    let mut kept = Kept::new(PROJECT);
    kept.agent("f README.md \"mine\"\nf new/x \"x\"\nf a/__pycache__/x \"y\"\n- src\np fifo");
    kept.host("f docs/a \"yours\"");
    let reset = kept.try_update(AgentChanges::Discard, Fault::None, &mut |_| {});
    reset.expect("nothing goes wrong");
    kept.assert_known("after the discard");
    let mut tree = kept.known.tree();
    tree.remove(lazaret_tree::RelPath::new("a").expect("a path"));
    let host = kept.look().tree;
    assert_eq!(tree, host);
    assert!(kept.path("a/__pycache__/x").exists() && !kept.path("fifo").exists());
}

#[test]
fn a_directory_that_is_not_empty_after_all_stays() {
    let mut kept = Kept::new(PROJECT);
    kept.host("- docs");
    let volume = kept.volume.path().to_path_buf();
    let plan = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {
        fs::write(volume.join("docs/deep/late"), "x").expect("ours");
    });
    assert!(plan.expect("no failure").stays.is_empty());
    assert!(kept.path("docs/deep/late").exists() && !kept.path("docs/a").exists());
    let docs = lazaret_tree::RelPath::new("docs/deep").expect("a path");
    assert!(kept.baseline.get(docs).is_some());
    kept.survey();
    kept.assert_known("after the next survey");
}

#[test]
fn links_are_never_followed() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    fs::write(outside.path().join("a"), "outside").expect("ours");
    fs::create_dir(outside.path().join("deep")).expect("ours");
    for (edit, reason) in [
        (
            "f docs/a \"new\"",
            "porter: update: docs/a: changed since the survey\n",
        ),
        (
            "f docs/new \"new\"",
            "porter: update: docs/new: changed since the survey\n",
        ),
        (
            "d docs/new",
            "porter: update: docs/new: changed since the survey\n",
        ),
        (
            "l docs/new -> x",
            "porter: update: docs/new: changed since the survey\n",
        ),
        (
            "- docs/a",
            "porter: update: docs/a: changed since the survey\n",
        ),
        (
            "- docs/deep",
            "porter: update: docs/deep/b: changed since the survey\n",
        ),
    ] {
        let mut kept = Kept::new(PROJECT);
        kept.host(edit);
        let volume = kept.volume.path().to_path_buf();
        let broken = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {
            fs::rename(volume.join("docs"), volume.join("aside")).expect("ours");
            std::os::unix::fs::symlink(outside.path(), volume.join("docs")).expect("ours");
        });
        assert_eq!(broken.expect_err(edit).stderr, reason);
        let names = fs::read_dir(outside.path()).expect("ours").count();
        let contents = fs::read(outside.path().join("a")).expect("there");
        assert_eq!((names, &contents[..]), (2, &b"outside"[..]), "{edit}");
    }
    // A link in place of a file is replaced, not written through.
    let mut kept = Kept::new(PROJECT);
    kept.host("f docs/a \"new\"");
    let volume = kept.volume.path().to_path_buf();
    let done = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {
        fs::remove_file(volume.join("docs/a")).expect("ours");
        std::os::unix::fs::symlink(outside.path().join("a"), volume.join("docs/a")).expect("ours");
    });
    done.expect("replaced");
    assert_eq!(fs::read(kept.path("docs/a")).expect("there"), b"new");
    assert_eq!(
        fs::read(outside.path().join("a")).expect("there"),
        b"outside"
    );
}

#[test]
fn a_directory_where_a_file_goes_is_not_buried() {
    let mut kept = Kept::new(PROJECT);
    kept.host("f README.md \"new\"");
    let volume = kept.volume.path().to_path_buf();
    let broken = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {
        fs::remove_file(volume.join("README.md")).expect("ours");
        fs::create_dir(volume.join("README.md")).expect("ours");
        fs::write(volume.join("README.md/x"), "x").expect("ours");
    });
    broken.expect_err("a directory");
    assert!(kept.path("README.md/x").exists());
}

#[test]
fn the_reserved_name_is_cleared_whatever_lies_there() {
    let mut kept = Kept::new(PROJECT);
    for text in [
        "f .lazaret-incoming \"mine\"",
        "l .lazaret-incoming -> /etc",
        "f .lazaret-incoming/1 \"mine\"\nl .lazaret-incoming/l -> /etc\np .lazaret-incoming/p",
        "f .lazaret-incoming/0/1/2/3 \"mine\"\nf .lazaret-incoming/1/1 \"mine\"\nm 0 .lazaret-incoming/0",
    ] {
        kept.agent(text);
        kept.survey();
        kept.assert_known("it is not the agent's work");
        kept.host("f README.md \"x\"");
        kept.update();
        assert!(
            fs::symlink_metadata(kept.path(".lazaret-incoming")).is_err(),
            "{text}"
        );
        kept.host("f README.md \"y\"");
    }
    // Nor does the host send it.
    kept.host("f README.md \"y\"\nf .lazaret-incoming/x 1");
    assert_eq!(kept.update().request.send.len(), 1);
    assert!(kept.update().request.is_empty());
    // Deeper than the number of descriptors that a process may have.
    let top = kept.path(".lazaret-incoming");
    fs::create_dir(&top).expect("ours");
    for _ in 0..3000 {
        let next = kept.path("next");
        fs::create_dir(&next).expect("ours");
        fs::rename(&top, next.join("d")).expect("ours");
        fs::rename(&next, &top).expect("ours");
    }
    kept.update();
    assert!(fs::symlink_metadata(&top).is_err());
}

#[test]
fn a_hard_link_of_the_agents_keeps_its_contents() {
    let mut kept = Kept::new(PROJECT);
    kept.agent("h twin -> README.md");
    kept.host("f README.md \"new\"");
    kept.update();
    assert_eq!(fs::read(kept.path("README.md")).expect("there"), b"new");
    assert_eq!(fs::read(kept.path("twin")).expect("there"), b"hello");
}

#[test]
fn modes_are_those_of_the_stream() {
    let mut kept = Kept::new(PROJECT);
    kept.agent("m 600 README.md\nm 777 docs");
    kept.host("f README.md \"new\"\nx docs/new \"x\"");
    kept.update();
    let mode = |path: &str| {
        let metadata = fs::metadata(kept.path(path)).expect("there");
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!((mode("README.md"), mode("docs/new")), (0o644, 0o755));
    assert_eq!(mode("docs"), 0o777);
}

#[test]
fn a_directory_that_became_a_cache_is_one() {
    let mut kept = Kept::new(PROJECT);
    kept.agent("f built/a \"x\"");
    kept.survey();
    kept.assert_known("a directory of the agent's");
    kept.agent("f built/CACHEDIR.TAG \"Signature: 8a477f597d28d172789f06886806bc55\\n\"");
    kept.agent("f docs/CACHEDIR.TAG \"Signature: 8a477f597d28d172789f06886806bc55\\n\"");
    kept.survey();
    let collection = kept.known.collect(&kept.baseline);
    let left_out: Vec<_> = collection.left_out.iter().map(|skip| &*skip.name).collect();
    assert_eq!(left_out, [b"built"]);
    let changes = diff(&kept.baseline, &collection.tree);
    let changes: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    // What was sent in stays what it was.
    assert_eq!(changes, ["docs/CACHEDIR.TAG"]);
}

//! Repositories go in as a whole, wherever their parts lie on the host.

use std::fs;
use std::path::Path;

use lazaret_tests::git_world::git;

use super::kept::{Kept, conflicts};
use crate::session::fast_tempdir;

fn commit(dir: &Path, file: &str, text: &str) {
    fs::write(dir.join(file), text).expect("ours");
    git(dir, &["add", "."]);
    git(dir, &["commit", "-q", "-m", text]);
}

fn log(dir: &Path) -> String {
    git(dir, &["log", "--format=%H %D"])
}

fn status(dir: &Path) -> String {
    git(dir, &["status", "--porcelain"])
}

/// Asserts that git says the same on both sides.
#[track_caller]
fn assert_same(kept: &Kept, inside: &str) {
    let (host, copy) = (kept.workspace.path(), kept.volume.path());
    assert_eq!(log(&copy.join(inside)), log(&host.join(inside)));
    assert_eq!(status(&copy.join(inside)), status(&host.join(inside)));
    git(&copy.join(inside), &["fsck", "--strict"]);
}

#[test]
fn a_linked_worktree_is_brought_up_to_date() {
    let main = tempfile::tempdir().expect("a temporary directory");
    git(main.path(), &["init", "-q", "-b", "main"]);
    commit(main.path(), "a", "one");
    let workspace = fast_tempdir();
    let at = workspace.path().to_str().expect("UTF-8").to_owned();
    git(main.path(), &["worktree", "add", "-q", "-b", "side", &at]);
    let mut kept = Kept::over(workspace, fast_tempdir());
    assert_same(&kept, "");

    commit(kept.workspace.path(), "b", "two");
    fs::write(kept.workspace.path().join("a"), "changed").expect("ours");
    assert_eq!(conflicts(&kept.update()), "");
    kept.assert_known("after the update");
    assert_same(&kept, "");
    assert!(kept.update().request.is_empty());

    // Both commit: the copy keeps its own, and the files are still brought up to date.
    commit(kept.volume.path(), "mine", "three");
    let mine = git(kept.volume.path(), &["rev-parse", "HEAD"]);
    commit(kept.workspace.path(), "c", "four");
    assert_eq!(conflicts(&kept.update()), ".git");
    assert_eq!(git(kept.volume.path(), &["rev-parse", "HEAD"]), mine);
    assert_eq!(fs::read(kept.path("c")).expect("there"), b"four");
}

#[test]
fn a_submodule_is_brought_up_to_date() {
    let other = tempfile::tempdir().expect("a temporary directory");
    git(other.path(), &["init", "-q", "-b", "main"]);
    commit(other.path(), "x", "one");
    let workspace = fast_tempdir();
    git(workspace.path(), &["init", "-q", "-b", "main"]);
    let from = other.path().to_str().expect("UTF-8");
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        from,
        "sub",
    ];
    git(workspace.path(), &add);
    commit(workspace.path(), "a", "one");
    let mut kept = Kept::over(workspace, fast_tempdir());
    assert_same(&kept, "");
    assert_same(&kept, "sub");

    commit(&kept.workspace.path().join("sub"), "y", "two");
    commit(kept.workspace.path(), "b", "two");
    assert_eq!(conflicts(&kept.update()), "");
    kept.assert_known("after the update");
    assert_same(&kept, "");
    assert_same(&kept, "sub");

    // A commit in the submodule alone is a move of the copy's repository.
    commit(&kept.path("sub"), "mine", "three");
    let mine = git(&kept.path("sub"), &["rev-parse", "HEAD"]);
    commit(kept.workspace.path(), "c", "four");
    assert_eq!(conflicts(&kept.update()), ".git");
    assert_eq!(git(&kept.path("sub"), &["rev-parse", "HEAD"]), mine);
}

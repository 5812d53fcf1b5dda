//! `porter empty`: a volume of any depth, whatever its modes and owners, and nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};

/// More than any process here has descriptors, and than any path has room for.
const DEPTH: usize = 30_000;

/// Empties a directory with few descriptors: those that a test inherits from who started it,
/// and a handful.
fn empty(root: &Path) -> Output {
    let porter = env!("CARGO_BIN_EXE_lazaret-porter");
    duct::cmd!(
        "prlimit",
        "--nofile=32:32",
        "--stack=65536:65536",
        porter,
        "empty",
        root
    )
    .stderr_capture()
    .unchecked()
    .run()
    .expect("`prlimit` of util-linux")
}

#[track_caller]
fn is_emptied(root: &Path) {
    let output = empty(root);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*said), (Some(0), ""));
    assert_eq!(fs::read_dir(root).expect("it is there").count(), 0);
}

/// Makes directories in one another, a file in each.
fn nest(root: &Path, depth: usize) {
    let mut dir = rustix::fs::openat(CWD, root, OFlags::DIRECTORY, Mode::empty()).expect("ours");
    for _ in 0..depth {
        rustix::fs::mkdirat(&dir, "d", Mode::RWXU).expect("there is room");
        let file = OFlags::CREATE | OFlags::WRONLY;
        drop(rustix::fs::openat(&dir, "f", file, Mode::RUSR).expect("there is room"));
        dir = rustix::fs::openat(&dir, "d", OFlags::DIRECTORY, Mode::empty()).expect("ours");
    }
}

#[test]
fn con_28_a_volume_of_any_depth_is_emptied() {
    let volume = tempfile::tempdir().expect("a temporary directory");
    nest(volume.path(), DEPTH);
    is_emptied(volume.path());
}

/// Names as the emptying gives them, files in their way, directories without any right, of
/// another owner, sticky; links that lead outside.
#[test]
fn con_28_nothing_inside_is_in_the_way_and_nothing_outside_is_touched() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    fs::write(outside.path().join("kept"), "kept").expect("ours");
    let volume = tempfile::tempdir().expect("a temporary directory");
    let root = volume.path();
    for path in ["1/1/2", "2/x", "3/3/3/3", "closed/in/side", "sticky/a/b"] {
        fs::create_dir_all(root.join(path)).expect("ours");
        fs::write(root.join(path).join("file"), "x").expect("ours");
    }
    fs::write(root.join("4"), "a file in the way").expect("ours");
    symlink(outside.path(), root.join("link")).expect("ours");
    symlink(outside.path(), root.join("1/link")).expect("ours");
    symlink("loop", root.join("loop")).expect("ours");
    let agent = (Some(Uid::from_raw(1000)), Some(Gid::from_raw(1000)));
    for path in [
        "sticky/a/b",
        "sticky/a",
        "sticky",
        "closed/in",
        "closed",
        "1",
        "",
    ] {
        let path = root.join(path);
        rustix::fs::chown(&path, agent.0, agent.1).expect("as root");
    }
    fs::set_permissions(root.join("sticky"), fs::Permissions::from_mode(0o1777)).expect("ours");
    for path in ["closed/in/side", "closed/in", "closed", ""] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o000)).expect("ours");
    }
    is_emptied(root);
    assert_eq!(
        fs::read(outside.path().join("kept")).expect("there"),
        b"kept"
    );
    assert_eq!(fs::metadata(root).expect("there").uid(), 0);
}

/// What was cut short goes on: what lies at the top then is as good as anything.
#[test]
fn con_28_an_emptying_that_was_killed_goes_on_with_the_next() {
    let volume = tempfile::tempdir().expect("a temporary directory");
    nest(volume.path(), 20_000);
    let porter = env!("CARGO_BIN_EXE_lazaret-porter");
    let running = duct::cmd!(porter, "empty", volume.path()).unchecked();
    let running = running.start().expect("it was built");
    while !volume.path().join("9").exists() && running.try_wait().is_ok_and(|ended| ended.is_none())
    {
    }
    running.kill().expect("it can be killed");
    is_emptied(volume.path());
}

#[test]
fn what_is_no_directory_is_not_emptied() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    fs::write(outside.path().join("kept"), "kept").expect("ours");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let link = dir.path().join("link");
    symlink(outside.path(), &link).expect("ours");
    let output = empty(&link);
    assert_eq!(output.status.code(), Some(125));
    assert!(outside.path().join("kept").exists());
}

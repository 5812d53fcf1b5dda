//! `porter usage`: how full a directory is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use lazaret_protocol::usage::{Amount, UsageReply};
use rustix::fs::{CWD, Mode, OFlags};

use super::session::porter_on;

/// Returns what a porter answers, and how many bytes it was asked.
fn answers(roots: &[&Path], asked: &str) -> Vec<UsageReply> {
    let said = porter_on("usage", roots, asked.as_bytes()).ok();
    let lines = String::from_utf8(said).expect("lines");
    let parse = |line| UsageReply::parse(line).expect("an answer");
    lines.lines().map(parse).collect()
}

#[track_caller]
fn walked(root: &Path) -> Amount {
    walked_all(&[root])
}

#[track_caller]
fn walked_all(roots: &[&Path]) -> Amount {
    match *answers(roots, "w") {
        [UsageReply::Used(amount)] => amount,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn con_28_each_inode_counts_once_and_with_the_blocks_that_it_has() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let root = temp.path().join("volume");
    fs::create_dir(&root).expect("it is ours");
    let empty = walked(&root);
    assert_eq!(empty.inodes, 1);

    let outside = temp.path().join("outside");
    fs::write(&outside, vec![1; 8 << 20]).expect("it is ours");
    symlink(&outside, root.join("link")).expect("it is ours");
    fs::write(root.join("file"), vec![1; 1 << 20]).expect("it is ours");
    fs::hard_link(root.join("file"), root.join("second")).expect("it is ours");
    let sparse = fs::File::create(root.join("sparse")).expect("it is ours");
    sparse.set_len(1 << 40).expect("it is sparse");
    fs::create_dir_all(root.join("a/b")).expect("it is ours");

    let Amount { bytes, inodes } = walked(&root);
    assert_eq!(inodes, 6);
    let grown = bytes - empty.bytes;
    assert!(((1 << 20)..(2 << 20)).contains(&grown), "{grown} bytes");
}

/// Deeper than any process has descriptors; the paths below are longer than any path may be.
#[test]
fn con_28_a_volume_of_any_depth_is_counted() {
    const DEPTH: u64 = 5000;
    let temp = tempfile::tempdir().expect("a temporary directory");
    nest(temp.path(), DEPTH);
    // A directory, a file and a directory beside it at each level, and the root.
    assert_eq!(walked(temp.path()).inodes, 3 * DEPTH + 1);
}

fn nest(root: &Path, depth: u64) {
    let mut dir = rustix::fs::openat(CWD, root, OFlags::DIRECTORY, Mode::empty()).expect("ours");
    for _ in 0..depth {
        for name in ["d", "e"] {
            rustix::fs::mkdirat(&dir, name, Mode::RWXU).expect("there is room");
        }
        let file = OFlags::CREATE | OFlags::WRONLY;
        drop(rustix::fs::openat(&dir, "f", file, Mode::RUSR).expect("there is room"));
        dir = rustix::fs::openat(&dir, "d", OFlags::DIRECTORY, Mode::empty()).expect("ours");
    }
}

#[test]
fn it_answers_as_often_as_it_is_asked() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let answers = answers(&[temp.path()], "fwf");
    let [
        UsageReply::Free(free),
        UsageReply::Used(_),
        UsageReply::Free(_),
    ] = *answers
    else {
        panic!("{answers:?}");
    };
    assert!(free.bytes > 0);
}

#[test]
fn con_28_volumes_are_counted_together() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let roots = ["one", "two", "three"].map(|name| temp.path().join(name));
    for (root, files) in roots.iter().zip([1, 2, 3]) {
        fs::create_dir(root).expect("it is ours");
        for file in 0..files {
            fs::write(root.join(file.to_string()), vec![1; 1 << 20]).expect("it is ours");
        }
    }
    // A name of the same file in another volume.
    fs::hard_link(roots[0].join("0"), roots[1].join("link")).expect("it is ours");
    let roots = roots.each_ref().map(|root| root.as_path());
    let all = walked_all(&roots);
    assert_eq!(all.inodes, 3 + 6);
    assert!(((6 << 20)..(7 << 20)).contains(&all.bytes), "{all:?}");
    // They share a file system, whose room counts once.
    let [UsageReply::Free(alone)] = *answers(&roots[..1], "f") else {
        panic!("no answer");
    };
    let [UsageReply::Free(together)] = *answers(&roots, "f") else {
        panic!("no answer");
    };
    assert!(
        together.bytes < alone.bytes * 3 / 2,
        "{alone:?} {together:?}"
    );
}

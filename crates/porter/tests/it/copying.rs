//! `porter copy`: files, modes, times and links, and nothing that a link leads to.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use rustix::fs::{CWD, FileType, Mode};

fn copy(from: &Path, to: &Path) -> Output {
    let porter = env!("CARGO_BIN_EXE_lazaret-porter");
    duct::cmd!(porter, "copy", from, to)
        .stderr_capture()
        .unchecked()
        .run()
        .expect("the porter starts")
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

#[test]
fn files_directories_and_links_arrive_as_they_are() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    let inside = from.path().join("registry/cache");
    fs::create_dir_all(&inside).expect("ours");
    fs::write(inside.join("a.crate"), vec![7; 300_000]).expect("ours");
    fs::write(inside.join("tool"), "#!/bin/sh\n").expect("ours");
    set_mode(&inside.join("tool"), 0o4755);
    set_mode(&inside.join("a.crate"), 0o440);
    symlink("../../outside", inside.join("link")).expect("ours");
    let pipe = inside.join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("ours");
    let times = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    let file = fs::File::open(inside.join("a.crate")).expect("ours");
    file.set_times(times).expect("ours");
    set_mode(&inside, 0o555);

    assert_eq!(
        said(&copy(from.path(), to.path())),
        (Some(0), String::new())
    );
    let inside = to.path().join("registry/cache");
    let look = |name: &str| fs::symlink_metadata(inside.join(name)).expect("it is there");
    assert_eq!(look("a.crate").len(), 300_000);
    assert_eq!(look("a.crate").mode() & 0o7777, 0o440);
    assert_eq!(look("a.crate").mtime(), 0);
    assert_eq!(look("tool").mode() & 0o7777, 0o755);
    assert_eq!(look(".").mode() & 0o7777, 0o555);
    let link = fs::read_link(inside.join("link")).expect("it is there");
    assert_eq!(link, Path::new("../../outside"));
    assert!(!inside.join("pipe").exists());
    for dir in [from.path(), to.path()] {
        set_mode(&dir.join("registry/cache"), 0o755);
    }
}

#[test]
fn what_is_there_is_not_mixed_with_a_copy() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    fs::write(to.path().join("planted"), "").expect("ours");
    let (code, text) = said(&copy(from.path(), to.path()));
    assert_ne!(code, Some(0));
    assert!(
        text.contains("the directory to copy into is not empty"),
        "{text}"
    );
}

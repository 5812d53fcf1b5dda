//! Tests that only root can carry out say so in one place.

use std::fs::{File, create_dir_all};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

/// Where tests that were not carried out are listed, in the target directory.
const LIST: &str = "report/not-run.txt";

/// Whether a test runs as root, which it needs for `what`. If not, `target/report/not-run.txt`
/// names it, and `cargo xtask check` shows that list.
pub fn is_root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        note(&format!("{}: only root may: {what}", test_name()));
    }
    is_root
}

fn test_name() -> String {
    thread::current().name().unwrap_or("a test").to_owned()
}

/// Adds one line, in one write: tests of several processes may do so at once.
fn note(line: &str) {
    let path = list();
    create_dir_all(path.with_file_name("")).expect("the target directory is ours");
    let file = File::options().append(true).create(true).open(path);
    let mut file = file.expect("the target directory is ours");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("the target directory is ours");
}

/// The binary of a test lies in `deps` of a profile's directory.
fn list() -> PathBuf {
    let binary = std::env::current_exe().expect("a test is a file");
    let target = binary.ancestors().nth(3).unwrap_or(Path::new("."));
    target.join(LIST)
}

//! The demo: a small sample project with history, and two scripted agents for it.
//!
//! Everything is built in, the history too, so that the demo needs neither git nor
//! the network on the host. `demo/make-history.sh` made `demo/dot-git`; a test
//! compares the two.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// The well-behaved agent, a POSIX shell script to be run in the project's root.
///
/// It repairs a bug, adds a feature with its test, deletes a file, and runs the checks.
pub const GOOD: &str = include_str!("../demo/good.sh");

/// The hostile agent, a POSIX shell script to be run in the project's root.
///
/// It plants what would hurt on the host, tries to get out, and says what became of
/// each attempt. Its exit code is the number of ways out that it found.
pub const HOSTILE: &str = include_str!("../demo/hostile.sh");

/// A file of the sample project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoFile {
    /// Its path in the project, with `/`.
    pub path: &'static str,
    /// Its permission bits: 0644 or 0755.
    pub mode: u32,
    /// What it holds.
    pub contents: &'static [u8],
}

/// A file of `demo/`; its place in the project follows.
macro_rules! file {
    ($source:literal, $path:literal, $mode:literal) => {
        DemoFile {
            path: $path,
            mode: $mode,
            contents: include_bytes!(concat!("../demo/", $source)),
        }
    };
}

/// One pack holds the whole history. Git finds it by its ending; the name only has
/// to be of the usual form.
const FILES: &[DemoFile] = &[
    file!("dot-git/HEAD", ".git/HEAD", 0o644),
    file!("dot-git/config", ".git/config", 0o644),
    file!("dot-git/index", ".git/index", 0o644),
    file!(
        "dot-git/history.idx",
        ".git/objects/pack/pack-6861726261757220696e2061207061636b206f66.idx",
        0o644
    ),
    file!(
        "dot-git/history.pack",
        ".git/objects/pack/pack-6861726261757220696e2061207061636b206f66.pack",
        0o644
    ),
    file!("dot-git/main", ".git/refs/heads/main", 0o644),
    file!("project/.gitignore", ".gitignore", 0o644),
    file!("project/Makefile", "Makefile", 0o644),
    file!("project/README.md", "README.md", 0o644),
    file!("project/bin/harbour", "bin/harbour", 0o755),
    file!("project/data/ships.csv", "data/ships.csv", 0o644),
    file!("project/docs/old-notes.md", "docs/old-notes.md", 0o644),
    file!("project/tests/count.test", "tests/count.test", 0o644),
    file!("project/tests/run.sh", "tests/run.sh", 0o755),
    file!("project/tests/total.test", "tests/total.test", 0o644),
];

/// Returns the sample project, its history included, sorted by path.
pub fn project_files() -> &'static [DemoFile] {
    FILES
}

/// The sample project could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write the sample project: {path}: {source}")]
pub struct MaterialiseError {
    /// The file or directory.
    pub path: String,
    /// The cause.
    pub source: io::Error,
}

/// Writes the sample project into `dir`, a directory that is there and empty.
///
/// # Errors
/// Names the file that could not be written. One that exists is never overwritten.
pub fn materialise(dir: &Path) -> Result<(), MaterialiseError> {
    for file in FILES {
        write(dir, file).map_err(|source| MaterialiseError {
            path: dir.join(file.path).display().to_string(),
            source,
        })?;
    }
    Ok(())
}

fn write(dir: &Path, file: &DemoFile) -> io::Result<()> {
    let path = dir.join(file.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut out = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(file.mode)
        .open(&path)?;
    out.write_all(file.contents)?;
    // Whatever the umask: the history says which files are executable.
    out.set_permissions(fs::Permissions::from_mode(file.mode))
}

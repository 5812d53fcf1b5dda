//! The genuine files of `tests/samples`, for tests and fuzz targets.
//!
//! A directory holds one lockfile, and what a test expects to be read from it; `manifests`
//! holds one file for each format. A new sample is found by its place alone.

use std::fs;
use std::path::{Path, PathBuf};

/// One genuine file.
#[derive(Debug)]
pub struct Sample {
    /// Where it lies.
    pub path: PathBuf,
    /// The name that its format is known by: the file name, in lower case.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// Returns the lockfiles, in order of their paths.
pub fn lockfiles() -> Vec<Sample> {
    let dirs = entries(&root()).into_iter();
    let dirs = dirs.filter(|dir| dir.is_dir() && !dir.ends_with("manifests"));
    dirs.flat_map(|dir| read(&dir)).collect()
}

/// Returns the manifests, in order of their paths.
pub fn manifests() -> Vec<Sample> {
    read(&root().join("manifests"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn read(dir: &Path) -> Vec<Sample> {
    let files = entries(dir).into_iter();
    let files = files.filter(|path| path.extension().is_none_or(|ending| ending != "snap"));
    files.map(sample).collect()
}

fn sample(path: PathBuf) -> Sample {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_lowercase();
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    Sample { path, name, text }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{dir:?}: {error}"));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

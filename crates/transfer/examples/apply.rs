//! Measures an apply beside a plain copy of the same files with `fsync`, in turn, on the
//! file system of a directory.
//!
//! `cargo run --release --example apply -- DIR FILES ROUNDS`; DIR must not exist.
//! The last line is JSON.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lazaret_transfer::{
    BlobStore, GitMode, Hashing, SelectionSpec, Transaction, WorkspaceDir, walk,
};
use lazaret_tree::{Tree, diff};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Files of one directory.
const PER_DIRECTORY: usize = 50;
/// Bytes of one file, more or less.
const BYTES: usize = 4096;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("no directory")?);
    let files: usize = arguments.next().ok_or("no number of files")?.parse()?;
    let rounds: usize = arguments.next().ok_or("no number of rounds")?.parse()?;
    fs::create_dir(&dir)?;
    let mut ratios = Vec::new();
    // Round 0 warms up and is not counted.
    for round in 0..=rounds {
        let applied = apply(&dir.join(format!("apply-{round}")), files)?;
        let copied = copy(&dir.join(format!("copy-{round}")), files)?;
        let ratio = applied.as_secs_f64() / copied.as_secs_f64();
        println!(
            "round {round}: apply {} ms, copy with fsync {} ms, ratio {ratio:.2}",
            applied.as_millis(),
            copied.as_millis()
        );
        if round > 0 {
            ratios.push(ratio);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
    println!(
        "{{\"apply_to_copy_with_fsync\": {median:.2}, \"apply_peak_kib\": {}}}",
        peak_kib()?
    );
    fs::remove_dir_all(&dir)?;
    Ok(())
}

/// Replaces every file of a workspace by its next version.
fn apply(dir: &Path, files: usize) -> Outcome<Duration> {
    let (before, after) = (dir.join("workspace"), dir.join("after"));
    for (root, version) in [(&before, 0), (&after, 1)] {
        for number in 0..files {
            let path = place(root, number)?;
            fs::write(path, contents(number, version))?;
        }
    }
    let baseline = tree(&before)?;
    let changes = diff(&baseline, &tree(&after)?).into_vec();
    let quarantine = BlobStore::create(&dir.join("quarantine"))?;
    for number in 0..files {
        let mut bytes: &[u8] = &contents(number, 1);
        quarantine.insert(&mut bytes, u64::MAX)?;
    }
    let workspace = WorkspaceDir::open_ambient(&before)?;
    rustix::fs::sync();
    let start = Instant::now();
    let transaction =
        Transaction::prepare(&workspace, &changes, &quarantine, &dir.join("journal"))?;
    let receipt = transaction.commit()?;
    let took = start.elapsed();
    if receipt.applied.len() != files {
        return Err("not every file was applied".into());
    }
    Ok(took)
}

/// What a careful script would do: each file written anew and synced.
fn copy(dir: &Path, files: usize) -> Outcome<Duration> {
    let contents: Vec<_> = (0..files).map(|number| contents(number, 1)).collect();
    let paths = (0..files).map(|number| place(dir, number));
    let paths = paths.collect::<Outcome<Vec<_>>>()?;
    rustix::fs::sync();
    let start = Instant::now();
    for (path, contents) in paths.iter().zip(&contents) {
        let mut file = File::create(path)?;
        file.write_all(contents)?;
        file.sync_all()?;
    }
    Ok(start.elapsed())
}

fn tree(dir: &Path) -> Outcome<Tree> {
    let (git, exclude) = (GitMode::Full, Vec::new());
    let selector = SelectionSpec { git, exclude }.compile()?;
    let workspace = WorkspaceDir::open_ambient(dir)?;
    Ok(walk(&workspace, &selector, Hashing::parallel())?.tree)
}

fn place(root: &Path, number: usize) -> Outcome<PathBuf> {
    let dir = root.join(format!("module-{}", number / PER_DIRECTORY));
    fs::create_dir_all(&dir)?;
    Ok(dir.join(format!("file-{number}.rs")))
}

fn contents(number: usize, version: usize) -> Vec<u8> {
    let line = format!("// file {number}, version {version}\n");
    line.repeat(BYTES / line.len()).into_bytes()
}

/// Reads the most memory that this process ever had (proc_pid_status(5), VmHWM).
fn peak_kib() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.ok_or("no VmHWM")?.split_whitespace().next();
    Ok(words.ok_or("no VmHWM")?.parse()?)
}

//! `drive`: a corpus, and seeded changes to it, on stable Rust and nothing else.

use std::fs;
use std::io;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lazaret_tests::{Random, fnv};

use crate::Target;
use crate::mutate::mutate;

/// What a drive is asked for.
#[derive(Debug, Clone)]
pub struct Drive {
    /// How long to go on after the corpus.
    pub time: Duration,
    /// Where to start; the same seed makes the same inputs.
    pub seed: u64,
    /// Where an input goes that broke the property.
    pub artifacts: PathBuf,
}

/// What came of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driven {
    /// Inputs of the corpus, seeds included.
    pub corpus: usize,
    /// All inputs.
    pub runs: u64,
    /// An input that broke the property, and where it was put.
    pub broken: Option<PathBuf>,
}

/// Runs a target over its corpus, then over changes of it, until the time is over or
/// the property is broken.
///
/// # Errors
/// When the corpus can't be read or an artifact not be written.
pub fn drive(target: &Target, drive: &Drive) -> io::Result<Driven> {
    let corpus = corpus(target)?;
    let mut driven = Driven {
        corpus: corpus.len(),
        runs: 0,
        broken: None,
    };
    let started = Instant::now();
    let mut random = Random::new(drive.seed);
    let mut inputs = corpus.iter().cloned();
    loop {
        let input = match inputs.next() {
            Some(input) => input,
            None if started.elapsed() >= drive.time => return Ok(driven),
            None => {
                let mut input = match corpus.len() {
                    0 => Vec::new(),
                    count => corpus[random.below(count)].clone(),
                };
                mutate(&mut input, &corpus, target.dictionary, &mut random);
                input
            }
        };
        driven.runs += 1;
        if catch_unwind(|| (target.run)(&input)).is_err() {
            driven.broken = Some(keep(&drive.artifacts, target, &input)?);
            return Ok(driven);
        }
    }
}

/// Runs the target of that name.
///
/// # Panics
/// If no target has the name, or if the bytes break its property.
pub fn run(name: &str, bytes: &[u8]) {
    let target = Target::named(name).expect("a target of this name");
    (target.run)(bytes);
}

/// Runs the target of that name on each file of the command line.
///
/// # Errors
/// A file that cannot be read.
pub fn replay(name: &str) -> io::Result<()> {
    for file in std::env::args_os().skip(1) {
        run(name, &fs::read(file)?);
    }
    Ok(())
}

/// The target's seeds and the files in its folder, in order.
fn corpus(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let mut inputs = (target.seeds)();
    let mut files = Vec::new();
    match fs::read_dir(target.corpus()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => {
            for file in other? {
                files.push(file?.path());
            }
        }
    }
    files.sort();
    for file in files {
        inputs.push(fs::read(file)?);
    }
    Ok(inputs)
}

fn keep(artifacts: &Path, target: &Target, input: &[u8]) -> io::Result<PathBuf> {
    let dir = artifacts.join(target.name);
    fs::create_dir_all(&dir)?;
    let path = dir.join(format!("crash-{:016x}", fnv(input)));
    fs::write(&path, input)?;
    Ok(path)
}

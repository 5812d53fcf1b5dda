//! A tree like a source tree: many small files, a few large ones, the same on every machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

const FILES_PER_DIR: usize = 20;

#[derive(Clone, Debug)]
pub(super) struct Corpus {
    pub(super) path: PathBuf,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl Corpus {
    /// Makes the tree, or takes the one that an earlier run finished.
    pub(super) fn make(path: &Path, files: usize) -> Result<Self> {
        let done = path.with_extension("done");
        let fresh = !done.exists();
        if fresh && path.exists() {
            fs::remove_dir_all(path).with_context(|| path.display().to_string())?;
        }
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes = 0;
        for index in 0..files {
            random = next(random);
            let size = size(index, random);
            bytes += size as u64;
            if fresh {
                let folder = path.join(format!("dir{:04}", index / FILES_PER_DIR));
                fs::create_dir_all(&folder)?;
                fs::write(
                    folder.join(format!("file{index:06}.txt")),
                    content(random, size),
                )?;
            }
        }
        fs::write(&done, "")?;
        Ok(Self {
            path: path.to_owned(),
            files,
            bytes,
        })
    }
}

/// Mostly below 8 KiB, each hundredth 256 KiB.
fn size(index: usize, random: u64) -> usize {
    match index % 100 {
        99 => 256 * 1024,
        _ => (random >> 40) as usize % 8192,
    }
}

/// Words that compress about as well as text does.
fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut random = seed;
    let mut content = Vec::with_capacity(size + 8);
    while content.len() < size {
        random = next(random);
        content.extend_from_slice(format!("{:x}\n", random >> 44).as_bytes());
    }
    content.truncate(size);
    content
}

/// Knuth's MMIX generator: good enough to make files that differ.
fn next(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

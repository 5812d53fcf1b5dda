//! Trees to copy: real files of this machine, with a history of one commit.
//!
//! Made once and kept: the next run takes them as they are.

mod edits;
mod git;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::Shell;

use sources::Found;

/// The directory in each corpus that holds the files; beside it lies `.git`.
pub(super) const TREE: &str = "tree";

/// How large a corpus is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    Medium,
    Large,
}

impl Size {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// How many files, and about how many bytes of them; the history comes on top.
    fn aims(self) -> (usize, u64) {
        const MIB: u64 = 1 << 20;
        match self {
            Self::Small => (200, 4 * MIB),
            Self::Medium => (14_000, 200 * MIB),
            Self::Large => (85_000, 1200 * MIB),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Corpus {
    pub(super) path: PathBuf,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl Corpus {
    /// Makes the tree below `folder`, or takes the one that an earlier run finished.
    pub(super) fn make(sh: &Shell, folder: &Path, size: Size) -> Result<Self> {
        let path = folder.join(size.name());
        let done = folder.join(format!("{}.done", size.name()));
        if !done.exists() {
            if path.exists() {
                // Not removed: the file system would be slow for minutes.
                bail!(
                    "{} was left half-made: remove it, wait a few minutes, and try again",
                    path.display()
                );
            }
            let (files, bytes) = size.aims();
            eprintln!("making the {} corpus, once", size.name());
            let found = sources::find(sh, files, bytes)?;
            copy(&found, &path.join(TREE))?;
            git::commit(sh, &path)?;
            fs::write(&done, "").with_context(|| done.display().to_string())?;
        }
        let (mut files, mut bytes) = (0, 0);
        for file in list(&path)? {
            files += 1;
            bytes += fs::metadata(&file)?.len();
        }
        Ok(Self { path, files, bytes })
    }

    /// Returns `count` files, evenly spread, relative to the corpus.
    pub(super) fn some_files(&self, count: usize) -> Result<Vec<String>> {
        let files = list(&self.path.join(TREE))?;
        let step = (files.len() / count).max(1);
        let some = files.iter().step_by(step).take(count);
        some.map(|file| {
            let relative = file.strip_prefix(&self.path)?;
            let text = relative.to_str().context("a name that is no text")?;
            Ok(text.to_owned())
        })
        .collect()
    }
}

fn copy(found: &[Found], root: &Path) -> Result<()> {
    for file in found {
        let target = root.join(&file.name);
        let parent = target.parent().context("a name without a directory")?;
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        let bytes = fs::read(&file.source).with_context(|| file.source.display().to_string())?;
        fs::write(&target, bytes).with_context(|| target.display().to_string())?;
    }
    Ok(())
}

/// Every regular file below a directory, sorted.
fn list(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

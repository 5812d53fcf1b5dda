//! The index of the workspace's repository: which files git has a copy of (SUS-36).
//!
//! The file is read here, and no program is started: `git` may be absent, and where it is
//! there it would run what the repository configures. An index that is not understood as a
//! whole counts as none: a file that is missing from half of it would be said to be untracked.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use lazaret_transfer::{IndexKind, read_index};
use lazaret_tree::{RelPath, RelPathBuf};
use lazaret_validator::{BlobId, GitIndex};

/// The most bytes of an index.
const MOST_BYTES: u64 = 256 << 20;
/// The bytes of a SHA-1.
const BLOB_BYTES: usize = 20;

/// Reads the index of the repository that `workspace` is in; paths are relative to the
/// workspace. Returns nothing if there is none or it can't be understood.
pub fn read(workspace: &Path) -> Option<GitIndex> {
    let (root, git_dir) = repository(workspace)?;
    let prefix = workspace.strip_prefix(root).ok()?.to_str()?.to_owned();
    let mut bytes = Vec::new();
    let file = File::open(git_dir.join("index")).ok()?;
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if read as u64 > MOST_BYTES {
        return None;
    }
    let files = entries(&bytes)?.into_iter();
    let inside = files.filter_map(|(path, blob)| {
        let path = match &*prefix {
            "" => path,
            prefix => {
                let rest = path.as_str().strip_prefix(prefix)?.strip_prefix('/')?;
                rest.parse().ok()?
            }
        };
        Some((path, blob))
    });
    Some(inside.collect())
}

/// Returns the top of the work tree that a directory is in, and its repository.
fn repository(workspace: &Path) -> Option<(&Path, PathBuf)> {
    for dir in workspace.ancestors() {
        let git = dir.join(".git");
        match std::fs::metadata(&git) {
            Ok(metadata) if metadata.is_dir() => return Some((dir, git)),
            Ok(_) => {
                let text = std::fs::read_to_string(&git).ok()?;
                let path = text.strip_prefix("gitdir:")?.trim();
                return Some((dir, dir.join(path)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    None
}

/// Reads the files of an index whose objects are named by SHA-1.
fn entries(bytes: &[u8]) -> Option<Vec<(RelPathBuf, BlobId)>> {
    let files = read_index(bytes, BLOB_BYTES)?.into_iter();
    let files = files.filter(|entry| entry.kind != IndexKind::Intended);
    let files = files.filter_map(|entry| {
        let path = RelPath::from_bytes(&entry.name).ok()?;
        let blob = entry.id.as_bytes().try_into().ok()?;
        Some((path.to_owned(), BlobId::new(blob)))
    });
    Some(files.collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lazaret_tree::RelPath;
    use lazaret_validator::BlobId;

    use super::read;

    fn git(dir: &Path, arguments: &[&str]) {
        let output = duct::cmd("git", arguments)
            .dir(dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", dir)
            .stdout_capture()
            .stderr_capture()
            .unchecked()
            .run()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    #[test]
    fn sus_36_the_index_of_each_version() {
        for version in ["2", "3", "4"] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            git(&top, &["init", "-q"]);
            std::fs::create_dir_all(top.join("sub/deep")).unwrap();
            for path in [
                "a",
                "sub/deep/file-with-a-longer-name.rs",
                "sub/deep/file.rs",
                "z",
            ] {
                std::fs::write(top.join(path), path).unwrap();
            }
            git(&top, &["add", "."]);
            std::fs::write(top.join("untracked"), "x").unwrap();
            std::fs::write(top.join("sub/intended"), "x").unwrap();
            git(&top, &["add", "-N", "sub/intended"]);
            git(&top, &["update-index", "--index-version", version]);
            let index = read(&top).unwrap();
            let blob = |path: &str| index.blob(RelPath::new(path).unwrap());
            for path in [
                "a",
                "sub/deep/file-with-a-longer-name.rs",
                "sub/deep/file.rs",
                "z",
            ] {
                assert_eq!(
                    blob(path),
                    Some(BlobId::of(path.as_bytes())),
                    "{version} {path}"
                );
            }
            assert_eq!((blob("untracked"), blob("sub/intended")), (None, None));
            let below = read(&top.join("sub")).unwrap();
            assert!(below.blob(RelPath::new("deep/file.rs").unwrap()).is_some());
            assert!(below.blob(RelPath::new("a").unwrap()).is_none());
        }
        let none = tempfile::tempdir().unwrap();
        assert_eq!(read(none.path()), None);
    }

    #[test]
    fn sus_36_an_index_that_is_cut_is_none() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        std::fs::write(dir.path().join("a"), "a").unwrap();
        git(dir.path(), &["add", "."]);
        let file = dir.path().join(".git/index");
        let whole = std::fs::read(&file).unwrap();
        for length in 0..76 {
            assert!(super::entries(&whole[..length]).is_none(), "{length}");
        }
        std::fs::write(&file, b"DIRC\0\0\0\x02\xff\xff\xff\xff").unwrap();
        assert_eq!(read(dir.path()), None);
    }
}

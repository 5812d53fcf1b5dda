//! `porter spill DIRECTORY NAME`: writes what a caller does not take into a new file.
//!
//! It runs beside the command, as the command's own user: it can do nothing that the command could
//! not, and what the command puts in its way only keeps the file from being written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

/// What older files may hold together beside a new one.
const KEPT: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
enum SpillError {
    #[error("a file has a name without `/`")]
    Name,
    #[error("the directory: {0}")]
    Directory(#[source] io::Error),
    #[error("the file: {0}")]
    File(#[source] io::Error),
    #[error("stdin: {0}")]
    Stdin(#[source] io::Error),
}

/// Runs the verb. Without a byte on stdin, no file is made.
pub(crate) fn run(directory: &str, name: &str) -> ExitCode {
    crate::exit_with("spill", spill(Path::new(directory), name))
}

fn spill(directory: &Path, name: &str) -> Result<(), SpillError> {
    if name.is_empty() || name.contains('/') || matches!(name, "." | "..") {
        return Err(SpillError::Name);
    }
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(SpillError::Directory)?;
    let mut stdin = io::stdin().lock();
    let mut buffer = vec![0; 64 << 10];
    let mut file: Option<File> = None;
    loop {
        let count = match stdin.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(SpillError::Stdin(error)),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        let mut open = match file.take() {
            Some(open) => open,
            None => {
                make_room(directory).map_err(SpillError::Directory)?;
                // A name that is taken is an error, and so is a link.
                let created = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(directory.join(name));
                created.map_err(SpillError::File)?
            }
        };
        open.write_all(chunk).map_err(SpillError::File)?;
        file = Some(open);
    }
}

/// Removes the oldest files until the others hold no more than [`KEPT`].
fn make_room(directory: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_file() {
            files.push((meta.modified()?, meta.len(), entry.path()));
        }
    }
    files.sort();
    let mut held: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in files {
        if held <= KEPT {
            break;
        }
        fs::remove_file(path)?;
        held -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_make_room() {
        let dir = tempfile::tempdir().unwrap();
        for (age, name) in [(3, "1.out"), (2, "2.out"), (1, "3.out")] {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_len(30 << 20).unwrap();
            let at = SystemTime::now() - std::time::Duration::from_secs(age * 60);
            file.set_modified(at).unwrap();
        }
        make_room(dir.path()).unwrap();
        let left = |name: &str| dir.path().join(name).exists();
        assert_eq!(["1.out", "2.out", "3.out"].map(left), [false, true, true]);
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", ".", "..", "a/b", "/a"] {
            let error = spill(Path::new("/nowhere"), name).expect_err(name);
            assert!(matches!(error, SpillError::Name), "{name}");
        }
    }
}

//! A directory as a reproducible `tar.gz`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};

/// Files below `root`, relative and sorted.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(root)?.to_owned()),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes the files of `root`, below a folder `name`, to `archive`. `mtime` is in seconds
/// since 1970. The program is the one file that may be executed.
pub(super) fn write(root: &Path, name: &str, mtime: u64, archive: &Path) -> Result<()> {
    let file = File::create(archive).with_context(|| archive.display().to_string())?;
    // gzip's own header would hold the time of now.
    let gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for path in files(root)? {
        let bytes = fs::read(root.join(&path))?;
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(match path == Path::new("lazaret") {
            true => 0o755,
            false => 0o644,
        });
        header.set_mtime(mtime);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, Path::new(name).join(&path), &bytes[..])?;
    }
    tar.into_inner()?.finish()?;
    Ok(())
}

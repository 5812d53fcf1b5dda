//! What the hooks of a repository lead to: links into the work tree, and scripts that name a
//! file of it.

use std::io;
use std::path::{Path, PathBuf};

use super::path_resolver::{PathResolver, Spot};
use super::{is_absent, read};
use lazaret_validator::Covers;

/// The most entries of one directory of hooks.
const MOST_HOOKS: usize = 1024;
/// Larger hooks are no scripts.
const MOST_BYTES: u64 = 128 << 10;

/// What one hook leads to.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) path: PathBuf,
    /// Where a link leads.
    pub(super) linked: Vec<Spot>,
    /// What its text names.
    pub(super) named: Vec<Spot>,
}

/// Looks at the hooks in a directory of this machine, which need not be there.
///
/// # Errors
/// When it can't be read, or holds too many.
pub(super) fn hooks(
    dir: &Path,
    resolver: &PathResolver,
    bases: &[PathBuf],
) -> io::Result<Vec<Hook>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for (index, entry) in entries.enumerate() {
        if index >= MOST_HOOKS {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let entry = entry?;
        let path = entry.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "sample")
        {
            continue;
        }
        let mut linked = Vec::new();
        if entry.file_type()?.is_symlink() {
            resolver.add(&path, Covers::Below, &mut linked);
            let own = resolver.place(&path);
            linked.retain(|spot: &Spot| own.as_ref() != Some(&spot.place));
        }
        let named = match read(&path, MOST_BYTES) {
            Ok(text) if text.starts_with(b"#!") => named(&text, resolver, bases),
            _ => Vec::new(),
        };
        if !linked.is_empty() || !named.is_empty() {
            found.push(Hook {
                path,
                linked,
                named,
            });
        }
    }
    Ok(found)
}

/// The files that a script names by a path, not by a bare word.
fn named(script: &[u8], resolver: &PathResolver, bases: &[PathBuf]) -> Vec<Spot> {
    let mut named = Vec::new();
    for line in script.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.starts_with(b"#") || !line.contains(&b'/') && !line.contains(&b'.') {
            continue;
        }
        let spots = resolver.command(line, bases).unwrap_or_default();
        let is_path = |spot: &Spot| {
            let place = spot.place.as_ref().map(|place| place.as_str());
            place.is_some_and(|place| place.contains('/') || place.starts_with('.'))
        };
        named.extend(spots.into_iter().filter(is_path).map(|spot| Spot {
            covers: Covers::Itself,
            ..spot
        }));
    }
    named
}

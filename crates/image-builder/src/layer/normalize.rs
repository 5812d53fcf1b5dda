//! Tidies what was installed into a layer: what no container needs, what tells
//! of the machine it was built on, and what differs between two builds goes.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write};

use crate::layer::writer::{Attributes, LayerDigest, LayerWriter};

/// Why what was installed can't be made a layer.
#[derive(Debug, thiserror::Error)]
pub enum NormalizeError {
    /// Reading or writing failed.
    #[error("tidy the layer: {0}")]
    Io(#[from] io::Error),
    /// An entry that no package manager writes.
    #[error("the layer has an entry {path:?} that can't be in an image: {reason}")]
    Entry {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

#[derive(Debug)]
enum Kind {
    Dir,
    File { offset: u64, size: u64 },
    Empty,
    Symlink { target: Vec<u8> },
    HardLink { target: Vec<u8> },
}

#[derive(Debug)]
struct Record {
    kind: Kind,
    attributes: Attributes,
}

/// What becomes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathAction {
    Keep,
    Truncate,
    Drop,
}

/// Reads the tar of a bootstrapped system and writes it as a layer: sorted, times
/// clamped, no set-id bit, no capability, no device.
///
/// # Errors
/// When reading or writing fails, or the tar is not that of a system.
pub(crate) fn normalize<W: Write>(
    system: &mut File,
    layer: W,
) -> Result<(W, LayerDigest), NormalizeError> {
    let records = read_records(system, fate)?;
    write(system, records, layer)
}

fn write<W: Write>(
    system: &mut File,
    records: BTreeMap<Vec<u8>, Record>,
    layer: W,
) -> Result<(W, LayerDigest), NormalizeError> {
    let mut out = LayerWriter::new(layer);
    // The first of several names, in order, becomes the file and the others links to it.
    let mut written: HashMap<&[u8], &[u8]> = HashMap::new();
    for (path, record) in &records {
        let Record { kind, attributes } = record;
        match kind {
            Kind::Dir => out.dir(path, *attributes)?,
            Kind::Empty => out.file(path, *attributes, 0, io::empty())?,
            Kind::Symlink { target } => out.symlink(path, target, *attributes)?,
            Kind::File { .. } | Kind::HardLink { .. } => {
                let original: &[u8] = match kind {
                    Kind::HardLink { target } => target,
                    _ => path,
                };
                if let Some(first) = written.get(original) {
                    out.hard_link(path, first, *attributes)?;
                    continue;
                }
                let Some(Record {
                    kind: Kind::File { offset, size },
                    attributes,
                }) = records.get(original)
                else {
                    return Err(entry_error(path, "a hard link to nothing"));
                };
                system.seek(SeekFrom::Start(*offset))?;
                let mut contents = BufReader::new(&mut *system).take(*size);
                out.file(path, *attributes, *size, &mut contents)?;
                if contents.limit() > 0 {
                    return Err(entry_error(path, "it ends too early"));
                }
                written.insert(original, path);
            }
        }
    }
    Ok(out.finish()?)
}

/// What the porter calls the last entry of what a step changed.
const COMPLETE: &[u8] = b"lazaret/complete";

/// What a name begins with that deletes another one in a lower layer.
const WHITEOUT: &[u8] = b".wh.";

/// Reads what an install step changed, as `porter layer` sends it, and writes it as a layer.
///
/// # Errors
/// As [`normalize`], and if the end is missing.
pub(crate) fn normalize_changes<W: Write>(
    changes: &mut File,
    layer: W,
) -> Result<(W, LayerDigest), NormalizeError> {
    let said = read_files(
        changes,
        &[std::str::from_utf8(COMPLETE).unwrap_or_default()],
    )?;
    let count = said
        .values()
        .next()
        .map(|text| String::from_utf8_lossy(text).into_owned());
    changes.seek(SeekFrom::Start(0))?;
    let entries = tar::Archive::new(BufReader::new(&mut *changes))
        .entries()?
        .count();
    // The last entry counts those before it.
    if count.as_deref() != Some(entries.saturating_sub(1).to_string().as_str()) {
        return Err(entry_error(COMPLETE, "the changes break off before it"));
    }
    let records = read_records(changes, fate_of_change)?;
    write(changes, records, layer)
}

fn read_records(
    system: &mut File,
    fate: fn(&[u8]) -> PathAction,
) -> Result<BTreeMap<Vec<u8>, Record>, NormalizeError> {
    system.seek(SeekFrom::Start(0))?;
    let mut records = BTreeMap::new();
    let mut archive = tar::Archive::new(BufReader::new(system));
    for entry in archive.entries()? {
        let entry = entry?;
        let Some(path) = clean_path(&entry.path_bytes())? else {
            continue;
        };
        let fate = fate(&path);
        if fate == PathAction::Drop {
            continue;
        }
        let header = entry.header();
        let attributes = Attributes {
            mode: header.mode()?,
            uid: header.uid()?,
            gid: header.gid()?,
            mtime: header.mtime()?,
        };
        let link = || {
            entry
                .link_name_bytes()
                .map(|target| target.into_owned())
                .unwrap_or_default()
        };
        let kind = match header.entry_type() {
            tar::EntryType::Directory => Kind::Dir,
            _ if fate == PathAction::Truncate => Kind::Empty,
            tar::EntryType::Regular => Kind::File {
                offset: entry.raw_file_position(),
                size: entry.size(),
            },
            tar::EntryType::Symlink => Kind::Symlink { target: link() },
            tar::EntryType::Link => match clean_path(&link())? {
                Some(target) => Kind::HardLink { target },
                None => return Err(entry_error(&path, "a hard link to the root")),
            },
            _ => return Err(entry_error(&path, "neither file, directory nor link")),
        };
        if records
            .insert(path.clone(), Record { kind, attributes })
            .is_some()
        {
            return Err(entry_error(&path, "it occurs twice"));
        }
    }
    Ok(records)
}

/// Strips `./` and a final `/`; `None` for the root itself.
fn clean_path(path: &[u8]) -> Result<Option<Vec<u8>>, NormalizeError> {
    let relative = path.strip_prefix(b"./").unwrap_or(path);
    let relative = relative.strip_suffix(b"/").unwrap_or(relative);
    if relative.is_empty() || relative == b"." {
        return Ok(None);
    }
    if relative
        .split(|byte| *byte == b'/')
        .any(|part| matches!(part, b"" | b"." | b".."))
    {
        return Err(entry_error(path, "not a plain relative path"));
    }
    Ok(Some(relative.to_vec()))
}

fn entry_error(path: &[u8], reason: &'static str) -> NormalizeError {
    NormalizeError::Entry {
        path: String::from_utf8_lossy(path).into_owned(),
        reason,
    }
}

/// Says what becomes of `path`, which an install step changed.
fn fate_of_change(path: &[u8]) -> PathAction {
    /// Not the system's: ours, the agent's, and root's scratch space.
    const FOREIGN: &[&[u8]] = &[
        b"home/",
        b"lazaret/",
        b"proc/",
        b"root/",
        b"sys/",
        b"var/cache/man/",
        b"workspace/",
    ];
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    // Compiled at another time they hold other times; a read-only root has no use for them.
    if parts.contains(&b"__pycache__".as_slice()) {
        return PathAction::Drop;
    }
    if let Some(name) = parts.last_mut()
        && let Some(gone) = name.strip_prefix(WHITEOUT)
    {
        // What was never in a layer needs no deletion.
        *name = gone;
        return match fate_of_change(&parts.join(&b'/')) {
            PathAction::Drop => PathAction::Drop,
            PathAction::Keep | PathAction::Truncate => PathAction::Keep,
        };
    }
    match FOREIGN.iter().any(|dir| path.starts_with(dir)) {
        true => PathAction::Drop,
        false => fate(path),
    }
}

/// Says what becomes of `path`.
fn fate(path: &[u8]) -> PathAction {
    /// Directories that stay, but empty.
    const EMPTIED: &[&[u8]] = &[
        // The engine makes its own devices.
        b"dev/",
        b"run/",
        b"tmp/",
        b"var/tmp/",
        b"var/log/",
        // Indexes of a moment, and the names of the machine's mirrors and credentials for them.
        b"var/lib/apt/lists/",
        b"var/cache/apt/",
        b"etc/apt/sources.list.d/",
        b"etc/apt/auth.conf.d/",
        // Not needed in a container, and a quarter of the size.
        b"usr/share/man/",
        b"usr/share/info/",
        b"usr/share/locale/",
    ];
    /// Facts of the machine it was built on, and leftovers of the installation.
    const DROPPED: &[&[u8]] = &[
        b"etc/hostname",
        b"etc/hosts",
        b"etc/resolv.conf",
        b"etc/apt/sources.list",
        b"etc/apt/auth.conf",
        b"etc/.pwd.lock",
        b"etc/passwd-",
        b"etc/group-",
        b"etc/shadow-",
        b"etc/gshadow-",
        b"etc/subuid-",
        b"etc/subgid-",
        b"var/cache/ldconfig/aux-cache",
        b"var/cache/debconf/config.dat-old",
        b"var/cache/debconf/templates.dat-old",
        b"var/lib/dpkg/status-old",
        b"var/lib/dpkg/diversions-old",
        b"var/lib/dpkg/statoverride-old",
        b"var/lib/systemd/random-seed",
    ];
    if path == b"etc/machine-id" || path == b"var/lib/dbus/machine-id" {
        return PathAction::Truncate;
    }
    if DROPPED.contains(&path) || EMPTIED.iter().any(|dir| path.starts_with(dir)) {
        return PathAction::Drop;
    }
    // Documentation goes, except for the licences that must accompany the programs.
    if let Some(inside) = path.strip_prefix(b"usr/share/doc/") {
        let is_package_dir = !inside.contains(&b'/');
        if !is_package_dir && !inside.ends_with(b"/copyright") {
            return PathAction::Drop;
        }
    }
    PathAction::Keep
}

/// The largest part of a file that is read out of a layer, in bytes.
const MAX_READ: u64 = 16 << 20;

/// Reads files out of a layer by name. What is not there, or is no file, is left out.
///
/// # Errors
/// When the layer can't be read.
pub(crate) fn read_files(
    layer: &mut File,
    wanted: &[&str],
) -> io::Result<BTreeMap<String, Vec<u8>>> {
    layer.seek(SeekFrom::Start(0))?;
    let mut found = BTreeMap::new();
    let mut archive = tar::Archive::new(layer);
    for entry in archive.entries_with_seek()? {
        let mut entry = entry?;
        if entry.header().entry_type() != tar::EntryType::Regular {
            continue;
        }
        let path = entry.path_bytes();
        let path = path.strip_prefix(b"./").unwrap_or(&path);
        let Some(name) = wanted.iter().find(|name| name.as_bytes() == path) else {
            continue;
        };
        let mut contents = Vec::new();
        (&mut entry).take(MAX_READ).read_to_end(&mut contents)?;
        found.insert((*name).to_owned(), contents);
        if found.len() == wanted.len() {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;

//! Writes the difference of two snapshots as a tar.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use super::snapshot::{Fingerprint, Kind, Snapshot, full};
use super::{COMPLETE, LayerError};

/// What a name begins with that deletes another one.
const WHITEOUT: &[u8] = b".wh.";

/// Writes what differs, as far as it is in `only` (everything, when that is empty).
pub(super) fn changes(
    root: &Path,
    before: &Snapshot,
    after: &Snapshot,
    only: &[Vec<u8>],
    out: impl Write,
) -> Result<(), LayerError> {
    let mut stream = Stream {
        root,
        tar: tar::Builder::new(BufWriter::with_capacity(1 << 18, out)),
        names: HashMap::new(),
        entries: 0,
    };
    for (path, fingerprint) in &after.0 {
        let is_new = match before.0.get(path) {
            Some(before) => fingerprint.differs_from(before),
            None => true,
        };
        let wanted =
            is_wanted(path, only) || (fingerprint.kind == Kind::Dir && leads_to(path, only));
        if is_new && wanted {
            stream.entry(path, fingerprint)?;
        }
    }
    for path in before.0.keys() {
        let parent = parent(path);
        // What went with its directory needs no deletion of its own.
        let parent_stays = parent.is_empty() || after.0.get(parent).is_some_and(is_dir);
        if !after.0.contains_key(path) && parent_stays && is_wanted(path, only) {
            stream.deletion(parent, path)?;
        }
    }
    stream.finish()
}

fn is_dir(fingerprint: &Fingerprint) -> bool {
    fingerprint.kind == Kind::Dir
}

fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.get(..slash).unwrap_or_default()
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

fn is_below(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn is_wanted(path: &[u8], only: &[Vec<u8>]) -> bool {
    only.is_empty() || only.iter().any(|kept| path == kept || is_below(path, kept))
}

fn leads_to(path: &[u8], only: &[Vec<u8>]) -> bool {
    only.iter().any(|kept| is_below(kept, path))
}

struct Stream<'a, W: Write> {
    root: &'a Path,
    tar: tar::Builder<BufWriter<W>>,
    /// The first name under which a file with several names was written.
    names: HashMap<(u64, u64), Vec<u8>>,
    entries: u64,
}

impl<W: Write> Stream<'_, W> {
    fn entry(&mut self, path: &[u8], fingerprint: &Fingerprint) -> Result<(), LayerError> {
        if name(path).starts_with(WHITEOUT) {
            let path = path.to_vec();
            return Err(LayerError::Whiteout { path });
        }
        let read = |source| LayerError::Read {
            path: path.to_vec(),
            source,
        };
        let shown = Path::new(OsStr::from_bytes(path));
        self.entries += 1;
        let written = match fingerprint.kind {
            Kind::Dir => {
                let mut header = header(fingerprint, tar::EntryType::Directory);
                self.tar.append_data(&mut header, shown, io::empty())
            }
            Kind::Symlink => {
                let target = fs::read_link(full(self.root, path)).map_err(read)?;
                let target = target.into_os_string().into_vec();
                let mut header = header(fingerprint, tar::EntryType::Symlink);
                self.tar
                    .append_link(&mut header, shown, OsStr::from_bytes(&target))
            }
            // Nothing that an image could hold: the host drops it where it does not matter.
            Kind::Special => {
                let mut header = header(fingerprint, tar::EntryType::Fifo);
                self.tar.append_data(&mut header, shown, io::empty())
            }
            Kind::File => {
                if let Some(first) = fingerprint.shared.and_then(|file| self.names.get(&file)) {
                    let mut header = header(fingerprint, tar::EntryType::Link);
                    self.tar
                        .append_link(&mut header, shown, OsStr::from_bytes(first))
                } else {
                    if let Some(file) = fingerprint.shared {
                        self.names.insert(file, path.to_vec());
                    }
                    let file = File::open(full(self.root, path)).map_err(read)?;
                    let mut header = header(fingerprint, tar::EntryType::Regular);
                    header.set_size(fingerprint.size);
                    self.tar
                        .append_data(&mut header, shown, exactly(file, fingerprint.size))
                }
            }
        };
        written.map_err(LayerError::Pipe)
    }

    fn deletion(&mut self, parent: &[u8], path: &[u8]) -> Result<(), LayerError> {
        let mut whiteout = parent.to_vec();
        if !whiteout.is_empty() {
            whiteout.push(b'/');
        }
        whiteout.extend_from_slice(WHITEOUT);
        whiteout.extend_from_slice(name(path));
        self.entries += 1;
        self.empty_file(&whiteout)
    }

    fn empty_file(&mut self, path: &[u8]) -> Result<(), LayerError> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(0);
        self.tar
            .append_data(&mut header, Path::new(OsStr::from_bytes(path)), io::empty())
            .map_err(LayerError::Pipe)
    }

    fn finish(mut self) -> Result<(), LayerError> {
        let count = self.entries.to_string();
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(count.len() as u64);
        self.tar
            .append_data(&mut header, COMPLETE, count.as_bytes())
            .and_then(|()| self.tar.into_inner())
            .and_then(|mut out| out.flush())
            .map_err(LayerError::Pipe)
    }
}

fn header(fingerprint: &Fingerprint, kind: tar::EntryType) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(fingerprint.mode);
    header.set_uid(fingerprint.uid.into());
    header.set_gid(fingerprint.gid.into());
    header.set_mtime(fingerprint.mtime.try_into().unwrap_or(0));
    header.set_size(0);
    header
}

/// Gives exactly as many bytes as the header says: a file that something is still
/// writing to must not shift what comes after it.
fn exactly(file: File, size: u64) -> impl io::Read {
    struct Exactly {
        file: File,
        left: u64,
    }
    impl io::Read for Exactly {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let most = most.min(buffer.len());
            if most == 0 {
                return Ok(0);
            }
            let count = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
            if count == 0 {
                let reason = "a file became shorter while it was read";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
            }
            self.left -= count as u64;
            Ok(count)
        }
    }
    Exactly { file, left: size }
}

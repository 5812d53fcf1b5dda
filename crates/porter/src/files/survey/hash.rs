//! Hashing what changed, on every core.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_protocol::VolumeIdentity;
use lazaret_tree::{Digest, RelPathBuf};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::SurveyFailure;
use crate::files::closed;
use crate::files::root::Root;

const OWNER_READS: u32 = 0o400;
const CHUNK: usize = 64 << 10;
/// More threads gain nothing from one disk.
const MOST_THREADS: usize = 4;

/// A file to hash.
pub(super) struct Changed {
    /// Where it stands in [`Survey::found`](lazaret_protocol::Survey::found).
    pub(super) index: usize,
    pub(super) path: RelPathBuf,
    pub(super) identity: VolumeIdentity,
}

/// A file that was read.
pub(super) struct Hashed {
    pub(super) digest: Digest,
    /// Another one than before if it had to be made readable for a moment.
    pub(super) identity: VolumeIdentity,
}

/// Hashes every changed file, each thread taking the next one.
///
/// Those that their owner may not read come after the others and one by one, as they are made
/// readable for a moment: two names of one file would disturb each other.
pub(super) fn hash_all(
    root: &Root,
    changed: &[Changed],
) -> Result<Vec<(usize, Hashed)>, SurveyFailure> {
    let is_readable = |file: &&Changed| file.identity.mode & OWNER_READS != 0;
    let (readable, closed): (Vec<_>, Vec<_>) = changed.iter().partition(is_readable);
    let mut hashed = on_threads(root, &readable)?;
    let mut buffer = vec![0; CHUNK];
    for file in closed {
        hashed.push((file.index, hash(root, file, &mut buffer)?));
    }
    Ok(hashed)
}

fn on_threads(root: &Root, files: &[&Changed]) -> Result<Vec<(usize, Hashed)>, SurveyFailure> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = vec![0; CHUNK];
        let mut done = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let hashed = hash(root, file, &mut buffer);
            // The others stop at their next file.
            let hashed = hashed.inspect_err(|_| next.store(files.len(), Ordering::Relaxed))?;
            done.push((file.index, hashed));
        }
        Ok(done)
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MOST_THREADS).min(files.len());
    if threads <= 1 {
        return work();
    }
    let parts: Vec<Result<_, _>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut done = Vec::with_capacity(files.len());
    for part in parts {
        done.append(&mut part?);
    }
    Ok(done)
}

/// Opens a file that is what was listed, and returns the identity that it has then.
fn open(root: &Root, file: &Changed) -> Result<(OwnedFd, VolumeIdentity), Errno> {
    let as_listed = |stat: &Stat| match VolumeIdentity::from(stat) {
        found if found == file.identity => Ok(found),
        _ => Err(Errno::NOENT),
    };
    match root.open_file(&file.path) {
        Err(Errno::ACCESS) => closed::open(root, &file.path, file.identity),
        Err(errno) => Err(errno),
        Ok((open, stat)) => Ok((open, as_listed(&stat)?)),
    }
}

fn hash(root: &Root, file: &Changed, buffer: &mut [u8]) -> Result<Hashed, SurveyFailure> {
    let name = file.path.as_str().as_bytes();
    let changed = || SurveyFailure::changed(&file.path);
    let (open, identity) = match open(root, file) {
        Ok(opened) => opened,
        Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => return Err(changed()),
        Err(errno) => return Err(SurveyFailure::read(name, errno)),
    };
    let mut open = std::fs::File::from(open).take(file.identity.size);
    let mut hasher = blake3::Hasher::new();
    let mut size = 0;
    loop {
        match open.read(buffer) {
            Ok(0) => break,
            Ok(length) => {
                hasher.update(&buffer[..length]);
                size += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                let name = name.to_vec();
                return Err(SurveyFailure::Read { name, source });
            }
        }
    }
    let after =
        rustix::fs::fstat(open.get_ref()).map_err(|errno| SurveyFailure::read(name, errno))?;
    if size != identity.size || VolumeIdentity::from(&after) != identity {
        return Err(changed());
    }
    Ok(Hashed {
        digest: hasher.finalize().into(),
        identity,
    })
}

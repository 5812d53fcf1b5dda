//! Hashing what changed, on every core.

use std::io::{self, Read as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_transfer::{Digest, VolumeIdentity};
use rustix::io::Errno;

use super::SurveyFailure;
use super::compare::Changed;
use crate::root::Root;

const CHUNK: usize = 64 << 10;
/// More threads gain nothing from one disk.
const MOST_THREADS: usize = 4;

/// Hashes every changed file, each thread taking the next one.
pub(super) fn hash_all(
    root: &Root,
    changed: &[Changed],
) -> Result<Vec<(usize, Digest)>, SurveyFailure> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = vec![0; CHUNK];
        let mut digests = Vec::new();
        while let Some(file) = changed.get(next.fetch_add(1, Ordering::Relaxed)) {
            let digest = hash(root, file, &mut buffer);
            // The others stop at their next file.
            let digest = digest.inspect_err(|_| next.store(changed.len(), Ordering::Relaxed))?;
            digests.push((file.index, digest));
        }
        Ok(digests)
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MOST_THREADS).min(changed.len());
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
    let mut digests = Vec::with_capacity(changed.len());
    for part in parts {
        digests.append(&mut part?);
    }
    Ok(digests)
}

fn hash(root: &Root, file: &Changed, buffer: &mut [u8]) -> Result<Digest, SurveyFailure> {
    let name = file.path.as_str().as_bytes();
    let changed = || SurveyFailure::changed(&file.path);
    let (open, stat) = match root.open_file(&file.path) {
        Ok(opened) => opened,
        Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => return Err(changed()),
        Err(errno) => return Err(SurveyFailure::read(name, errno)),
    };
    if VolumeIdentity::from(&stat) != file.identity {
        return Err(changed());
    }
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
    if size != file.identity.size || VolumeIdentity::from(&after) != file.identity {
        return Err(changed());
    }
    Ok(hasher.finalize().into())
}

//! One creation at a time, on an engine that can't bear two.
//!
//! Podman without root crashed here (4.3.1) when two containers with a mapping of ids were
//! created at once: libsubid, which reads `/etc/subuid` for it, is not safe for threads. So the
//! creations of all lazarets that use one socket take turns by a lock file beside it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Between two tries.
const TICK: Duration = Duration::from_millis(10);

/// How long others may create before us; a process that takes longer hangs, and is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The right to create a container; given back when it is dropped, or with the process.
#[derive(Debug)]
pub(super) struct CreateLock {
    _lock: File,
}

impl CreateLock {
    /// Waits for the turn on the engine behind `socket`. `None` where no lock can be had: a
    /// creation that might crash the engine is better than none.
    pub(super) fn take(socket: &Path) -> Option<Self> {
        let beside = socket.parent().unwrap_or(Path::new("/"));
        let lock = open(beside).ok()?;
        let give_up = Instant::now() + PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => return Some(Self { _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < give_up => thread::sleep(TICK),
                Err(_) => return None,
            }
        }
    }
}

/// Opens the lock file for reading: several users may share an engine.
fn open(directory: &Path) -> io::Result<File> {
    let path = directory.join("lazaret-create.lock");
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    match OpenOptions::new()
        .read(true)
        .custom_flags(no_follow)
        .open(&path)
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .custom_flags(no_follow)
            .open(&path),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn one_creates_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("podman.sock");
        let (inside, most) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let lock = CreateLock::take(&socket).expect("a turn");
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(20));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lock);
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
    }
}

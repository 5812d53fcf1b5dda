//! `walk_untrusted`: reads a directory that is not trusted into its manifest.

use std::os::fd::OwnedFd;

use lazaret_protocol::{FileTime, StreamError, StreamLimits};
use lazaret_tree::{
    Digest, Entry, LinkTarget, LinkTargetError, Mode, Note, Refusal, RelPath, Tree,
};
use rustix::fs::Stat;

use super::hash_pool::{HashPool, Workers};
use super::traverse::{size, traverse};
use super::visitor::{KeyCheck, Visitor};
use super::{Hashing, WalkError};
use crate::{FileSelector, SkipReason, Skipped, WorkspaceDir};

/// A directory, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedTree {
    /// What can be carried.
    pub tree: Tree,
    /// What can't: FIFOs, sockets, devices, other file systems, odd names and targets.
    pub refusals: Vec<Refusal>,
    /// What an apply would make safe: `mode.special`.
    pub notes: Vec<Note>,
    /// What the selector leaves out.
    pub left_out: Vec<Skipped>,
}

/// Why a directory was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedWalkError {
    /// It could not be read as one consistent tree.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// It holds more than the limits allow; always one of the `limit.` codes.
    #[error(transparent)]
    Limit(StreamError),
}

/// Reads everything below `root` that `selector` takes in, by the same walk as
/// [`walk`](super::walk), and what can't be carried becomes a refusal.
///
/// `limits` hold for what `known` does not have: entries at other paths, and files of
/// another size. So a hostile directory costs no more than they say, and a large one that
/// is as it was is no attack. Nothing is read of a file before its size was counted.
///
/// # Errors
/// The first entry that can't be read or that changes while it is read, or a limit.
pub fn walk_untrusted(
    root: &WorkspaceDir,
    selector: &FileSelector,
    known: &Tree,
    limits: StreamLimits,
) -> Result<UntrustedTree, UntrustedWalkError> {
    let Hashing::Contents(threads) = Hashing::parallel() else {
        unreachable!("parallel hashing reads contents");
    };
    let pool = HashPool::default();
    std::thread::scope(|scope| {
        let mut visitor = Counted {
            tree: Tree::new(),
            notes: Vec::new(),
            known,
            limits,
            entries: 0,
            bytes: 0,
            name_bytes: 0,
            workers: pool.start(scope, threads),
        };
        let traversed = traverse(root, selector, &mut visitor);
        let Counted {
            mut tree,
            notes,
            workers,
            ..
        } = visitor;
        let files = workers.finish();
        // A limit is the cause of all that follows; a file that failed is that of the walk.
        let traversed = match traversed {
            Err(UntrustedWalkError::Limit(limit)) => return Err(UntrustedWalkError::Limit(limit)),
            other => other,
        };
        // Nothing is left out here for what it holds.
        for (path, entry) in files?.files {
            tree.insert(path, entry);
        }
        let mut untrusted = UntrustedTree {
            tree,
            refusals: Vec::new(),
            notes,
            left_out: Vec::new(),
        };
        for skip in traversed?.skipped {
            match refusal(&skip) {
                Kept::Refused(refusal) => untrusted.refusals.push(refusal),
                Kept::LeftOut => untrusted.left_out.push(skip),
                Kept::Silent => {}
            }
        }
        Ok(untrusted)
    })
}

/// What becomes of something that the walk did not take.
enum Kept {
    Refused(Refusal),
    LeftOut,
    Silent,
}

fn refusal(skip: &Skipped) -> Kept {
    let code = match skip.reason {
        SkipReason::GitPart => return Kept::Silent,
        SkipReason::Mount => "type.mount",
        SkipReason::Target(error) => link_code(error),
        SkipReason::Fifo
        | SkipReason::Socket
        | SkipReason::Device
        | SkipReason::Unknown
        | SkipReason::Name(_) => skip.reason.code(),
        SkipReason::Secret
        | SkipReason::LikelySecret
        | SkipReason::PrivateKey
        | SkipReason::Cache
        | SkipReason::LazaretIgnore
        | SkipReason::GitIgnore
        | SkipReason::Profile
        | SkipReason::Elsewhere
        | SkipReason::GitNone
        | SkipReason::GitNested
        | SkipReason::GitFile
        | SkipReason::Git(_)
        | SkipReason::GitShallow
        | SkipReason::GitPartial
        | SkipReason::Reserved => return Kept::LeftOut,
    };
    Kept::Refused(Refusal::new(
        skip.name.clone(),
        code,
        skip.reason.to_string(),
    ))
}

/// The same words as for a link that came out of a volume.
fn link_code(error: LinkTargetError) -> &'static str {
    match error {
        LinkTargetError::Empty => "link.empty",
        LinkTargetError::Nul => "link.nul",
        LinkTargetError::Encoding => "link.encoding",
        LinkTargetError::Control => "link.control",
        LinkTargetError::TooLong => "link.too_long",
    }
}

/// Counts, and hashes files on other threads.
struct Counted<'a, 'scope> {
    tree: Tree,
    notes: Vec<Note>,
    known: &'a Tree,
    limits: StreamLimits,
    entries: u64,
    bytes: u64,
    name_bytes: u64,
    workers: Workers<'scope>,
}

impl Counted<'_, '_> {
    fn charge(&mut self, bytes: usize) -> Result<(), UntrustedWalkError> {
        self.name_bytes = self.name_bytes.saturating_add(bytes as u64);
        let limit = self.limits.name_bytes;
        match self.name_bytes > limit {
            true => Err(UntrustedWalkError::Limit(StreamError::TooManyNames {
                limit,
            })),
            false => Ok(()),
        }
    }
}

impl Visitor for Counted<'_, '_> {
    type Error = UntrustedWalkError;

    /// A directory's names are all kept before the first of them is met.
    fn listed(&mut self, names: usize) -> Result<(), UntrustedWalkError> {
        let limit = self.limits.entries;
        match names as u64 > limit.saturating_add(self.known.len() as u64) {
            true => Err(UntrustedWalkError::Limit(StreamError::TooManyEntries {
                limit,
            })),
            false => Ok(()),
        }
    }

    fn meet(&mut self, path: &[u8]) -> Result<(), UntrustedWalkError> {
        if RelPath::from_bytes(path).is_ok_and(|path| self.known.get(path).is_some()) {
            return Ok(());
        }
        self.entries += 1;
        let limit = self.limits.entries;
        match self.entries > limit {
            true => Err(UntrustedWalkError::Limit(StreamError::TooManyEntries {
                limit,
            })),
            false => self.charge(path.len()),
        }
    }

    fn dir(&mut self, path: &RelPath) -> Result<(), UntrustedWalkError> {
        self.tree.insert(path.to_owned(), Entry::Dir);
        Ok(())
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        _: FileTime,
    ) -> Result<(), UntrustedWalkError> {
        self.charge(target.as_str().len())?;
        self.tree.insert(path.to_owned(), Entry::Symlink { target });
        Ok(())
    }

    #[expect(clippy::unnecessary_cast, reason = "the width differs between systems")]
    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), UntrustedWalkError> {
        let size = size(stat);
        let known = match self.known.get(path) {
            Some(Entry::File { size: known, .. }) => *known == size,
            _ => false,
        };
        if !known {
            let limit = self.limits.file_bytes;
            if size > limit {
                let name = path.as_str().as_bytes().to_vec();
                let error = StreamError::FileTooBig { name, size, limit };
                return Err(UntrustedWalkError::Limit(error));
            }
            self.bytes = self.bytes.saturating_add(size);
            let limit = self.limits.total_bytes;
            if self.bytes > limit {
                return Err(UntrustedWalkError::Limit(StreamError::TooManyBytes {
                    limit,
                }));
            }
        }
        let special = stat.st_mode as u32 & 0o7000;
        if special != 0 {
            self.notes.push(Note {
                name: path.as_str().as_bytes().to_vec(),
                code: "mode.special",
                reason: format!("has the mode bits {special:04o}, which nothing carries"),
            });
        }
        let jobs = self.workers.jobs();
        Ok(jobs.hash(path.to_owned(), file, *stat, check)?)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), UntrustedWalkError> {
        let entry = Entry::File {
            mode: Mode::Plain,
            size: contents.len() as u64,
            digest: Digest::of(contents),
        };
        self.tree.insert(path.to_owned(), entry);
        Ok(())
    }
}

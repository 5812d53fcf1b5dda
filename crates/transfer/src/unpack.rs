//! `unpack`: a stream into a tree and a quarantine.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use lazaret_protocol::{
    Member, MemberKind, MemberPath, Members, StreamError, StreamLimits, Trailer,
};
use lazaret_tree::{
    Adjustment, Digest, Entry, FindingCode, RejectedEntry, RelPathBuf, Tree, finding_code,
};

use crate::{BlobStore, BlobStoreError, InsertError};

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// With our trailer; nothing is read behind it.
    Trailer,
    /// As any other archive: zero blocks up to the end of the reader.
    Plain,
}

/// Why nothing of a stream is used.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The stream lies, or its reader failed.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The quarantine failed: the stream may be fine (FLT-07).
    #[error("the quarantine cannot be written: {0}")]
    Store(#[source] BlobStoreError),
}

impl UnpackError {
    /// Returns the stable code, such as `path.absolute`.
    pub fn code(&self) -> &'static FindingCode {
        match self {
            Self::Stream(error) => error.code(),
            Self::Store(_) => finding_code::IO_STORE,
        }
    }
}

/// What a stream held.
#[derive(Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Everything that can be carried on, parents included; its blobs are in the
    /// quarantine.
    pub tree: Tree,
    /// Everything else, in the order of the stream.
    pub refusals: Vec<RejectedEntry>,
    /// What was dropped or made safe, in the order of the stream.
    pub notes: Vec<Adjustment>,
    /// The trailer, for [`StreamEnd::Trailer`].
    pub trailer: Option<Trailer>,
}

/// Reads a whole stream: contents into `quarantine`, the rest into memory.
///
/// Nothing is resolved, nothing is created under a name of the stream. Parents that
/// have no member of their own are added to the tree in the end.
///
/// # Errors
/// The first lie, a limit, a failing reader or quarantine. What the stream brought
/// is taken back out of the quarantine.
pub fn unpack(
    reader: &mut dyn Read,
    limits: StreamLimits,
    quarantine: &BlobStore,
    ending: StreamEnd,
) -> Result<Unpacked, UnpackError> {
    let mut unpacking = Unpacking {
        quarantine,
        tree: Tree::new(),
        odd_files: BTreeMap::new(),
        refusals: Vec::new(),
        notes: Vec::new(),
    };
    let mark = quarantine.mark();
    let trailer = unpacking.read(reader, limits, ending);
    let kept = trailer.and_then(|trailer| {
        quarantine.keep().map_err(UnpackError::Store)?;
        Ok(trailer)
    });
    if kept.is_err() {
        quarantine.roll_back(mark);
    }
    let trailer = kept?;
    unpacking.add_parents();
    let Unpacking {
        tree,
        refusals,
        notes,
        ..
    } = unpacking;
    Ok(Unpacked {
        tree,
        refusals,
        notes,
        trailer,
    })
}

struct Unpacking<'a> {
    quarantine: &'a BlobStore,
    tree: Tree,
    /// Files whose names are refused: a hard link with a good name may follow.
    odd_files: BTreeMap<Vec<u8>, Entry>,
    refusals: Vec<RejectedEntry>,
    notes: Vec<Adjustment>,
}

impl Unpacking<'_> {
    fn read(
        &mut self,
        reader: &mut dyn Read,
        limits: StreamLimits,
        ending: StreamEnd,
    ) -> Result<Option<Trailer>, UnpackError> {
        let mut members = Members::new(reader, limits);
        while let Some(member) = members.next()? {
            self.take(member, &mut members)?;
        }
        match ending {
            StreamEnd::Plain => {
                members.finish_plain()?;
                Ok(None)
            }
            StreamEnd::Trailer => Ok(Some(members.finish_trailer()?)),
        }
    }

    fn take(
        &mut self,
        member: Member,
        members: &mut Members<&mut dyn Read>,
    ) -> Result<(), UnpackError> {
        let Member {
            path, kind, notes, ..
        } = member;
        self.notes.extend(notes);
        let entry = match kind {
            MemberKind::Dir => Ok(Entry::Dir),
            MemberKind::File { mode, size } => {
                let digest = self.store(members, path.as_bytes(), size)?;
                Ok(Entry::File { mode, size, digest })
            }
            MemberKind::Symlink { target } => target.map(|target| Entry::Symlink { target }),
            MemberKind::Hard { target, .. } => {
                let file = match &target {
                    MemberPath::Good(target) => self.tree.get(target),
                    MemberPath::Odd(refusal) => self.odd_files.get(&refusal.name),
                };
                let name = path.as_bytes().to_vec();
                Ok(file.cloned().ok_or(StreamError::HardForward { name })?)
            }
            MemberKind::Fifo => Err(RejectedEntry {
                name: path.as_bytes().to_vec(),
                code: finding_code::TYPE_FIFO,
                reason: "a FIFO".to_owned(),
            }),
        };
        match (path, entry) {
            (MemberPath::Good(path), Ok(entry)) => drop(self.tree.insert(path, entry)),
            (MemberPath::Good(_), Err(refusal)) => self.refusals.push(refusal),
            (MemberPath::Odd(refusal), entry) => {
                if let Ok(file @ Entry::File { .. }) = entry {
                    self.odd_files.insert(refusal.name.clone(), file);
                }
                self.refusals.push(refusal);
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        members: &mut Members<&mut dyn Read>,
        name: &[u8],
        size: u64,
    ) -> Result<Digest, UnpackError> {
        let put = self.quarantine.put(&mut members.body(), size);
        let (digest, _) = put.map_err(|error| match error {
            InsertError::Read(error) => StreamError::from(error).into(),
            InsertError::Store(error) => UnpackError::Store(error),
            InsertError::TooBig { limit } => {
                let name = name.to_vec();
                StreamError::FileTooBig { name, size, limit }.into()
            }
        })?;
        Ok(digest)
    }

    /// Adds the parents that had no member of their own.
    fn add_parents(&mut self) {
        let mut missing: BTreeSet<RelPathBuf> = BTreeSet::new();
        for (path, _) in self.tree.iter() {
            for parent in path.ancestors() {
                // What lies above is seen to by the parent itself.
                if self.tree.get(parent).is_some() || !missing.insert(parent.to_owned()) {
                    break;
                }
            }
        }
        for parent in missing {
            self.tree.insert(parent, Entry::Dir);
        }
    }
}

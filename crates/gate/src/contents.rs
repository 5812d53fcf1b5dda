//! `Contents`: all the bytes that a case is about, by digest.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::sync::Arc;

use lazaret_transfer::{BlobStore, MergeBases, WorkspaceDir};
use lazaret_tree::{Blobs, Change, Digest, Entry, RelPath, RelPathBuf, Tree};

/// Larger files are described, not compared (AUD-04), and not merged.
pub const MOST_TEXT_BYTES: u64 = 1 << 20;

/// The quarantine, what was sent in, and the workspace, in this order: what the session
/// brought never comes from a place that can change.
#[derive(Debug)]
pub struct Contents {
    quarantine: BlobStore,
    base: Option<MergeBases>,
    workspace: WorkspaceDir,
    /// Where in the workspace something with this digest was seen.
    places: HashMap<Digest, RelPathBuf>,
    /// What was applied of this batch before, in order, of paths that were edited since.
    applied: BTreeMap<RelPathBuf, Vec<Arc<Change>>>,
}

impl Contents {
    /// Puts the sources together. `changes` names the paths whose old contents may still
    /// be found in the workspace.
    pub fn new(
        quarantine: BlobStore,
        base: Option<MergeBases>,
        workspace: WorkspaceDir,
        changes: &[Arc<Change>],
        baseline: &Tree,
    ) -> Self {
        let mut places = HashMap::new();
        let mut note = |path: &RelPath| {
            if let Some(Entry::File { digest, .. }) = baseline.get(path) {
                places.insert(*digest, path.to_owned());
            }
        };
        // The attributes in the root hold for all others, and ignore files for all below them.
        let names = [".gitattributes", ".gitignore"];
        names.into_iter().flat_map(RelPath::new).for_each(&mut note);
        let mut last = None;
        for change in changes {
            note(&change.path);
            let dirs = change.path.ancestors().take_while(|dir| Some(*dir) != last);
            for file in dirs.filter_map(|dir| dir.join(".gitignore").ok()) {
                note(&file);
            }
            last = change.path.parent();
        }
        Self {
            quarantine,
            base,
            workspace,
            places,
            applied: BTreeMap::new(),
        }
    }

    /// Notes what was applied of the batch before.
    pub(super) fn note_applied(&mut self, change: Arc<Change>) {
        let path = change.path.clone();
        self.applied.entry(path).or_default().push(change);
    }

    /// Returns what was applied at a path before, oldest first.
    pub(super) fn applied(&self, path: &RelPath) -> &[Arc<Change>] {
        self.applied.get(path).map_or(&[], |applied| applied)
    }

    /// Notes that the workspace has something else at a path than what was sent in.
    pub(super) fn note(&mut self, digest: Digest, path: RelPathBuf) {
        self.places.insert(digest, path);
    }

    /// The new contents only: what a transaction writes comes from here.
    pub fn quarantine(&self) -> &BlobStore {
        &self.quarantine
    }

    /// The workspace that the case is for.
    pub fn workspace(&self) -> &WorkspaceDir {
        &self.workspace
    }

    /// Reads a whole file and checks its digest.
    ///
    /// # Errors
    /// `NotFound` if no source has it any more, `InvalidData` if it does not match its digest,
    /// `FileTooLarge` above `most` bytes.
    pub fn read(&self, digest: &Digest, most: u64) -> io::Result<Vec<u8>> {
        checked(self.open(digest)?, digest, most)
    }

    /// Reads a small text: UTF-8 without a NUL byte. `None` for anything else, also for what
    /// can't be had any more.
    pub fn text(&self, entry: &Entry) -> Option<String> {
        let Entry::File { size, digest, .. } = entry else {
            return None;
        };
        if *size > MOST_TEXT_BYTES {
            return None;
        }
        text(self.read(digest, MOST_TEXT_BYTES).ok()?)
    }
}

impl Blobs for Contents {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn Read + '_>> {
        match self.quarantine.open(digest) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        // What is damaged is as good as absent: the workspace may still have it.
        if let Some(bytes) = self
            .base
            .as_ref()
            .and_then(|base| base.read(digest).ok().flatten())
        {
            return Ok(Box::new(io::Cursor::new(bytes)));
        }
        if *digest == Digest::of(b"") {
            return Ok(Box::new(io::empty()));
        }
        let place = self.places.get(digest).ok_or(io::ErrorKind::NotFound)?;
        let file = self.workspace.open_file(place);
        Ok(Box::new(file.map_err(|error| error.source)?))
    }
}

/// A NUL byte or invalid UTF-8 makes a file binary; it is named by size and digest, and
/// never passed over in silence (AUD-05).
pub(super) fn text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Reads what has this digest and at most `most` bytes.
pub(super) fn checked(from: impl Read, digest: &Digest, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    match Digest::of(&bytes) == *digest {
        true => Ok(bytes),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it does not hold what its digest says",
        )),
    }
}

//! What of the user's history goes into a copy that keeps its own repository (GIT-28).
//!
//! Git works in a [`LinkedRepository`], with an object directory of its own that borrows the
//! user's, so nothing is written to the user's repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, PathError};

use crate::ObjectId;
use crate::git::{GitError, IsCancelled};
use crate::land::OURS;
use crate::linked::LinkedRepository;

/// How a pack is made: deltas that the user has are used again, and none is looked for.
const PACK: &[&str] = &[
    "-c",
    "pack.writeBitmaps=false",
    "-c",
    "pack.writeReverseIndex=false",
    "-c",
    "pack.compression=1",
    "pack-objects",
    "--quiet",
    "--revs",
    "--non-empty",
    "--window=0",
    "--delta-base-offset",
];

/// A pack and its index, in a directory of the launcher's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingPack {
    /// `pack-ID.pack`.
    pub pack: PathBuf,
    /// `pack-ID.idx`.
    pub index: PathBuf,
}

/// Why there is no pack.
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

impl LinkedRepository {
    /// Returns what the user's refs name, without those below `lazaret/`.
    ///
    /// # Errors
    /// Git's.
    pub fn refs_of_user(&self, is_cancelled: IsCancelled<'_>) -> Result<Vec<ObjectId>, GitError> {
        let refs = self.refs(&[], is_cancelled)?.into_iter();
        let is_ours = |name: &str| OURS.iter().any(|prefix| name.starts_with(prefix));
        Ok(refs
            .filter(|(name, _)| !is_ours(name))
            .map(|(_, id)| id)
            .collect())
    }

    /// Returns true if the history of `from` holds all commits that `tips` come to. An object
    /// that is missing is held by nothing.
    ///
    /// # Errors
    /// Git's.
    pub fn holds(
        &self,
        from: &[ObjectId],
        tips: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<bool, GitError> {
        if tips.is_empty() {
            return Ok(true);
        }
        let call = self.call(&["rev-list", "--max-count=1", "--stdin"]);
        let asked = revisions(tips, from);
        let ended = call.run(&mut asked.as_bytes(), is_cancelled)?;
        Ok(ended.is_success() && ended.stdout.is_empty())
    }

    /// Packs what `tips` reach and `known` do not, into `dir`, which is there. `None` if that is
    /// nothing. The user must have all of them.
    ///
    /// # Errors
    /// Git's, as for an object that is missing; the disk's.
    pub fn pack(
        &self,
        tips: &[ObjectId],
        known: &[ObjectId],
        dir: &Path,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Option<OutgoingPack>, OutgoingError> {
        // Git writes to its object directory while it packs.
        let own = dir.join("objects");
        for part in ["info", "pack"] {
            let path = own.join(part);
            fs::create_dir_all(&path).at(&path)?;
        }
        let alternates = own.join("info/alternates");
        let borrowed = self.dir().join("objects");
        let line = [borrowed.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(&alternates, line).at(&alternates)?;
        let call = self
            .call(PACK)
            .args([dir.join("pack").as_os_str()])
            .env("GIT_OBJECT_DIRECTORY", &own);
        let asked = revisions(tips, known);
        let packed = call.run(&mut asked.as_bytes(), is_cancelled)?;
        let id = packed.text("pack your new commits")?;
        if id.is_empty() {
            return Ok(None);
        }
        Ok(Some(OutgoingPack {
            pack: dir.join(format!("pack-{id}.pack")),
            index: dir.join(format!("pack-{id}.idx")),
        }))
    }
}

fn revisions(tips: &[ObjectId], without: &[ObjectId]) -> String {
    let tips = tips.iter().map(|tip| format!("{tip}\n"));
    let without = without.iter().map(|id| format!("^{id}\n"));
    tips.chain(without).collect()
}

/// Empties a directory of the launcher's, or makes it.
///
/// # Errors
/// The disk's.
pub fn empty_dir(dir: &Path) -> Result<(), PathError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).at(dir),
        _ => {}
    }
    fs::create_dir_all(dir).at(dir)
}

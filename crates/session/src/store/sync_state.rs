//! What is known of a session's volume, on disk: its state, and what an update or an apply
//! was about to do with it.
//!
//! `baseline` is what workspace and volume last had in common, `volume` what the volume held
//! when it was seen last, `intent` what an update that did not come to its end was to do,
//! `settled/<n>` what the gate took out of the volume with apply `n`, and `tips` what the refs
//! of the workspace named each time that it was read. Of the copy's repository, `sent` is what
//! it has of the user's history, and `own-work` what it named of its own when it was collected.

use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lazaret_protocol::{RecordError, SurveyError, write_tree};
use lazaret_transfer::{Collection, HistoryState, OwnWork, PendingUpdate, Tips, VolumeState};
use lazaret_tree::{AtPath as _, PathError, Tree};

use crate::store::SessionDir;
use crate::store::deferred_sync::DeferredSync;
use crate::store::file::{ok_if_absent, private_dir, remove_file, stream_atomically};
use crate::store::history::{HistoryError, applies};

/// Why what is known of a volume can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SyncStateError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The applies of the session can't be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A file is there and is not what it should be.
    #[error("{} is damaged", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Damage,
    },
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// It is cut short, or no list.
    #[error(transparent)]
    Framing(#[from] RecordError),
    /// It is a list of what can't be.
    #[error(transparent)]
    Contents(#[from] SurveyError),
}

/// Baseline and state of a volume, as they are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncState {
    /// What workspace and volume last had in common.
    pub baseline: Tree,
    /// What the volume held when it was seen last.
    pub volume: VolumeState,
}

impl SyncState {
    /// Reads both.
    ///
    /// # Errors
    /// When they are missing or damaged.
    pub fn read(dir: &SessionDir) -> Result<Self, SyncStateError> {
        let baseline = read_baseline(dir)?;
        let path = dir.file("volume");
        let mut file = BufReader::new(File::open(&path).at(&path)?);
        let volume =
            VolumeState::read_from(&mut file, &baseline).map_err(|error| damaged(&path, error))?;
        Ok(Self { baseline, volume })
    }

    /// Writes what is known of the volume; the baseline is as it was read.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_volume(&self, dir: &SessionDir) -> Result<(), PathError> {
        let path = dir.file("volume");
        stream_atomically(&path, |out| self.volume.write_to(out))
    }

    /// Writes both, the baseline first: of a volume that is known too little, the next survey
    /// tells more. Only a power cut finds it differently before `deferred` is synced.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn put(
        &self,
        dir: &SessionDir,
        deferred: &mut DeferredSync,
    ) -> Result<(), PathError> {
        deferred.put(&dir.file("baseline"), |out| write_tree(&self.baseline, out))?;
        deferred.put(&dir.file("volume"), |out| self.volume.write_to(out))
    }

    /// Writes the baseline.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_baseline(&self, dir: &SessionDir) -> Result<(), PathError> {
        let path = dir.file("baseline");
        stream_atomically(&path, |out| write_tree(&self.baseline, out))
    }

    /// Returns true if nothing is left to be [absorbed](Self::absorb_pending) into the baseline.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn is_absorbed(dir: &SessionDir) -> Result<bool, SyncStateError> {
        let mut waiting = vec![dir.file("intent")];
        for apply in applies(dir)? {
            if apply.state == HistoryState::Applied {
                waiting.push(settled(dir, apply.number));
            }
        }
        for path in waiting {
            if path.try_exists().at(&path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes into the baseline what an update did that did not come to its end, and what the
    /// gate has taken out since. The volume has just been surveyed.
    ///
    /// # Errors
    /// When a file can't be read, or the baseline not be written.
    pub fn absorb_pending(mut self, dir: &SessionDir) -> Result<Self, SyncStateError> {
        let intent = dir.file("intent");
        let mut folded = Vec::new();
        if let Some(read) = read_intent(&intent)? {
            self.baseline = read.fold_into_baseline(self.baseline, &self.volume);
            folded.push(intent);
        }
        for apply in applies(dir)? {
            let path = settled(dir, apply.number);
            if apply.state == HistoryState::Applied
                && let Some(read) = read_intent(&path)?
            {
                self.baseline = read.fold_into_baseline(self.baseline, &self.volume);
                folded.push(path);
            }
        }
        if !folded.is_empty() {
            self.write_baseline(dir)?;
        }
        for path in folded {
            fs::remove_file(&path).at(&path)?;
        }
        Ok(self)
    }
}

/// What was known of the volume when it was read, which is before it is needed.
#[derive(Debug)]
pub(crate) struct PrefetchedState {
    state: SyncState,
    /// Open, so that no other file gets their inodes.
    files: [(PathBuf, File); 2],
}

impl PrefetchedState {
    /// Reads both.
    ///
    /// # Errors
    /// As [`SyncState::read`].
    pub(crate) fn of(dir: &SessionDir) -> Result<Self, SyncStateError> {
        let open = |name| {
            let path = dir.file(name);
            let file = File::open(&path).at(&path)?;
            Ok::<_, SyncStateError>((path, file))
        };
        let files = [open("baseline")?, open("volume")?];
        let state = SyncState::read(dir)?;
        Ok(Self { state, files })
    }

    /// Returns it if neither file was replaced since.
    pub(crate) fn if_current(self) -> Option<SyncState> {
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        let is_same = |(path, file): &(PathBuf, File)| {
            let now = fs::metadata(path).map(identity);
            matches!((file.metadata().map(identity), now), (Ok(then), Ok(now)) if then == now)
        };
        self.files.iter().all(is_same).then_some(self.state)
    }
}

/// Reads what workspace and volume last had in common.
///
/// # Errors
/// When it is missing or damaged.
pub(crate) fn read_baseline(dir: &SessionDir) -> Result<Tree, SyncStateError> {
    read_tree(&dir.file("baseline"))
}

/// Reads what the refs of the workspace named; nothing if the file is damaged: then more counts
/// as made inside.
pub fn read_tips(dir: &SessionDir) -> Tips {
    let file = File::open(dir.file("tips")).ok();
    let read = file.and_then(|file| Tips::read_from(&mut BufReader::new(file)).ok());
    read.unwrap_or_default()
}

/// Adds what the refs of the workspace name now.
///
/// # Errors
/// The disk's.
pub(crate) fn add_tips(
    dir: &SessionDir,
    new: &Tips,
    deferred: &mut DeferredSync,
) -> Result<(), PathError> {
    let mut tips = read_tips(dir);
    match tips.extend(new) {
        true => deferred.put(&dir.file("tips"), |out| tips.write_to(out)),
        false => Ok(()),
    }
}

/// Reads the tips of the user's history that the copy's repository was sent whole; nothing if the
/// file is damaged: then all of it is sent again.
pub(crate) fn read_sent(dir: &SessionDir) -> Tips {
    let file = File::open(dir.file("sent")).ok();
    let read = file.and_then(|file| Tips::read_from(&mut BufReader::new(file)).ok());
    read.unwrap_or_default()
}

/// Writes the tips of the user's history that the copy's repository has.
///
/// # Errors
/// The disk's.
pub(crate) fn put_sent(
    dir: &SessionDir,
    sent: &Tips,
    deferred: &mut DeferredSync,
) -> Result<(), PathError> {
    deferred.put(&dir.file("sent"), |out| sent.write_to(out))
}

/// Reads what the copy's repository named of its own when it was collected; `None` if that is not
/// known.
pub(crate) fn read_own_work(dir: &SessionDir) -> Option<OwnWork> {
    let file = File::open(dir.file("own-work")).ok()?;
    OwnWork::read_from(&mut BufReader::new(file)).ok()
}

/// Writes what the copy's repository names of its own.
///
/// # Errors
/// The disk's.
pub(crate) fn write_own_work(dir: &SessionDir, own: Option<&OwnWork>) -> Result<(), PathError> {
    let path = dir.file("own-work");
    match own {
        Some(own) => stream_atomically(&path, |out| own.write_to(out)),
        None => remove_file(&path),
    }
}

/// Writes down what an update is about to do.
///
/// # Errors
/// The disk's.
pub(crate) fn put_intent(
    dir: &SessionDir,
    intent: &PendingUpdate,
    deferred: &mut DeferredSync,
) -> Result<(), PathError> {
    deferred.put(&dir.file("intent"), |out| intent.write_to(out))
}

/// The update has come to its end.
///
/// # Errors
/// The disk's.
pub fn remove_intent(dir: &SessionDir) -> Result<(), PathError> {
    remove_file(&dir.file("intent"))
}

/// Writes down what apply `number` is about to take out of the volume: workspace and volume
/// have that in common once the apply is in force, whatever it was merged with.
///
/// # Errors
/// The disk's.
pub fn write_settled(
    dir: &SessionDir,
    number: u32,
    taken: &PendingUpdate,
) -> Result<(), PathError> {
    private_dir(&dir.file("settled"))?;
    let path = settled(dir, number);
    stream_atomically(&path, |out| taken.write_to(out))
}

fn settled(dir: &SessionDir, number: u32) -> PathBuf {
    dir.file("settled").join(number.to_string())
}

fn read_intent(path: &Path) -> Result<Option<PendingUpdate>, SyncStateError> {
    let Some(file) = ok_if_absent(File::open(path)).at(path)? else {
        return Ok(None);
    };
    let read = PendingUpdate::read_from(&mut BufReader::new(file));
    Ok(Some(read.map_err(|error| damaged(path, error))?))
}

/// Reads a stored manifest.
///
/// # Errors
/// When it is missing or damaged.
pub fn read_tree(path: &Path) -> Result<Tree, SyncStateError> {
    let mut file = BufReader::new(File::open(path).at(path)?);
    lazaret_protocol::read_tree(&mut file).map_err(|error| damaged(path, error))
}

/// Reads what was collected, as it was stored.
///
/// # Errors
/// When it is missing or damaged.
pub fn read_collection(dir: &SessionDir) -> Result<(Tree, Collection), SyncStateError> {
    let SyncState { baseline, volume } = SyncState::read(dir)?;
    let collection = volume.collect(&baseline);
    Ok((baseline, collection))
}

fn damaged(path: &Path, source: impl Into<Damage>) -> SyncStateError {
    SyncStateError::Damaged {
        path: path.to_path_buf(),
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use lazaret_tree::{Entry, RelPath};

    use super::*;

    #[test]
    fn what_was_read_ahead_counts_until_either_file_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::at(root.path());
        assert!(PrefetchedState::of(&dir).is_err());
        let mut state = SyncState {
            baseline: Tree::new(),
            volume: VolumeState::default(),
        };
        state.write_baseline(&dir).unwrap();
        state.write_volume(&dir).unwrap();
        let ahead = PrefetchedState::of(&dir).unwrap();
        assert_eq!(ahead.if_current(), Some(state.clone()));

        let ahead = PrefetchedState::of(&dir).unwrap();
        state.write_volume(&dir).unwrap();
        assert_eq!(ahead.if_current(), None);

        let ahead = PrefetchedState::of(&dir).unwrap();
        let path = RelPath::new("new").unwrap().to_owned();
        state.baseline.insert(path, Entry::Dir);
        // Twice, so that a number that was free again would be taken again.
        state.write_baseline(&dir).unwrap();
        state.write_baseline(&dir).unwrap();
        assert_eq!(ahead.if_current(), None);

        let ahead = PrefetchedState::of(&dir).unwrap();
        fs::remove_file(dir.file("baseline")).unwrap();
        assert_eq!(ahead.if_current(), None);
    }
}

//! Takes a capture of a session that waits.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use lazaret_image_builder::Pinned;
use lazaret_runtime::SessionId;
use lazaret_transfer::{ObjectId, VolumeState};
use lazaret_tree::{AtPath as _, PathError, RelPathBuf, Tree};

use super::origin::{Origin, state_of};
use super::{Capture, CaptureError, pack_name};
use crate::commits::packer::{MAX_PACK_BYTES, PACK_TIMEOUT, PackRequest, pack};
use crate::context::SessionContext;
use crate::store::file::{list_dir, private_dir, random_hex, remove_dir, write_atomically};
use crate::store::moment::Moment;
use crate::store::record::{KeepVolume, Outcome, Phase, Record};
use crate::store::sync_state::SyncState;
use crate::store::unlanded::Unlanded;
use crate::store::{LockedSession, SessionDir, Store, StoreError};

/// How long the making of a capture may take: what is older is left of a launcher that was killed.
const LONGEST: Duration = Duration::from_hours(24);

/// What the next use of a session makes anew, or is of its volume, its locks or its journals.
const NOT_TAKEN: &[&str] = &[
    "apply",
    "capture.json",
    "commits.git",
    "fetched",
    "history",
    "intent",
    "linked.git",
    "lock",
    "session.json",
    "stat-cache",
    "views",
];

/// What tells of a session's files.
const OF_FILES: &[&str] = &[
    "baseline",
    "merge-bases",
    "own-work",
    "quarantine",
    "settled",
    "volume",
];

/// What a capture is made of.
#[derive(Debug)]
pub struct CaptureRequest<'a> {
    /// What was committed inside, as the session lists it.
    pub commits: &'a Unlanded,
    /// By what its commits are packed; `None` if packs of them are in the session already, or
    /// there are none.
    pub packs: Option<PackSource<'a>>,
    /// Whether its files are taken.
    pub files: &'a CapturedFiles,
}

/// By what commits are packed.
#[derive(Debug)]
pub struct PackSource<'a> {
    /// The engine that has the volume.
    pub cx: &'a SessionContext<'a>,
    /// The image that has git, `base`.
    pub image: &'a Pinned,
    /// What is packed of each repository.
    pub repositories: &'a [RepositoryPack],
}

/// The commits of one repository.
#[derive(Debug)]
pub struct RepositoryPack {
    /// The repository inside, from the workspace's root.
    pub inside: RelPathBuf,
    /// What is wanted, with all that it reaches.
    pub tips: Vec<ObjectId>,
    /// What the host has.
    pub known: Vec<ObjectId>,
}

/// What is captured of a session's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturedFiles {
    /// What was collected.
    Collected,
    /// Nothing: they could not be collected.
    Lost {
        /// Why, escaped.
        why: String,
    },
}

/// Takes a capture of what waits in a session: its files as they were collected, and its commits
/// as a pack for each repository. The session stays as it is. Nothing of it was judged, so
/// nothing of it is used but through the gate.
///
/// A capture of the same session in the same state is taken once: it then counts as taken now.
///
/// # Errors
/// When the commits can't be packed, or the disk refuses: then there is no capture.
pub fn take(
    store: &Store,
    session: &LockedSession,
    request: &CaptureRequest<'_>,
) -> Result<SessionId, CaptureError> {
    let captures = store.captures();
    private_dir(&captures)?;
    remove_unfinished(&captures)?;
    let mut record = captured(session.record(), request);
    let origin = Origin {
        session: session.record().id.to_string(),
        at: Moment::now(),
        state: Some(state_of(session.dir(), &record)?),
        lacks_files: match request.files {
            CapturedFiles::Collected => None,
            CapturedFiles::Lost { why } => Some(why.clone()),
        },
    };
    if let Some(same) = same_as(store, &origin)? {
        origin.write(same.dir.path())?;
        return Ok(same.id().clone());
    }
    let id = store.fresh_id(Path::new(session.dir().id().as_str()))?;
    let building = captures.join(format!(".new-{}", random_hex()));
    private_dir(&building)?;
    record.id = id.clone();
    let taken = fill(session, &record, &building, request).and_then(|()| {
        origin.write(&building)?;
        sync_dir(&building)?;
        let path = captures.join(id.as_str());
        fs::rename(&building, &path).at(&path)?;
        sync_dir(&captures)?;
        Ok(id)
    });
    if taken.is_err() {
        // The first error is the one to report; the next capture tries again.
        drop(fs::remove_dir_all(&building));
    }
    taken
}

/// Finds the capture that was taken of the same session in the same state. One that can't be read
/// is another one.
fn same_as(store: &Store, origin: &Origin) -> Result<Option<Capture>, CaptureError> {
    for entry in list_dir(&store.captures())? {
        let id = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let capture = id.and_then(|id: SessionId| Capture::open(store, &id).ok());
        let is_same = |capture: &Capture| {
            let at = origin.at.clone();
            Origin {
                at,
                ..capture.origin.clone()
            } == *origin
        };
        if let Some(same) = capture.filter(is_same) {
            return Ok(Some(same));
        }
    }
    Ok(None)
}

fn fill(
    session: &LockedSession,
    record: &Record,
    dir: &Path,
    request: &CaptureRequest<'_>,
) -> Result<(), CaptureError> {
    if let Some(packs) = &request.packs {
        for repository in packs.repositories {
            save_pack(session.record(), packs, repository, dir)?;
        }
    }
    take_over(session.dir(), dir, request.files)?;
    if *request.files != CapturedFiles::Collected {
        write_no_files(&SessionDir::new(record.id.clone(), dir.to_owned()))?;
    }
    let bytes = record.to_bytes().map_err(|source| StoreError::Record {
        id: record.id.clone(),
        source,
    })?;
    write_atomically(&dir.join("session.json"), &bytes)?;
    Ok(())
}

/// Returns the record of a session without a volume, in which the same waits.
fn captured(record: &Record, request: &CaptureRequest<'_>) -> Record {
    let mut captured = record.clone();
    captured.commits = request.commits.clone();
    captured.phase = Phase::Collected;
    captured.phase_before = None;
    captured.outcome = Some(Outcome::Kept);
    captured.rejection = None;
    captured.keep = KeepVolume::UntilSettled;
    captured.pool_slot = None;
    captured.undone = Vec::new();
    captured.applying = None;
    captured.surveyed = false;
    captured
}

fn save_pack(
    record: &Record,
    packs: &PackSource<'_>,
    repository: &RepositoryPack,
    dir: &Path,
) -> Result<(), CaptureError> {
    let path = dir.join(pack_name(&repository.inside));
    let request = PackRequest {
        repository: repository.inside.clone(),
        tips: repository.tips.clone(),
        known: repository.known.clone(),
        max_bytes: MAX_PACK_BYTES,
        timeout: PACK_TIMEOUT,
    };
    pack(packs.cx, record, packs.image, &request, |pack| {
        let mut file = File::create_new(&path).at(&path)?;
        // A stream that breaks is told by its own error.
        io::copy(pack, &mut file).at(&path)?;
        Ok(file.sync_all().at(&path)?)
    })
}

/// Takes over what was collected: files by a copy, what lies in directories by links, since no
/// file there is ever written to again.
fn take_over(from: &SessionDir, to: &Path, files: &CapturedFiles) -> Result<(), PathError> {
    let of_files = match files {
        CapturedFiles::Collected => &[],
        CapturedFiles::Lost { .. } => OF_FILES,
    };
    let left = NOT_TAKEN.iter().chain(of_files);
    for entry in list_dir(from.path())? {
        let name = entry.file_name();
        // A file that is about to replace another one has such a name.
        let is_staged = name.as_encoded_bytes().starts_with(b".");
        if is_staged || left.clone().any(|other| name == **other) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        match fs::symlink_metadata(&from).at(&from)?.is_dir() {
            true => link_all(&from, &to)?,
            false => {
                fs::copy(&from, &to).at(&to)?;
                File::open(&to).and_then(|file| file.sync_all()).at(&to)?;
            }
        }
    }
    Ok(())
}

/// Writes a collection in which no file changed.
fn write_no_files(dir: &SessionDir) -> Result<(), CaptureError> {
    let state = SyncState {
        baseline: Tree::new(),
        volume: VolumeState::default(),
    };
    state.write_baseline(dir)?;
    state.write_volume(dir)?;
    Ok(private_dir(&dir.file("quarantine"))?)
}

fn link_all(from: &Path, to: &Path) -> Result<(), PathError> {
    if !fs::symlink_metadata(from).at(from)?.is_dir() {
        return fs::hard_link(from, to).at(to);
    }
    private_dir(to)?;
    for entry in list_dir(from)? {
        link_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    sync_dir(to)
}

/// Removes what a launcher that was killed had begun.
fn remove_unfinished(captures: &Path) -> Result<(), PathError> {
    for entry in list_dir(captures)? {
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(".new-");
        let begun = entry.metadata().and_then(|data| data.modified());
        let is_old = begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|age| age > LONGEST));
        if is_unfinished && is_old {
            remove_dir(&entry.path())?;
        }
    }
    Ok(())
}

fn sync_dir(dir: &Path) -> Result<(), PathError> {
    File::open(dir).and_then(|dir| dir.sync_all()).at(dir)
}

#[cfg(test)]
mod tests;

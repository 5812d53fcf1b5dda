//! Takes a capture of a session that waits.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use lazaret_image_builder::Pinned;
use lazaret_runtime::SessionId;
use lazaret_transfer::ObjectId;
use lazaret_tree::{AtPath as _, PathError, RelPathBuf};

use super::{CaptureError, ORIGIN, Origin, PACK};
use crate::commits::packer::{MAX_PACK_BYTES, PACK_TIMEOUT, PackRequest, pack};
use crate::context::SessionContext;
use crate::store::file::{list_dir, private_dir, random_hex, remove_dir, write_atomically};
use crate::store::moment::Moment;
use crate::store::record::{KeepVolume, Outcome, Phase, Record};
use crate::store::{LockedSession, SessionDir, Store, StoreError};

/// How long the making of a capture may take: what is older is left of a launcher that was killed.
const LONGEST: Duration = Duration::from_hours(24);

/// What the next use of a session makes anew, or is of its volume, its locks or its journals.
const NOT_TAKEN: &[&str] = &[
    "apply",
    "commits.git",
    "copy.lock",
    "intent",
    "linked.git",
    "lock",
    "paused",
    "policy.lock",
    "session.json",
    "spare",
    "spare.partial",
    "stat-cache",
    "views",
];

/// The commits of a session that go into its capture.
#[derive(Debug)]
pub struct CommitsToPack<'a> {
    /// The engine that has the volume.
    pub cx: &'a SessionContext<'a>,
    /// The image that has git, `base`.
    pub image: &'a Pinned,
    /// The repository inside, from the workspace's root.
    pub inside: RelPathBuf,
    /// What is wanted, with all that it reaches.
    pub tips: Vec<ObjectId>,
    /// What the host has.
    pub known: Vec<ObjectId>,
}

/// Takes a capture of what waits in a session: its files as they were collected, and its commits
/// as one pack. The session stays as it is. Nothing of it was judged, so nothing of it is used
/// but through the gate.
///
/// # Errors
/// When the commits can't be packed, or the disk refuses: then there is no capture.
pub fn take(
    store: &Store,
    session: &LockedSession,
    commits: Option<&CommitsToPack<'_>>,
) -> Result<SessionId, CaptureError> {
    let captures = store.captures();
    private_dir(&captures)?;
    remove_unfinished(&captures)?;
    let id = store.fresh_id(Path::new(session.dir().id().as_str()))?;
    let building = captures.join(format!(".new-{}", random_hex()));
    private_dir(&building)?;
    let taken = fill(session, &id, &building, commits).and_then(|()| {
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

fn fill(
    session: &LockedSession,
    id: &SessionId,
    dir: &Path,
    commits: Option<&CommitsToPack<'_>>,
) -> Result<(), CaptureError> {
    let record = captured(session.record(), id);
    if let Some(commits) = commits {
        save_pack(session.record(), commits, &dir.join(PACK))?;
    }
    take_over(session.dir(), dir)?;
    let origin = Origin {
        session: session.record().id.to_string(),
        at: Moment::now(),
    };
    let origin = serde_json::to_vec(&origin).map_err(io::Error::from);
    write_atomically(&dir.join(ORIGIN), &origin.at(dir)?)?;
    let record = record.to_bytes().map_err(|source| StoreError::Record {
        id: id.clone(),
        source,
    })?;
    write_atomically(&dir.join("session.json"), &record)?;
    Ok(sync_dir(dir)?)
}

/// Returns the record of a session without a volume, in which the same waits.
fn captured(record: &Record, id: &SessionId) -> Record {
    let mut captured = record.clone();
    captured.id = id.clone();
    captured.phase = Phase::Collected;
    captured.outcome = Some(Outcome::Kept);
    captured.keep = KeepVolume::UntilSettled;
    captured.berth = None;
    captured.undone = Vec::new();
    captured.applying = None;
    captured.surveyed = false;
    captured
}

fn save_pack(
    record: &Record,
    commits: &CommitsToPack<'_>,
    path: &Path,
) -> Result<(), CaptureError> {
    let request = PackRequest {
        repository: commits.inside.clone(),
        tips: commits.tips.clone(),
        known: commits.known.clone(),
        max_bytes: MAX_PACK_BYTES,
        timeout: PACK_TIMEOUT,
    };
    pack(commits.cx, record, commits.image, &request, |pack| {
        let mut file = File::create_new(path).at(path)?;
        // A stream that breaks is told by its own error.
        io::copy(pack, &mut file).at(path)?;
        Ok(file.sync_all().at(path)?)
    })
}

/// Takes over what was collected: files by a copy, what lies in directories by links, since no
/// file there is ever written to again.
fn take_over(from: &SessionDir, to: &Path) -> Result<(), PathError> {
    for entry in list_dir(from.path())? {
        let name = entry.file_name();
        // A file that is about to replace another one has such a name.
        let is_staged = name.as_encoded_bytes().starts_with(b".");
        if is_staged || NOT_TAKEN.iter().any(|other| name == **other) {
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
mod tests {
    use std::time::SystemTime;

    use super::super::{Capture, restore};
    use super::*;
    use crate::store::example::example_record;

    fn waiting(store: &Store) -> LockedSession {
        let mut session = store.create(example_record()).unwrap();
        session
            .update(|record| {
                record.phase = Phase::Collected;
                record.keep = KeepVolume::Always;
            })
            .unwrap();
        for name in ["volume", "baseline", "spare", "changes.txt"] {
            fs::write(session.dir().file(name), name).unwrap();
        }
        let deep = session.dir().file("quarantine/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("blob"), "blob").unwrap();
        session
    }

    #[test]
    fn what_waits_outlives_its_session_and_becomes_one_again() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let session = waiting(&store);
        let first = take(&store, &session, None).unwrap();
        let second = take(&store, &session, None).unwrap();
        assert_ne!(first, second);
        // What a later command writes into the same file is not the capture's.
        fs::write(session.dir().file("changes.txt"), "later").unwrap();
        session.remove().unwrap();
        let all = Capture::list(&store).unwrap();
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|capture| capture.session() == "shop"));
        restore(&store, &first).unwrap();
        let restored = store.lock(&first).unwrap();
        let record = restored.record();
        assert_eq!((&record.id, record.phase), (&first, Phase::Collected));
        assert_eq!(record.keep, KeepVolume::UntilSettled);
        let read = |name: &str| fs::read_to_string(restored.dir().file(name)).unwrap();
        assert_eq!(read("quarantine/deep/blob"), "blob");
        assert_eq!(read("changes.txt"), "changes.txt");
        assert!(!restored.dir().file("spare").exists());
        assert!(matches!(
            restore(&store, &first),
            Err(CaptureError::NotFound(_))
        ));
        Capture::open(&store, &second).unwrap().remove().unwrap();
        assert!(Capture::list(&store).unwrap().is_empty());
    }

    #[test]
    fn what_was_cut_off_is_no_capture_and_goes_after_a_day() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let session = waiting(&store);
        let [young, old] = [".new-1", ".new-2"].map(|name| store.captures().join(name));
        for dir in [&young, &old] {
            fs::create_dir_all(dir).unwrap();
        }
        let long_ago = SystemTime::now() - 2 * LONGEST;
        let times = fs::FileTimes::new().set_modified(long_ago);
        File::open(&old).unwrap().set_times(times).unwrap();
        assert!(Capture::list(&store).unwrap().is_empty());
        let id = take(&store, &session, None).unwrap();
        assert!(young.exists() && !old.exists());
        assert_eq!(Capture::list(&store).unwrap()[0].id(), &id);
    }

    #[test]
    fn what_can_not_be_taken_over_leaves_no_capture() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let session = waiting(&store);
        std::os::unix::fs::symlink("nowhere", session.dir().file("dangling")).unwrap();
        assert!(take(&store, &session, None).is_err());
        assert!(list_dir(&store.captures()).unwrap().is_empty());
    }
}

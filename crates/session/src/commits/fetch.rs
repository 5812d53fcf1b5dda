//! Brings commits of a session's volume into a quarantine on the host.

use std::fs::File;

use lazaret_commits::git::{Git, GitError};
use lazaret_commits::linked::LinkedRepository;
use lazaret_commits::quarantine::{Quarantine, QuarantineError};
use lazaret_image_builder::Pinned;
use lazaret_transfer::{ObjectId, Repository};
use lazaret_tree::{PathError, RelPathBuf};

use crate::cancel::Cancel;
use crate::commits::packer::{MAX_PACK_BYTES, PACK_TIMEOUT, PackError, PackRequest, pack};
use crate::context::SessionContext;
use crate::store::LockedSession;
use crate::store::sync_state::read_tips;

/// Where the commits of a session are.
#[derive(Debug)]
pub enum CommitSource<'a> {
    /// In its volume: git packs them in a container of the image, `base`.
    Volume(&'a SessionContext<'a>, &'a Pinned),
    /// In the pack that was saved when the session was captured.
    Pack(File, &'a Cancel),
}

/// What is fetched.
#[derive(Debug)]
pub struct FetchRequest<'a> {
    /// Where it is.
    pub source: CommitSource<'a>,
    /// The user's git.
    pub git: Git,
    /// The user's repository.
    pub repository: &'a Repository,
    /// The repository inside, from the workspace's root.
    pub inside: RelPathBuf,
    /// What is wanted, with all that it reaches.
    pub tips: Vec<ObjectId>,
}

/// Commits that were fetched, and a way to the user's repository. Both lie in a directory of the
/// session's for each repository inside, and are removed when this is dropped.
#[derive(Debug)]
pub struct FetchedCommits {
    /// What came.
    pub quarantine: Quarantine,
    /// The user's repository.
    pub linked: LinkedRepository,
}

/// Why commits were not fetched. The volume and the user's repository are as they were.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no pack.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The pack is not taken in.
    #[error(transparent)]
    Quarantine(#[from] QuarantineError),
    /// Git can't read the user's repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// Indexes a pack of commits in a quarantine.
///
/// # Errors
/// Why they were not fetched.
pub fn fetch(
    session: &LockedSession,
    request: FetchRequest<'_>,
) -> Result<FetchedCommits, FetchError> {
    let FetchRequest {
        source,
        git,
        repository,
        inside,
        tips,
    } = request;
    let dir = session.dir();
    let cancel = match &source {
        CommitSource::Volume(cx, _) => cx.cancel,
        CommitSource::Pack(_, cancel) => cancel,
    };
    let is_cancelled = || cancel.check().is_err();
    let fetched = dir.file("fetched").join(inside.as_str());
    let linked = LinkedRepository::create(git.clone(), &fetched.join("linked.git"), repository)?;
    let sent = read_tips(dir).ids();
    let known = linked.known(&sent, &is_cancelled)?;
    let mut quarantine = Quarantine::create(git, &fetched.join("commits.git"), repository)?;
    match source {
        CommitSource::Pack(mut saved, _) => quarantine.take_in(&mut saved, &is_cancelled)?,
        CommitSource::Volume(cx, image) => {
            let request = PackRequest {
                repository: inside,
                tips,
                known,
                max_bytes: MAX_PACK_BYTES,
                timeout: PACK_TIMEOUT,
            };
            pack(cx, session.record(), image, &request, |pack| {
                quarantine
                    .take_in(pack, &is_cancelled)
                    .map_err(FetchError::from)
            })?;
        }
    }
    Ok(FetchedCommits { quarantine, linked })
}

//! `porter update ROOT [--ahead]`: brings a volume that is in use up to date.
//!
//! ```text
//! host → porter   a survey's request
//! porter → host   the survey
//! host → porter   the order, then the stream of what is sent
//! porter → host   the receipt
//! ```
//!
//! Runs while no process of the agent does: before its command starts, or while it is paused.
//! With `--ahead` no other process writes to the volume, so the porter lists it before the request
//! arrives.
//!
//! The porter removes first, from the bottom up. Then it writes each file beside the tree and
//! renames it into place. So whenever it ends, every path is as before, gone or complete, and never
//! half a file. If the order or the stream is cut off, the porter sends no receipt. What it has
//! done by then stays, and the host's intent lists it.

mod dirs;
mod incoming;
mod times;
mod write;

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use lazaret_protocol::{RecordError, StreamError, UpdateMode, UpdateReceipt, UpdateRequest};
use lazaret_tree::{PathError, RelPath, RelPathBuf, escape};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::files::lifts::Lifts;
use crate::files::root::{self, Root};
use crate::files::survey::{self, SurveyFailure, SurveyResult};
use crate::files::tick::wait_past;
use dirs::Dirs;
use times::Times;

#[derive(Debug, thiserror::Error)]
pub(crate) enum UpdateError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error(transparent)]
    Survey(#[from] SurveyFailure),
    #[error("the order: {0}")]
    Order(#[from] RecordError),
    #[error("{0} [{code}]", code = .0.code())]
    Stream(#[from] StreamError),
    #[error("{}: not what was ordered", escape(.name))]
    Unexpected { name: Vec<u8> },
    #[error("{}: ordered, and did not come", escape(.name))]
    Missing { name: Vec<u8> },
    #[error("{}: {source}", escape(.name))]
    Write { name: Vec<u8>, source: io::Error },
    #[error("{}: changed since the survey", escape(.name))]
    Changed { name: Vec<u8> },
    #[error("what an update left behind: {0}")]
    Leftovers(#[source] io::Error),
    #[error("the receipt: {0}")]
    Receipt(#[source] io::Error),
    #[error("stdin: {0}")]
    Stdin(#[source] io::Error),
}

impl UpdateError {
    /// Returns the error at `path`. Only the porter may change the volume now, so an entry that is
    /// missing or of another type is [`Self::Changed`].
    fn at(path: &RelPath, errno: Errno) -> Self {
        let name = path.as_str().as_bytes().to_vec();
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR => Self::Changed { name },
            errno => Self::Write {
                name,
                source: errno.into(),
            },
        }
    }

    fn missing(path: &RelPath) -> Self {
        Self::Missing {
            name: path.as_str().as_bytes().to_vec(),
        }
    }

    fn unexpected(path: &RelPath) -> Self {
        Self::Unexpected {
            name: path.as_str().as_bytes().to_vec(),
        }
    }
}

/// Runs the verb. A volume over the limits is an answer, not a failure.
pub(crate) fn run(root: &str, mode: UpdateMode) -> ExitCode {
    crate::exit_with("update", act(root, mode))
}

/// Does what the verb does, in a process that goes on.
pub(crate) fn act(root: &str, mode: UpdateMode) -> Result<(), UpdateError> {
    update(Path::new(root), mode)
}

fn update(path: &Path, mode: UpdateMode) -> Result<(), UpdateError> {
    // The modes of the stream are the modes of the volume.
    rustix::process::umask(rustix::fs::Mode::empty());
    let lifts = Arc::new(Lifts::default());
    let root = lifts.open_root(path)?;
    let done = talk(&root, &lifts, mode);
    // The modes that the agent chose come back, however this ended.
    let restored = lifts.restore(&root);
    let Some(receipt) = done? else {
        return Ok(());
    };
    restored.map_err(|errno| UpdateError::Leftovers(errno.into()))?;
    let mut stdout = root::stdout().map_err(UpdateError::Receipt)?;
    let written = receipt.write_to(&mut stdout);
    written.map_err(UpdateError::Receipt)?;
    // Before the end, or the next word: until then nothing of the agent's runs.
    let identities = receipt.written.identities.values();
    wait_past(identities.map(|identity| identity.ctime));
    Ok(())
}

/// Hears what is to be done and does it; `None` if the volume is over the limits.
fn talk(
    root: &Root,
    lifts: &Arc<Lifts>,
    mode: UpdateMode,
) -> Result<Option<UpdateReceipt>, UpdateError> {
    let begun = Instant::now();
    let mut dirs = Dirs::new(root, lifts);
    let cleared = dirs.as_owner(None, |_| incoming::clear(root));
    cleared.map_err(|errno| UpdateError::Leftovers(errno.into()))?;
    let mut stdin = root::stdin().map_err(UpdateError::Stdin)?;
    let prefetched = match mode {
        UpdateMode::Prefetched => Some(survey::Listing::begin(root.reopen()?, Arc::clone(lifts))),
        UpdateMode::Surveyed => None,
    };
    let still_since = match survey::answer(root, &mut stdin, prefetched, lifts)? {
        SurveyResult::GivenUp => return Ok(None),
        // Unless they are only held, the agent's processes are gone by now.
        SurveyResult::Whole { held } => held.unwrap_or(begun),
    };
    let request = UpdateRequest::read_from(&mut stdin)?;
    if request.quiet_since.is_none() && !request.send.is_empty() {
        // Whatever the agent wrote is older than the moment that is chosen now.
        thread::sleep(Times::GAP.saturating_sub(still_since.elapsed()));
    }
    let times = Times::choose(request.quiet_since);
    let receipt = apply_request(root, &mut dirs, &request, times, stdin);
    if receipt.is_err() {
        // A half-written file may be what filled the disk; the next update clears it too.
        let _left = incoming::clear(root);
    }
    receipt.map(Some)
}

fn apply_request(
    root: &Root,
    dirs: &mut Dirs<'_>,
    request: &UpdateRequest,
    times: Times,
    stdin: File,
) -> Result<UpdateReceipt, UpdateError> {
    let stayed = remove(dirs, &request.remove)?;
    let written = write::all(root, dirs, &request.send, times, stdin)?;
    Ok(UpdateReceipt { written, stayed })
}

/// Removes from the bottom up, and returns the directories that are not empty.
fn remove(dirs: &mut Dirs<'_>, paths: &[RelPathBuf]) -> Result<Vec<RelPathBuf>, UpdateError> {
    let mut stayed = Vec::new();
    for path in paths.iter().rev() {
        let removed = dirs.in_parent(path, |parent| {
            match rustix::fs::unlinkat(parent, path.file_name(), AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {
                    rustix::fs::unlinkat(parent, path.file_name(), AtFlags::REMOVEDIR)
                }
                other => other,
            }
        });
        match removed {
            Ok(()) => dirs.removed(path),
            // Something of the agent's, or a volume of another name that is mounted there.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => stayed.push(path.clone()),
            Err(errno) => return Err(UpdateError::at(path, errno)),
        }
    }
    stayed.reverse();
    // What was removed may be made again: nothing of it is open any more.
    dirs.close();
    Ok(stayed)
}

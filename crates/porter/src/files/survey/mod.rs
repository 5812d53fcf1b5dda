//! What differs from what stdin says is known, to stdout.
//!
//! A few threads list what there is while another reads what is known and compares. What is as
//! it was known is not read; the rest is hashed on every core. The order is that of the listing,
//! whichever thread is faster.

mod compare;
mod hash;
mod list;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use lazaret_protocol::{FileTime, RecordError, StreamError, Survey, SurveyRequest, Writers};
use lazaret_protocol::{FoundEntry, FoundKind};
use lazaret_tree::{PathError, RelPath, escape};
use rustix::io::Errno;

use crate::files::lifts::Lifts;
use crate::files::root::{self, Root};
use crate::files::tick::wait_past;
use compare::compare;

pub(crate) use list::Listing;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SurveyFailure {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the request: {0}")]
    Request(#[from] RecordError),
    #[error("{}: {source}", escape(.name))]
    Read { name: Vec<u8>, source: io::Error },
    #[error("{}: changed during the survey", escape(.name))]
    Changed { name: Vec<u8> },
    #[error("the survey: {0}")]
    Pipe(#[source] io::Error),
    #[error(transparent)]
    Limit(#[from] StreamError),
}

impl SurveyFailure {
    fn read(name: &[u8], errno: Errno) -> Self {
        Self::Read {
            name: name.to_vec(),
            source: errno.into(),
        }
    }

    fn changed(path: &RelPath) -> Self {
        Self::Changed {
            name: path.as_str().as_bytes().to_vec(),
        }
    }
}

/// What became of a survey that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SurveyResult {
    Whole {
        /// A moment at which the agent's processes were held; `None` if they are gone.
        held: Option<Instant>,
    },
    /// The volume holds more than the limits allow.
    GivenUp,
}

/// Reads the request from `stdin` and answers it on stdout. `prefetched` is a listing that was
/// begun before; it counts only where no process could write since. Directories that may not be looked at
/// are opened up, and stay so until `lifts` are undone.
pub(crate) fn answer(
    root: &Root,
    stdin: &mut File,
    prefetched: Option<Listing>,
    lifts: &Arc<Lifts>,
) -> Result<SurveyResult, SurveyFailure> {
    let partial = SurveyRequest::begin(stdin)?;
    let mut held = None;
    let prefetched = match partial.writers {
        Writers::Stopped => prefetched,
        Writers::Paused => {
            held = Some(Instant::now());
            // A store into a mapped page that is dirty already does not move ctime until the
            // page has been written back. A mapping that is made later does, by its first
            // store.
            rustix::fs::syncfs(root).map_err(|errno| SurveyFailure::read(b"", errno))?;
            None
        }
    };
    let listing = match prefetched {
        Some(listing) => listing,
        None => Listing::begin(root.reopen()?, Arc::clone(lifts)),
    };
    let request = partial.finish()?;
    let mut stdout = root::stdout().map_err(SurveyFailure::Pipe)?;
    let (written, answered) = match compare(root, &request, listing, lifts) {
        Ok(survey) => {
            // The launcher may resume the agent as soon as it has read the survey.
            wait_past(survey.found.iter().filter_map(ctime));
            (survey.write_to(&mut stdout), SurveyResult::Whole { held })
        }
        Err(SurveyFailure::Limit(limit)) => {
            let written = Survey::write_given_up(&limit, &mut stdout);
            (written, SurveyResult::GivenUp)
        }
        Err(failure) => return Err(failure),
    };
    written.map_err(SurveyFailure::Pipe)?;
    Ok(answered)
}

fn ctime(found: &FoundEntry) -> Option<FileTime> {
    match &found.kind {
        FoundKind::Dir { identity }
        | FoundKind::File { identity, .. }
        | FoundKind::Symlink { identity, .. } => Some(identity.ctime),
        FoundKind::Special(_) | FoundKind::Cache | FoundKind::BadName => None,
    }
}

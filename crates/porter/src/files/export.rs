//! `porter export ROOT`: what differs from what is known, and then what the host wants of it.
//!
//! ```text
//! host → porter   a survey's request
//! porter → host   the survey
//! host → porter   which files are wanted
//! porter → host   the stream
//! ```
//!
//! Runs in a container of its own, over a read-only volume, once every process of the agent
//! is gone or paused. It is one process, since starting another takes an engine as long as
//! all of this.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use lazaret_tree::{AtPath as _, PathError};

use crate::files::lifts::Lifts;
use crate::files::root::{self, Root};
use crate::files::send::{self, SendError};
use crate::files::survey::{self, SurveyFailure, SurveyResult};

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error(transparent)]
    Survey(#[from] SurveyFailure),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("stdin: {0}")]
    Stdin(#[source] io::Error),
}

/// Runs the verb. A volume over the limits is an answer, not a failure.
pub(crate) fn run(root: &str) -> ExitCode {
    crate::exit_with("export", export(Path::new(root)))
}

fn export(path: &Path) -> Result<(), ExportError> {
    // Where a capability has every directory readable, the volume is read-only. Elsewhere the
    // directories are the porter's own, and the volume can be written.
    let lifts = Arc::new(Lifts::default());
    let root = lifts.open_root(path)?;
    let done = talk(&root, &lifts);
    // The agent's modes come back, whatever happened meanwhile.
    let restored = lifts.restore(&root);
    done?;
    Ok(restored.at(path)?)
}

fn talk(root: &Root, lifts: &Arc<Lifts>) -> Result<(), ExportError> {
    let mut stdin = root::stdin().map_err(ExportError::Stdin)?;
    match survey::answer(root, &mut stdin, None, lifts)? {
        SurveyResult::Whole { .. } => Ok(send::wanted(root, &mut stdin)?),
        SurveyResult::GivenUp => Ok(()),
    }
}

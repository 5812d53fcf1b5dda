//! What the commands of a session printed: a log for each run, `runs/<n>/`, which no later run
//! writes to, and what that run was.
//!
//! A log is a row of segments, `log.<offset>`, each named by the number of bytes that were printed
//! before it. The first one stays; of those that follow, the two newest do. So of a command that
//! prints for ever the beginning and the end are kept (FLT-17), and a reader that follows knows by
//! the names how much it missed.

mod input;
mod read;
mod summary;
mod write;

use std::path::{Path, PathBuf};

use lazaret_runtime::ServiceName;
use lazaret_tree::PathError;

use crate::store::SessionDir;
use crate::store::file::{list_dir, private_dir};

pub(crate) use input::InputLog;
pub use input::kept_input;
pub use read::{Piece, RunLog, last_lines};
pub use summary::RunSummary;
pub use write::{LogEnd, LogFile};

/// The most bytes of a segment.
pub const SEGMENT: u64 = 5 << 19;

/// How a segment's name begins.
const PREFIX: &str = "log.";

/// Lists the runs of a session, the oldest first.
///
/// # Errors
/// The disk's.
pub fn runs(dir: &SessionDir) -> Result<Vec<u32>, PathError> {
    let entries = list_dir(&dir.file("runs"))?;
    let names = entries.iter().map(|entry| entry.file_name());
    let mut runs: Vec<u32> = names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    runs.sort_unstable();
    Ok(runs)
}

/// The directory of a run.
#[derive(Debug, Clone)]
pub struct RunDir {
    /// The number of the run, from 1.
    pub number: u32,
    /// Where it is.
    pub path: PathBuf,
}

/// Makes the directory of the next run, readable by the user alone.
///
/// # Errors
/// The disk's.
pub fn next_run(dir: &SessionDir) -> Result<RunDir, PathError> {
    let number = runs(dir)?.last().copied().unwrap_or_default() + 1;
    let path = run_dir(dir, number);
    private_dir(&path)?;
    Ok(RunDir { number, path })
}

fn run_dir(dir: &SessionDir, run: u32) -> PathBuf {
    dir.file("runs").join(run.to_string())
}

/// Returns the directory of a service's log: of its last start.
pub(crate) fn service_dir(dir: &SessionDir, name: &ServiceName) -> PathBuf {
    dir.file("services").join(name.as_str()).join("log")
}

/// Returns the directory of a setup step's log, by its number from 1.
pub(crate) fn setup_dir(dir: &SessionDir, number: usize) -> PathBuf {
    dir.file("setup").join(number.to_string())
}

/// Lists the segments of a log by offset.
fn segments(dir: &Path) -> Result<Vec<u64>, PathError> {
    let entries = list_dir(dir)?;
    let names = entries.iter().map(|entry| entry.file_name());
    let mut offsets: Vec<u64> = names
        .filter_map(|name| name.to_str()?.strip_prefix(PREFIX)?.parse().ok())
        .collect();
    offsets.sort_unstable();
    Ok(offsets)
}

fn segment(dir: &Path, offset: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{offset}"))
}

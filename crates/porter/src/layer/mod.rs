//! `porter layer ROOT [--only PATH]… -- COMMAND…`: runs an install step of an image and
//! sends what it changed in `ROOT`, which is `/` but in tests.
//!
//! Stdout is a tar of what is new or different, sorted, with `.wh.NAME` for what is gone
//! (OCI image spec, "Whiteouts"), and [`COMPLETE`] as its last entry; without that entry it
//! was cut. The command's own output goes to stderr as it comes, and a command that fails
//! leaves its exit code and no tar. Mounts and `/lazaret` are not looked at.

mod send;
mod snapshot;

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use lazaret_tree::escape;

use snapshot::Snapshot;

/// The last entry: its contents are the number of entries before it, in decimal.
const COMPLETE: &str = "lazaret/complete";

#[derive(Debug, thiserror::Error)]
enum LayerError {
    #[error("can't run `{command}`: {source}")]
    Start { command: String, source: io::Error },
    #[error("{}: {source}", escape(.path))]
    Read { path: Vec<u8>, source: io::Error },
    #[error("{}: a name that means a deletion in a layer", escape(.path))]
    Whiteout { path: Vec<u8> },
    #[error("the stream: {0}")]
    Pipe(#[source] io::Error),
}

/// Runs the verb: `argv`, and what it changes in `root` goes to stdout, below the paths of `only`.
pub(crate) fn run(root: &str, only: &[String], argv: &[String]) -> ExitCode {
    match layer(Path::new(root), only, argv) {
        Ok(code) => code,
        Err(error) => crate::exit_with("layer", Err(error)),
    }
}

fn layer(root: &Path, only: &[String], argv: &[String]) -> Result<ExitCode, LayerError> {
    // Relative to the root; empty for everything.
    let only = only
        .iter()
        .map(|path| path.strip_prefix('/').unwrap_or(path));
    let only: Vec<Vec<u8>> = only.map(|path| path.as_bytes().to_vec()).collect();
    let before = Snapshot::take(root)?;
    let status = command(argv)?;
    if !status.success() {
        return Ok(ExitCode::from(code(status)));
    }
    let after = Snapshot::take(root)?;
    send::changes(root, &before, &after, &only, io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the porter has no duct; the streams are all named here"
)]
fn command(argv: &[String]) -> Result<ExitStatus, LayerError> {
    let (program, arguments) = match argv {
        [program, arguments @ ..] => (program.as_str(), arguments),
        [] => ("", argv),
    };
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|source| LayerError::Start {
            command: escape(program.as_bytes()),
            source,
        })
}

/// The command's exit code, 128 + n for a signal.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

//! `porter layer ROOT [--only PATH]… -- COMMAND…`: runs an install step of an image and
//! sends what it changed in `ROOT`, which is `/` but in tests.
//!
//! Stdout is a tar of what is new or different, sorted, with `.wh.NAME` for what is gone
//! (OCI image spec, "Whiteouts"), and [`COMPLETE`] as its last entry; without that entry it
//! was cut. The command's own output goes to stderr as it comes, and a command that fails
//! leaves its exit code and no tar. Mounts and `/lazaret` are not looked at.

mod send;
mod snapshot;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use lazaret_tree::escape;

use snapshot::Snapshot;

/// The last entry: its contents are the number of entries before it, in decimal.
const COMPLETE: &str = "lazaret/complete";

#[derive(Debug, thiserror::Error)]
enum LayerError {
    #[error("usage: porter layer ROOT [--only PATH]… -- COMMAND [ARGUMENT…]")]
    Usage,
    #[error("can't run `{command}`: {source}")]
    Start { command: String, source: io::Error },
    #[error("{}: {source}", escape(.path))]
    Read { path: Vec<u8>, source: io::Error },
    #[error("{}: a name that means a deletion in a layer", escape(.path))]
    Whiteout { path: Vec<u8> },
    #[error("the stream: {0}")]
    Pipe(#[source] io::Error),
}

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    root: PathBuf,
    /// Relative to the root; empty for everything.
    only: Vec<Vec<u8>>,
    argv: Vec<OsString>,
}

/// Runs the verb.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match layer(arguments) {
        Ok(code) => code,
        Err(error) => crate::settle("layer", Err(error)),
    }
}

fn layer(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, LayerError> {
    let plan = Plan::parse(arguments)?;
    let before = Snapshot::take(&plan.root)?;
    let status = command(&plan.argv)?;
    if !status.success() {
        return Ok(ExitCode::from(code(status)));
    }
    let after = Snapshot::take(&plan.root)?;
    send::changes(&plan.root, &before, &after, &plan.only, io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

impl Plan {
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, LayerError> {
        let root = PathBuf::from(arguments.next().ok_or(LayerError::Usage)?);
        let mut only = Vec::new();
        loop {
            let argument = arguments.next().ok_or(LayerError::Usage)?;
            match argument.to_str() {
                Some("--") => break,
                Some("--only") => {
                    let path = arguments.next().ok_or(LayerError::Usage)?.into_vec();
                    let path = path.strip_prefix(b"/").unwrap_or(&path);
                    only.push(path.to_vec());
                }
                _ => return Err(LayerError::Usage),
            }
        }
        let argv: Vec<_> = arguments.collect();
        match argv.is_empty() {
            true => Err(LayerError::Usage),
            false => Ok(Self { root, only, argv }),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the porter has no duct; the streams are all named here"
)]
fn command(argv: &[OsString]) -> Result<ExitStatus, LayerError> {
    let (program, arguments) = argv.split_first().ok_or(LayerError::Usage)?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|source| LayerError::Start {
            command: escape(program.as_encoded_bytes()),
            source,
        })
}

/// The command's exit code, 128 + n for a signal.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

//! `porter send ROOT`: the files that stdin lists, as one stream to stdout.
//!
//! A file that is no longer what the survey found ends the stream without its trailer, and
//! the host refuses the whole of it. What it holds is hashed by the host.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use lazaret_transfer::{
    Mode, PathError, SendFileError, StreamWriter, VolumeIdentity, Wanted, WireError, escape,
    read_wanted,
};

use crate::root::{self, Root};

#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("usage: porter send ROOT")]
    Usage,
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the list: {0}")]
    List(#[from] WireError),
    #[error("{}: {source}", escape(.name))]
    Read { name: Vec<u8>, source: io::Error },
    #[error("{}: changed since the survey", escape(.name))]
    Changed { name: Vec<u8> },
    #[error("the stream: {0}")]
    Pipe(#[source] io::Error),
}

/// Runs the verb.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let sent = match (arguments.next(), arguments.next()) {
        (Some(root), None) => send(Path::new(&root)),
        _ => Err(SendError::Usage),
    };
    crate::settle("send", sent)
}

fn send(path: &Path) -> Result<(), SendError> {
    let root = Root::open(path)?;
    let mut stdin = root::stdin().map_err(SendError::Pipe)?;
    let wanted = read_wanted(&mut stdin)?;
    let stdout = root::stdout().map_err(SendError::Pipe)?;
    let mut stream = StreamWriter::new(stdout);
    for file in &wanted {
        send_file(&root, file, &mut stream)?;
    }
    stream.finish().map_err(SendError::Pipe)?;
    Ok(())
}

fn send_file(
    root: &Root,
    wanted: &Wanted,
    stream: &mut StreamWriter<std::fs::File>,
) -> Result<(), SendError> {
    let name = || wanted.path.as_str().as_bytes().to_vec();
    let changed = || SendError::Changed { name: name() };
    let read = |errno: rustix::io::Errno| match errno {
        rustix::io::Errno::LOOP | rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => changed(),
        errno => SendError::Read {
            name: name(),
            source: errno.into(),
        },
    };
    let (file, stat) = root.open_file(&wanted.path).map_err(read)?;
    let found = wanted.identity;
    if VolumeIdentity::from(&stat) != found {
        return Err(changed());
    }
    let mode = Mode::from_unix(found.mode);
    let (size, mtime) = (found.size, found.mtime.seconds);
    let sent = stream.file(&wanted.path, mode, size, mtime, &file, &mut |_| {});
    sent.map_err(|error| match error {
        SendFileError::Write(error) => SendError::Pipe(error),
        SendFileError::Read(source) => SendError::Read {
            name: name(),
            source,
        },
        SendFileError::Shrank => changed(),
    })?;
    let after = VolumeIdentity::from(&rustix::fs::fstat(&file).map_err(read)?);
    match after == found {
        true => Ok(()),
        false => Err(changed()),
    }
}

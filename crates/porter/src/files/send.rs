//! The files that the host wants, as one stream to stdout.
//!
//! A file that is no longer what the survey found ends the stream without its trailer, and
//! the host refuses the whole of it. What it holds is hashed by the host.

use std::fs::File;
use std::io;

use lazaret_protocol::{
    RecordError, SendFileError, StreamWriter, VolumeIdentity, Wanted, read_wanted,
};
use lazaret_tree::{Mode, escape};
use rustix::io::Errno;

use crate::files::closed;
use crate::files::root::{self, Root};

#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("the list: {0}")]
    List(#[from] RecordError),
    #[error("{}: {source}", escape(.name))]
    Read { name: Vec<u8>, source: io::Error },
    #[error("{}: changed since the survey", escape(.name))]
    Changed { name: Vec<u8> },
    #[error("the stream: {0}")]
    Pipe(#[source] io::Error),
}

/// Sends what `stdin` lists.
pub(crate) fn wanted(root: &Root, stdin: &mut File) -> Result<(), SendError> {
    let wanted = read_wanted(stdin)?;
    let stdout = root::stdout().map_err(SendError::Pipe)?;
    let mut stream = StreamWriter::new(stdout);
    for file in &wanted {
        send_file(root, file, &mut stream)?;
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
    let read = |errno: Errno| match errno {
        Errno::LOOP | Errno::NOENT | Errno::NOTDIR => changed(),
        errno => SendError::Read {
            name: name(),
            source: errno.into(),
        },
    };
    let (file, found) = match root.open_file(&wanted.path) {
        Ok((file, stat)) if VolumeIdentity::from(&stat) == wanted.identity => {
            (file, wanted.identity)
        }
        Ok(_) => return Err(changed()),
        Err(Errno::ACCESS) => closed::open(root, &wanted.path, wanted.identity).map_err(read)?,
        Err(errno) => return Err(read(errno)),
    };
    let mode = Mode::from_unix(found.mode);
    let (size, mtime) = (found.size, found.mtime);
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

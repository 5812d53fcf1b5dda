//! What every verb that takes a stream does with it.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Write as _};

use lazaret_protocol::{FileTime, Members, StreamError, StreamLimits};
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT};

/// The host packs its own workspace: only names, which have to be kept, are bounded.
const LIMITS: StreamLimits = StreamLimits {
    entries: u64::MAX,
    total_bytes: u64::MAX,
    file_bytes: u64::MAX,
    meta_bytes: 64 << 10,
    name_bytes: 1 << 30,
};
pub(crate) const BUFFER: usize = 64 << 10;

pub(crate) type Stream = Members<BufReader<File>>;

/// Why a body did not arrive.
pub(crate) enum BodyError {
    Stream(StreamError),
    Write(io::Error),
}

/// Starts to read a stream.
pub(crate) fn stream(stdin: File) -> Stream {
    Members::new(BufReader::with_capacity(BUFFER, stdin), LIMITS)
}

/// Writes the body of the current member to `file`, through `buffer`, and shows each piece
/// to `tee`.
pub(crate) fn write_body(
    stream: &mut Stream,
    file: &mut File,
    buffer: &mut [u8],
    mut tee: impl FnMut(&[u8]),
) -> Result<(), BodyError> {
    let mut body = stream.body();
    loop {
        let length = match body.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(BodyError::Stream(error.into())),
        };
        tee(&buffer[..length]);
        if let Err(error) = file.write_all(&buffer[..length]) {
            // On a full disk the engine may need a little room itself, to tell how this
            // ended. Nothing of the file will be used.
            drop(file.set_len(0));
            return Err(BodyError::Write(error));
        }
    }
}

/// Returns the times of a file that was last changed at `mtime`.
pub(crate) fn modified(mtime: FileTime) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: mtime.seconds,
            tv_nsec: mtime.nanos.into(),
        },
    }
}

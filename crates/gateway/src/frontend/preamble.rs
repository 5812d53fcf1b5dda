//! Reads the preamble of a connection, its first request or ClientHello, bounded in bytes and
//! time (NET-14).

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use lazaret_egress::{Denied, SessionLimits};

/// The most bytes of one read.
const PIECE: usize = 8 * 1024;

/// Why no preamble arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The client went away without a word: there is nothing to report.
    Silent,
    /// It is denied.
    Denied(Denied),
}

/// Reads until `is_whole` says where the preamble ends, and returns it with the bytes behind
/// it.
///
/// # Errors
///
/// More bytes or time than `limits` allow, an early end, or what `is_whole` says.
pub(super) fn read(
    stream: &UnixStream,
    limits: &SessionLimits,
    mut is_whole: impl FnMut(&[u8]) -> Result<Option<usize>, Denied>,
) -> Result<(Vec<u8>, Vec<u8>), Missing> {
    let deadline = Instant::now() + Duration::from_millis(limits.head_ms);
    let most = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; PIECE];
        let count =
            read_until(stream, &mut piece, deadline).map_err(|error| match error.kind() {
                io::ErrorKind::TimedOut if bytes.is_empty() => Missing::Silent,
                io::ErrorKind::TimedOut => Missing::Denied(Denied::Head),
                _ => Missing::Silent,
            })?;
        if count == 0 {
            return Err(match bytes.is_empty() {
                true => Missing::Silent,
                false => Missing::Denied(Denied::BadRequest),
            });
        }
        bytes.extend_from_slice(&piece[..count]);
        if let Some(end) = is_whole(&bytes).map_err(Missing::Denied)? {
            if end > most {
                return Err(Missing::Denied(Denied::Head));
            }
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() >= most {
            return Err(Missing::Denied(Denied::Head));
        }
    }
}

/// Reads once, until `deadline` at the latest.
///
/// # Errors
///
/// [`io::ErrorKind::TimedOut`] when the time is over, and what the socket says.
fn read_until(mut stream: &UnixStream, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            outcome => return outcome,
        }
    }
}

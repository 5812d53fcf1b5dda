//! From an upgraded connection to a blocking socket.

use std::io;
use std::os::unix::net::UnixStream as Socket;

use bytes::Bytes;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// Returns the socket itself where it is a unix one, and the bytes that came already; else one
/// end of a pair, whose other end a task keeps in step with the connection, each direction's end
/// included.
///
/// # Errors
/// The system's.
pub(super) fn blocking(upgraded: Upgraded) -> io::Result<(Socket, Bytes)> {
    match upgraded.downcast::<TokioIo<UnixStream>>() {
        Ok(parts) => {
            let socket = parts.io.into_inner().into_std()?;
            socket.set_nonblocking(false)?;
            Ok((socket, parts.read_buf))
        }
        Err(upgraded) => {
            let (ours, theirs) = Socket::pair()?;
            theirs.set_nonblocking(true)?;
            let mut theirs = UnixStream::from_std(theirs)?;
            drop(tokio::spawn(async move {
                let mut connection = TokioIo::new(upgraded);
                // A connection that breaks ends the pair, and the process is asked for.
                tokio::io::copy_bidirectional(&mut connection, &mut theirs).await
            }));
            Ok((ours, Bytes::new()))
        }
    }
}

//! What a client of the proxy is told when it is denied.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lazaret_egress::Denied;

/// A client that does not even read its refusal is left.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes an answer that says why, and that the connection ends.
///
/// # Errors
///
/// The client has gone or doesn't read.
pub(crate) fn write(mut stream: &UnixStream, denied: Denied) -> io::Result<()> {
    let body = format!("lazaret: {}: {denied}\n", denied.code());
    let answer = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         X-Lazaret-Denied: {}\r\nConnection: close\r\n\r\n{body}",
        status(denied),
        body.len(),
        denied.code(),
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(answer.as_bytes())
}

/// Returns the status line's code and phrase.
fn status(denied: Denied) -> &'static str {
    match denied {
        Denied::BadRequest | Denied::BadPort | Denied::Name(_) | Denied::NotTls => {
            "400 Bad Request"
        }
        Denied::Head => "431 Request Header Fields Too Large",
        Denied::Unresolved | Denied::Unreachable => "502 Bad Gateway",
        Denied::Connections => "503 Service Unavailable",
        _ => "403 Forbidden",
    }
}

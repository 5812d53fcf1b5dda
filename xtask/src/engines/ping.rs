//! Asks an engine whether it is there.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long an engine may take to answer. A healthy one takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);

/// True when the engine at `socket` answers `/_ping`, which Docker and Podman both have.
/// HTTP/1.0, so that the end of the answer is the end of the connection.
pub fn answers(socket: &Path) -> bool {
    ask(socket).is_ok_and(|status| status.contains(" 200 "))
}

fn ask(socket: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /_ping HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut head = [0; 64];
    let length = stream.read(&mut head)?;
    let head = String::from_utf8_lossy(&head[..length]);
    Ok(head.lines().next().unwrap_or_default().to_owned())
}

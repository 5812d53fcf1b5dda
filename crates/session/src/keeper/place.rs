//! Where a keeper listens: `keeper/sock` in the session's directory, for the user alone.
//!
//! A path may have 108 bytes (`unix(7)`), so it is named through a descriptor of its directory.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::store::SessionDir;
use crate::store::file::{ok_if_absent, private_dir};

fn dir(session: &SessionDir) -> PathBuf {
    session.file("keeper")
}

/// Names the socket in a directory that is open, in as few bytes as it takes: by its path where
/// there is no `/proc` of this process, as elsewhere than on Linux.
fn short(path: &Path, dir: &File) -> PathBuf {
    let opened = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string());
    match opened.exists() {
        true => opened.join("sock"),
        false => path.join("sock"),
    }
}

/// Listens for clients of a session that this process has locked.
///
/// # Errors
/// The system's.
pub(super) fn listen(session: &SessionDir) -> io::Result<UnixListener> {
    let dir = dir(session);
    private_dir(&dir).map_err(io::Error::other)?;
    // Who holds the session's lock is its only keeper: what is there was another's.
    ok_if_absent(fs::remove_file(dir.join("sock")))?;
    let opened = File::open(&dir)?;
    UnixListener::bind(short(&dir, &opened))
}

/// Removes the socket.
pub(super) fn remove(session: &SessionDir) {
    let _absent = fs::remove_file(dir(session).join("sock"));
}

/// Connects to the keeper of a session; `None` if it has none.
///
/// # Errors
/// The system's.
pub(super) fn connect(session: &SessionDir) -> io::Result<Option<UnixStream>> {
    let dir = dir(session);
    let Some(opened) = ok_if_absent(File::open(&dir))? else {
        return Ok(None);
    };
    match UnixStream::connect(short(&dir, &opened)) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        connected => ok_if_absent(connected),
    }
}

/// Whether the other end of a connection may speak with the keeper: the user and root may.
#[cfg(target_os = "linux")]
pub(super) fn is_allowed(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid();
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|peer| peer.uid == own || peer.uid.is_root())
}

/// Whether the other end of a connection may speak with the keeper: all who reach the socket,
/// which lies in a directory that is the user's alone.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_allowed(_stream: &UnixStream) -> bool {
    true
}

//! `porter lend HOME`: puts files of the user's into the home inside, and says when one of
//! them has other contents.
//!
//! They come by stdin and lie there for the command's own user alone. Then this looks at them
//! five times a second: a program that renews a login writes the new one there, and it has to
//! get out before the home is gone. The end of stdin or of the container ends it, after a
//! last look. It runs as the agent, which can stop it, and can write what it likes to what it
//! was lent: only regular files are read, through no link, and not beyond a size.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use lazaret_protocol::RecordError;
use lazaret_protocol::{
    ArrivedCredential, CredentialEvent, MAX_CREDENTIAL_BYTES, read_credentials,
};
use lazaret_tree::{Digest, PathError, RelPath, escape};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

use crate::files::root::{self, Root};
use crate::syscall::BlockedSignals;

/// Between two looks.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// No other user may even list the names in it.
const DIR_MODE: u32 = 0o700;

/// Why nothing is lent.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Home(#[from] PathError),
    #[error(transparent)]
    Files(#[from] RecordError),
    #[error("~/{path}: {source}")]
    Place { path: String, source: io::Error },
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

/// Runs the verb.
pub(crate) fn run(home: &str) -> ExitCode {
    crate::exit_with("lend", hand_out(Path::new(home)))
}

fn hand_out(home: &Path) -> Result<(), Error> {
    // PID 1 sends SIGTERM to everybody when the container is to end: then comes a last look.
    let signals = BlockedSignals::all()?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(io::Error::from)?;
    let home = Root::open(home)?;
    let mut stdin = BufReader::new(root::stdin()?);
    let mut files = Vec::new();
    for file in read_credentials(&mut stdin)? {
        let placed = place(&home, &file).map_err(|errno| Error::Place {
            path: escape(file.path.as_str().as_bytes()),
            source: errno.into(),
        });
        placed?;
        files.push(CredentialFile {
            seen: None,
            digest: Digest::of(&file.contents),
            path: file.path,
        });
    }
    let mut stdout = root::stdout()?;
    stdout.write_all(&CredentialEvent::Ready.line())?;
    let stdin = stdin.into_inner();
    loop {
        let is_over = has_ended(&stdin)? || signals.wait(Duration::ZERO)?.is_some_and(ends);
        for (index, file) in files.iter_mut().enumerate() {
            if let Some(contents) = file.look(&home) {
                let event = CredentialEvent::Changed { index, contents };
                stdout.write_all(&event.line())?;
            }
        }
        if is_over {
            return Ok(());
        }
    }
}

fn ends(received: crate::syscall::Received) -> bool {
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP].contains(&received.signal)
}

/// Waits for a tick, or for the end of the input.
fn has_ended(stdin: &File) -> io::Result<bool> {
    let mut fds = [PollFd::new(stdin, PollFlags::IN)];
    match poll(&mut fds, Some(&TICK)) {
        Ok(0) | Err(Errno::INTR) => Ok(false),
        Ok(_) => {
            let mut word = [0; 64];
            Ok((&mut &*stdin).read(&mut word)? == 0)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// A file that was lent, as it was seen last.
struct CredentialFile {
    path: lazaret_tree::RelPathBuf,
    /// Inode, size and times; `None` before the first look.
    seen: Option<[i64; 6]>,
    /// Of the contents that the host knows.
    digest: Digest,
}

impl CredentialFile {
    /// Returns the contents if they are others than the host knows. What is no file, is being
    /// written, is empty or too large is nothing.
    fn look(&mut self, home: &Root) -> Option<Vec<u8>> {
        let (file, stat) = home.open_file(&self.path).ok()?;
        let now = identity(&stat);
        if self.seen == Some(now) {
            return None;
        }
        let mut file = File::from(file);
        let mut contents = Vec::with_capacity(MAX_CREDENTIAL_BYTES + 1);
        let read = (&mut file)
            .take(MAX_CREDENTIAL_BYTES as u64 + 1)
            .read_to_end(&mut contents);
        read.ok()?;
        // Half of what is being written is no login.
        let after = rustix::fs::fstat(&file).ok()?;
        if identity(&after) != now {
            return None;
        }
        self.seen = Some(now);
        if contents.is_empty() || contents.len() > MAX_CREDENTIAL_BYTES {
            return None;
        }
        let digest = Digest::of(&contents);
        if std::mem::replace(&mut self.digest, digest) == digest {
            return None;
        }
        Some(contents)
    }
}

fn identity(stat: &Stat) -> [i64; 6] {
    [
        stat.st_ino as i64,
        stat.st_size,
        stat.st_mtime,
        stat.st_mtime_nsec as i64,
        stat.st_ctime,
        stat.st_ctime_nsec as i64,
    ]
}

/// Makes the file, and the directories above it that are not there.
fn place(home: &Root, file: &ArrivedCredential) -> Result<(), Errno> {
    let dir = match file.path.parent() {
        Some(parent) => Some(make_dirs(home, parent)?),
        None => None,
    };
    let dir = dir.as_ref().map_or(home.as_fd(), |dir| dir.as_fd());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = file.path.file_name();
    let made = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o600))?;
    let mut made = File::from(made);
    let written = made.write_all(&file.contents);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    // Whatever the umask is.
    rustix::fs::fchmod(&made, Mode::from_raw_mode(file.mode.bits()))
}

fn make_dirs(home: &Root, path: &RelPath) -> Result<OwnedFd, Errno> {
    let mut above: Vec<&RelPath> = path.ancestors().collect();
    above.sort_unstable();
    for dir in above.into_iter().chain([path]) {
        match rustix::fs::mkdirat(home, dir.as_str(), Mode::from_raw_mode(DIR_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    // Fails if the agent has put a link there.
    home.open_dir(path)
}

//! `porter sealed ROOT`: tries everything that an agent might, on everything that it may
//! only read. Stdin is the [`Protection`], stdout the report:
//!
//! ```text
//! broken ATTEMPT PATH      one line for each attempt that was not refused, escaped
//! end ENTRIES BROKEN       the last line: what was tried, and how many were not refused
//! ```
//!
//! Runs as the agent, in its container, before the command exists: what the kernel refuses here, it
//! refuses to the command, for the same reasons. An attempt that is not refused changes no
//! contents, and one that moves a name moves it back. The command does not start then, so what
//! the attempt leaves behind is not the agent's work.
//!
//! A second name for a protected file is no attempt: where `fs.protected_hardlinks` is off,
//! the agent may make one, which is a name of the same file that it can't write to.

mod attempts;

use std::ffi::CStr;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use lazaret_protocol::{ProtectedKind, Protection, RecordError};
use lazaret_tree::{INCOMING_DIR, PathError, RelPath, escape};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::files::root::{self, Root};
use attempts::{Attempt, Tried};

/// What the agent has of its own, to put in the place of something.
const FILE: &CStr = c"file";
const DIR: &CStr = c"dir";

#[derive(Debug, thiserror::Error)]
enum VerifyError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the list: {0}")]
    List(#[from] RecordError),
    #[error("a place of the agent's own: {0}")]
    Own(#[source] Errno),
    #[error("{}: {source}", escape(.name))]
    Unreadable { name: Vec<u8>, source: Errno },
    #[error("{}: {attempt} failed for no reason of its owner: {source}", escape(.name))]
    Unproven {
        attempt: &'static str,
        name: Vec<u8>,
        source: Errno,
    },
    #[error("the report: {0}")]
    Pipe(#[source] io::Error),
}

/// Runs the verb. Something that is not refused is an answer, not a failure.
pub(crate) fn run(root: &str) -> ExitCode {
    crate::exit_with("sealed", sealed(Path::new(root)))
}

fn sealed(path: &Path) -> Result<(), VerifyError> {
    let root = Root::open(path)?;
    let mut stdin = root::stdin().map_err(VerifyError::Pipe)?;
    let protection = Protection::read_from(&mut stdin)?;
    let own = Own::make().map_err(VerifyError::Own)?;
    let mut report = Report::default();
    let tried = every(&root, &protection, &own, &mut report);
    own.remove();
    tried?;
    let Report { mut text, broken } = report;
    text.push_str(&format!("end {} {broken}\n", protection.entries.len()));
    let mut stdout = root::stdout().map_err(VerifyError::Pipe)?;
    stdout.write_all(text.as_bytes()).map_err(VerifyError::Pipe)
}

/// What was not refused.
#[derive(Default)]
struct Report {
    text: String,
    broken: u64,
}

impl Report {
    /// Notes what of these was not refused.
    fn judge(&mut self, tried: Vec<Tried>, name: &[u8]) -> Result<(), VerifyError> {
        for tried in tried {
            let attempt = tried.attempt;
            let refused = attempts::refused(&tried).map_err(|source| VerifyError::Unproven {
                attempt,
                name: name.to_vec(),
                source,
            })?;
            if !refused {
                self.broken += 1;
                self.text
                    .push_str(&format!("broken {attempt} {}\n", escape(name)));
            }
        }
        Ok(())
    }
}

/// Tries everything, up to the first entry where something is not refused.
fn every(
    root: &Root,
    protection: &Protection,
    own: &Own,
    report: &mut Report,
) -> Result<(), VerifyError> {
    let top = attempts::on_directory(root.as_fd(), protection.root, &own.away);
    report.judge(top, b".")?;
    for (path, protected) in &protection.entries {
        let name = path.as_str().as_bytes();
        let unreadable = |source| VerifyError::Unreadable {
            name: name.to_vec(),
            source,
        };
        let parent = match path.parent() {
            None => root.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE),
            Some(parent) => root.open_dir(parent),
        };
        let parent = parent.map_err(unreadable)?;
        // It is to be read, after all.
        is_readable(root, path, *protected).map_err(unreadable)?;
        let attempt = Attempt {
            parent: parent.as_fd(),
            name: path.file_name(),
            own: own.dir.as_fd(),
            away: &own.away,
        };
        report.judge(attempt.on_entry(*protected), name)?;
        if let ProtectedKind::Shared | ProtectedKind::Closed | ProtectedKind::Dir = protected {
            let dir = root.open_dir(path).map_err(unreadable)?;
            let inside = attempts::on_directory(dir.as_fd(), *protected, &own.away);
            report.judge(inside, name)?;
        }
        // What is left could not be taken back, and shows nothing more.
        if report.broken > 0 {
            return Ok(());
        }
        report.judge(attempt.to_remove(*protected), name)?;
    }
    Ok(())
}

fn is_readable(root: &Root, path: &RelPath, protected: ProtectedKind) -> Result<(), Errno> {
    match protected {
        ProtectedKind::Shared | ProtectedKind::Closed | ProtectedKind::Dir => {
            root.open_dir(path).map(drop)
        }
        ProtectedKind::File | ProtectedKind::Program => root.open_file(path).map(drop),
        ProtectedKind::Link => root.open_any(path).map(drop),
    }
}

/// A directory where the agent may do as it likes, below the one that the command starts
/// in, and so on the same file system as what it would replace.
struct Own {
    dir: OwnedFd,
    /// A name that an agent can't have foreseen.
    away: String,
}

impl Own {
    fn make() -> Result<Self, Errno> {
        match rustix::fs::mkdirat(CWD, INCOMING_DIR, Mode::RWXU) {
            // Of one that was killed.
            Err(Errno::EXIST) => {}
            other => other?,
        }
        let dir = root::open_dir(CWD, INCOMING_DIR)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let _gone = rustix::fs::unlinkat(&dir, FILE, AtFlags::empty());
        let _gone = rustix::fs::unlinkat(&dir, DIR, AtFlags::REMOVEDIR);
        rustix::fs::openat(&dir, FILE, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::mkdirat(&dir, DIR, Mode::RWXU)?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let away = format!(".lazaret-sealed-{}-{}", std::process::id(), now.tv_nsec);
        Ok(Self { dir, away })
    }

    /// What can't be removed is cleared by the next update.
    fn remove(self) {
        let _gone = rustix::fs::unlinkat(&self.dir, FILE, AtFlags::empty());
        let _gone = rustix::fs::unlinkat(&self.dir, DIR, AtFlags::REMOVEDIR);
        let _gone = rustix::fs::unlinkat(CWD, INCOMING_DIR, AtFlags::REMOVEDIR);
    }
}

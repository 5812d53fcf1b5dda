//! `porter receive ROOT`: a stream from stdin into an empty directory, a receipt to stdout.
//!
//! Runs as the agent, hardened, before the command exists. Whatever goes wrong, no receipt
//! is written: a command is never started on a part of a workspace.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use lazaret_protocol::{
    FileTime, Member, MemberKind, MemberPath, Receipt, StreamError, VolumeIdentity,
};
use lazaret_tree::{AtPath as _, LinkTarget, Mode, PathError, RelPath, RelPathBuf, escape};
use rustix::fs::{AtFlags, OFlags};

use crate::files::root::{self, Root};
use crate::files::stream_input::{self, BUFFER, BodyError, Stream, modified};
use crate::files::tick::wait_past;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReceiveError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("the directory is not empty")]
    NotEmpty,
    #[error("{0} [{code}]", code = .0.code())]
    Stream(#[from] StreamError),
    #[error("{}: not what a pack sends", escape(.name))]
    Unexpected { name: Vec<u8> },
    #[error("{}: {source}", escape(.name))]
    Write { name: Vec<u8>, source: io::Error },
    #[error("the receipt: {0}")]
    Receipt(#[source] io::Error),
    #[error("stdin: {0}")]
    Stdin(#[source] io::Error),
}

impl ReceiveError {
    fn write(path: &RelPath, error: impl Into<io::Error>) -> Self {
        Self::Write {
            name: path.as_str().as_bytes().to_vec(),
            source: error.into(),
        }
    }
}

/// Whether nothing of a workspace lies there.
fn is_empty(root: &Root) -> io::Result<bool> {
    for name in root::names(root)? {
        let stat = rustix::fs::statat(root, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !root::is_foreign(root, &name, &stat) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs the verb.
pub(crate) fn run(root: &str) -> ExitCode {
    crate::exit_with("receive", act(root))
}

/// Does what the verb does, in a process that goes on.
pub(crate) fn act(root: &str) -> Result<(), ReceiveError> {
    receive(Path::new(root))
}

fn receive(path: &Path) -> Result<(), ReceiveError> {
    let root = Root::open(path)?;
    if !is_empty(&root).at(path)? {
        return Err(ReceiveError::NotEmpty);
    }
    // The modes of the stream are the modes of the volume.
    rustix::process::umask(rustix::fs::Mode::empty());
    let stdin = root::stdin().map_err(ReceiveError::Stdin)?;
    let mut members = stream_input::stream(stdin);
    let mut receiver = Receiver {
        root: &root,
        open: Vec::new(),
        identities: Vec::new(),
        buffer: vec![0; BUFFER],
    };
    while let Some(member) = members.next()? {
        receiver.take(member, &mut members)?;
    }
    let trailer = members.finish_trailer()?;
    let receipt = Receipt {
        arrived: trailer,
        identities: receiver.identities.into_iter().collect(),
    };
    let mut stdout = root::stdout().map_err(ReceiveError::Receipt)?;
    let written = receipt.write_to(&mut stdout);
    written.map_err(ReceiveError::Receipt)?;
    // Before the end, or the next word: until then nothing of the agent's runs.
    wait_past(receipt.identities.values().map(|identity| identity.ctime));
    Ok(())
}

/// A tree on its way into the volume.
struct Receiver<'a> {
    root: &'a Root,
    /// The open directories from the top down to where the last member went.
    open: Vec<(RelPathBuf, OwnedFd)>,
    /// In path order: a map is made of them at once at the end.
    identities: Vec<(RelPathBuf, VolumeIdentity)>,
    buffer: Vec<u8>,
}

impl Receiver<'_> {
    fn take(&mut self, member: Member, stream: &mut Stream) -> Result<(), ReceiveError> {
        let MemberPath::Good(path) = member.path else {
            let name = member.path.as_bytes().to_vec();
            return Err(ReceiveError::Unexpected { name });
        };
        let identity = match member.kind {
            MemberKind::Dir => self.dir(&path)?,
            MemberKind::File { mode, .. } => self.file(&path, mode, member.mtime, stream)?,
            MemberKind::Symlink { target: Ok(target) } => {
                self.symlink(&path, &target, member.mtime)?
            }
            MemberKind::Symlink { target: Err(_) } | MemberKind::Hard { .. } | MemberKind::Fifo => {
                let name = path.as_str().as_bytes().to_vec();
                return Err(ReceiveError::Unexpected { name });
            }
        };
        self.identities.push((path, identity));
        Ok(())
    }

    /// Returns the directory that `path` goes to: open still, as members are sorted.
    fn parent(&mut self, path: &RelPath) -> Result<BorrowedFd<'_>, ReceiveError> {
        while self
            .open
            .last()
            .is_some_and(|(dir, _)| !path.starts_with(dir))
        {
            self.open.pop();
        }
        match (self.open.last(), path.parent()) {
            (None, None) => Ok(self.root.as_fd()),
            (Some((dir, fd)), Some(parent)) if **dir == *parent => Ok(fd.as_fd()),
            _ => Err(ReceiveError::Unexpected {
                name: path.as_str().as_bytes().to_vec(),
            }),
        }
    }

    fn dir(&mut self, path: &RelPath) -> Result<VolumeIdentity, ReceiveError> {
        let parent = self.parent(path)?;
        let made = || {
            rustix::fs::mkdirat(parent, path.file_name(), 0o755.into())?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = rustix::fs::Mode::empty();
            let dir = rustix::fs::openat(parent, path.file_name(), flags, mode)?;
            let stat = rustix::fs::fstat(&dir)?;
            Ok::<_, rustix::io::Errno>((dir, stat))
        };
        let (dir, stat) = made().map_err(|errno| ReceiveError::write(path, errno))?;
        self.open.push((path.to_owned(), dir));
        Ok(VolumeIdentity::from(&stat))
    }

    fn file(
        &mut self,
        path: &RelPath,
        mode: Mode,
        mtime: FileTime,
        stream: &mut Stream,
    ) -> Result<VolumeIdentity, ReceiveError> {
        let failed = |error: io::Error| ReceiveError::write(path, error);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = self.parent(path)?;
        let bits = rustix::fs::Mode::from_raw_mode(mode.to_unix());
        let file = rustix::fs::openat(parent, path.file_name(), flags, bits);
        let mut file = std::fs::File::from(file.map_err(|errno| failed(errno.into()))?);
        let written = stream_input::write_body(stream, &mut file, &mut self.buffer, |_| {});
        written.map_err(|error| match error {
            BodyError::Stream(error) => error.into(),
            BodyError::Write(error) => failed(error),
        })?;
        let stat = rustix::fs::futimens(&file, &modified(mtime))
            .and_then(|()| rustix::fs::fstat(&file))
            .map_err(|errno| failed(errno.into()))?;
        Ok(VolumeIdentity::from(&stat))
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: &LinkTarget,
        mtime: FileTime,
    ) -> Result<VolumeIdentity, ReceiveError> {
        let parent = self.parent(path)?;
        let (name, nofollow) = (path.file_name(), AtFlags::SYMLINK_NOFOLLOW);
        let stat = rustix::fs::symlinkat(target.as_str(), parent, name)
            .and_then(|()| rustix::fs::utimensat(parent, name, &modified(mtime), nofollow))
            .and_then(|()| rustix::fs::statat(parent, name, nofollow))
            .map_err(|errno| ReceiveError::write(path, errno))?;
        Ok(VolumeIdentity::from(&stat))
    }
}

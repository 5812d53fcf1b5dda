//! `Host`: the seat's own stdin and stdout, in frames.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use lazaret_protocol::seat::{FrameReader, FromSeat, MAX_PAYLOAD};
use rustix::io::Errno;

/// Bytes of frames that wait for the host, before the command is read no further.
const LIMIT: usize = 256 << 10;

/// The host, which may be gone.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) frames: FrameReader,
    outbox: VecDeque<u8>,
    /// Whether the host says no more.
    pub(super) is_gone: bool,
    /// Whether the host reads no more.
    is_deaf: bool,
}

impl Host {
    /// Takes the streams over.
    pub(super) fn new() -> Self {
        for stream in [io::stdin().as_fd(), io::stdout().as_fd()] {
            // One that can't be switched is a file, and never waits.
            let _never_waits = rustix::io::ioctl_fionbio(stream, true);
        }
        Self::default()
    }

    /// Returns where the host is heard, while it is there.
    pub(super) fn input(&self) -> Option<BorrowedFd<'static>> {
        (!self.is_gone).then(rustix::stdio::stdin)
    }

    /// Returns where something is to be sent, if anything is.
    pub(super) fn output(&self) -> Option<BorrowedFd<'static>> {
        self.has_unsent().then(rustix::stdio::stdout)
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether more of the command's output may wait here. A host that is gone holds nothing up.
    pub(super) fn has_room(&self) -> bool {
        self.is_gone || self.outbox.len() < LIMIT
    }

    /// Reads what has come.
    pub(super) fn hear(&mut self) {
        let mut chunk = [0; MAX_PAYLOAD];
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk[..]) {
            Ok(0) => self.is_gone = true,
            Ok(length) => self.frames.push(chunk.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.is_gone = true,
        }
    }

    /// Queues a frame; of output that a host lets wait which is gone, nothing is kept.
    pub(super) fn say(&mut self, frame: FromSeat<'_>) {
        let is_output = matches!(frame, FromSeat::Stdout(_) | FromSeat::Stderr(_));
        if self.is_deaf || (is_output && self.outbox.len() >= LIMIT) {
            return;
        }
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes);
        self.outbox.extend(bytes);
    }

    /// Sends what the host takes without a wait.
    pub(super) fn send(&mut self) {
        while !self.outbox.is_empty() {
            let (bytes, _) = self.outbox.as_slices();
            match rustix::io::write(rustix::stdio::stdout(), bytes) {
                Ok(length) => drop(self.outbox.drain(..length)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    (self.is_gone, self.is_deaf) = (true, true);
                    self.outbox.clear();
                }
            }
        }
    }
}

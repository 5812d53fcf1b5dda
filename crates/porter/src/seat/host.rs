//! `Host`: the seat's own stdin and stdout, in frames.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use lazaret_protocol::seat::{Arrived, FrameReader, FromSeat, MAX_PAYLOAD, ToSeat, Unacknowledged};
use rustix::io::Errno;

use super::rejoin_socket::{RejoinSocket, Rejoined};

/// Bytes of frames that wait for the host, before the command is read no further.
const LIMIT: usize = 256 << 10;

/// The same for a seat that keeps them until the host has them: what a connection of 100 ms
/// carries at 10 MiB/s.
const RESUMABLE_LIMIT: usize = 1 << 20;

/// The host, which may be gone.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) frames: FrameReader,
    outbox: Unacknowledged,
    /// Whether the host says no more.
    pub(super) is_gone: bool,
    /// Whether the host reads no more.
    is_deaf: bool,
    /// Whether the last frame was said.
    is_over: bool,
    resumption: Option<Resumption>,
}

/// How another connection is had when this one is lost.
#[derive(Debug)]
struct Resumption {
    rejoin_socket: RejoinSocket,
    grace: Duration,
    arrived: Arrived,
    /// What comes first over this connection, and is not counted.
    greeting: Vec<u8>,
    /// Since when there is none.
    lost_since: Option<Instant>,
    /// Tells `porter rejoin` that this connection is used.
    _lease: Option<OwnedFd>,
}

impl Host {
    /// Takes the streams over.
    pub(super) fn new() -> Self {
        never_wait();
        Self::default()
    }

    /// Takes the streams over for a command that outlives them, once the host has said how it
    /// comes back.
    ///
    /// # Errors
    /// The host says something else first.
    pub(super) fn resumable(grace: Duration) -> io::Result<Self> {
        let nonsense = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut host = Self::default();
        let mut arrived = Arrived::default();
        let ticket = loop {
            if let Some(frame) = host.frames.next_frame().map_err(nonsense)? {
                arrived.add(frame.length());
                match ToSeat::parse(frame).map_err(nonsense)? {
                    ToSeat::Keep(ticket) => break ticket,
                    _ => return Err(io::Error::other("the host gave no ticket")),
                }
            }
            host.hear();
            if host.is_gone {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        host.resumption = Some(Resumption {
            rejoin_socket: RejoinSocket::open(ticket)?,
            grace,
            arrived,
            greeting: Vec::new(),
            lost_since: None,
            _lease: None,
        });
        never_wait();
        Ok(host)
    }

    /// Returns where the host is heard, while it is there.
    pub(super) fn input(&self) -> Option<BorrowedFd<'static>> {
        (!self.is_gone && !self.is_lost()).then(rustix::stdio::stdin)
    }

    /// Returns where something is to be sent, if anything is.
    pub(super) fn output(&self) -> Option<BorrowedFd<'static>> {
        (self.has_unsent() && !self.is_lost()).then(rustix::stdio::stdout)
    }

    /// Returns where another connection is brought.
    pub(super) fn rejoin_socket(&self) -> Option<BorrowedFd<'_>> {
        let resumption = self.resumption.as_ref()?;
        Some(resumption.rejoin_socket.input())
    }

    /// Whether something that was said is still to reach the host. One that is gone does not say
    /// that it has arrived.
    pub(super) fn lacks_something(&self) -> bool {
        match self.is_gone {
            true => self.has_unsent(),
            false => !self.outbox.is_empty(),
        }
    }

    fn has_unsent(&self) -> bool {
        let greeting = self
            .resumption
            .as_ref()
            .map(|resumption| &resumption.greeting);
        greeting.is_some_and(|greeting| !greeting.is_empty()) || !self.outbox.unsent().is_empty()
    }

    fn is_lost(&self) -> bool {
        let resumption = self.resumption.as_ref();
        resumption.is_some_and(|resumption| resumption.lost_since.is_some())
    }

    /// Whether more of the command's output may wait here. A host that is gone holds nothing up.
    pub(super) fn has_room(&self) -> bool {
        self.is_gone || self.outbox.len() < self.limit()
    }

    fn limit(&self) -> usize {
        match self.resumption {
            None => LIMIT,
            Some(_) => RESUMABLE_LIMIT,
        }
    }

    /// Returns how long the host may still stay away; `None` while it is there or gone.
    pub(super) fn patience(&self) -> Option<Duration> {
        let resumption = self.resumption.as_ref().filter(|_| !self.is_gone)?;
        let since = resumption.lost_since?;
        Some(resumption.grace.saturating_sub(since.elapsed()))
    }

    /// Gives a host up that has stayed away for too long.
    pub(super) fn give_up_if_late(&mut self) {
        if self.patience() == Some(Duration::ZERO) {
            (self.is_gone, self.is_deaf) = (true, true);
            self.outbox = Unacknowledged::default();
        }
    }

    /// Reads what has come.
    pub(super) fn hear(&mut self) {
        let mut chunk = [0; MAX_PAYLOAD];
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk[..]) {
            Ok(0) => self.lose(),
            Ok(length) => self.frames.push(chunk.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.lose(),
        }
    }

    /// The host has said a whole frame.
    pub(super) fn note_arrived(&mut self, bytes: usize) {
        if let Some(resumption) = &mut self.resumption {
            resumption.arrived.add(bytes);
            if let Some(count) = resumption.arrived.due() {
                self.say(FromSeat::Received(count));
            }
        }
    }

    /// The host has so many bytes.
    ///
    /// # Errors
    /// When so many were never sent.
    pub(super) fn acknowledge(&mut self, count: u64) -> io::Result<()> {
        let known = self.outbox.acknowledge(count);
        known.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Goes on with another connection, if the host has brought one.
    pub(super) fn rejoin(&mut self) {
        let Some(resumption) = &mut self.resumption else {
            return;
        };
        let Some(Rejoined {
            stdin,
            stdout,
            lease,
            received,
        }) = resumption.rejoin_socket.take()
        else {
            return;
        };
        // One that lacks what it has said to have is an old one.
        if self.outbox.resume(received).is_err()
            || rustix::stdio::dup2_stdin(&stdin).is_err()
            || rustix::stdio::dup2_stdout(&stdout).is_err()
        {
            return;
        }
        never_wait();
        self.frames = FrameReader::default();
        resumption.lost_since = None;
        resumption._lease = Some(lease);
        resumption.greeting.clear();
        let greeting = FromSeat::Received(resumption.arrived.tell());
        greeting.write_to(&mut resumption.greeting);
    }

    /// Queues a frame; of output that a host lets wait which is gone, nothing is kept.
    pub(super) fn say(&mut self, frame: FromSeat<'_>) {
        let is_output = matches!(frame, FromSeat::Stdout(_) | FromSeat::Stderr(_));
        let is_full = is_output && self.outbox.len() >= self.limit();
        if self.is_deaf || self.is_over || is_full {
            return;
        }
        self.is_over = matches!(frame, FromSeat::Exit(_));
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes);
        self.outbox.push(&bytes);
    }

    /// Sends what the host takes without a wait.
    pub(super) fn send(&mut self) {
        while !self.is_lost() {
            let greeting = self
                .resumption
                .as_mut()
                .map(|resumption| &mut resumption.greeting);
            let greeting = greeting.filter(|greeting| !greeting.is_empty());
            let bytes = match &greeting {
                Some(greeting) => greeting.as_slice(),
                None => self.outbox.unsent(),
            };
            if bytes.is_empty() {
                return;
            }
            match rustix::io::write(rustix::stdio::stdout(), bytes) {
                Ok(length) => match greeting {
                    Some(greeting) => drop(greeting.drain(..length)),
                    None => self.mark_sent(length),
                },
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.lose_output(),
            }
        }
    }

    fn mark_sent(&mut self, bytes: usize) {
        self.outbox.mark_sent(bytes);
        if self.resumption.is_none() {
            self.outbox.forget_sent();
        }
    }

    /// This connection carries nothing to the host any more.
    fn lose_output(&mut self) {
        if self.resumption.is_none() {
            self.is_deaf = true;
            self.outbox = Unacknowledged::default();
        }
        self.lose();
    }

    /// This connection is lost, and with it the host that can't have another one.
    fn lose(&mut self) {
        match &mut self.resumption {
            Some(resumption) => {
                resumption.lost_since.get_or_insert_with(Instant::now);
                // The engine ends what it carries.
                resumption._lease = None;
            }
            None => self.is_gone = true,
        }
    }
}

/// Lets no call on the streams wait.
fn never_wait() {
    for stream in [io::stdin().as_fd(), io::stdout().as_fd()] {
        // One that can't be switched is a file, and never waits.
        let _never_waits = rustix::io::ioctl_fionbio(stream, true);
    }
}

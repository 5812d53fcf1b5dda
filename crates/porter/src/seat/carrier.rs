//! `Carrier`: moves frames and bytes between host and command, and waits for neither.
//!
//! Each side has a bounded buffer. While the one for the host is full, the command's output is
//! read no further; what the host sends is bounded by its window.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use lazaret_protocol::WhenAbandoned;
use lazaret_protocol::seat::{FromSeat, MAX_PAYLOAD, ToSeat, WINDOW};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};

use super::child::{self, Child, Source};
use super::host::Host;
use super::let_go::LetGo;
use crate::processes::signal_session;

/// How often to look for the command where nothing tells of it.
const TICK: Duration = Duration::from_millis(50);

/// How long the command's last words may wait for a host that is gone.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long a seat whose end ends the connection stays for the host, once everything is said.
const LINGER: Duration = Duration::from_secs(60);

/// So much of the window is given back at once, in bytes.
const CREDIT: usize = WINDOW / 4;

/// A command, its host, and what is on its way between them.
pub(super) struct Carrier {
    child: Child,
    /// Tells that the command has ended; `None` on a kernel that has no such thing.
    pidfd: Option<OwnedFd>,
    host: Host,
    inbox: Inbox,
    /// What may still be read of each output, in bytes; `None` while the command runs.
    left: Vec<Option<usize>>,
    when_abandoned: WhenAbandoned,
    let_go: Option<LetGo>,
    code: Option<u8>,
    linger: Linger,
}

/// When a seat ends whose command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linger {
    /// Once the exit code is sent.
    No,
    /// Once the host is gone, or [`LINGER`] later. The end of a seat ends its connection at
    /// once, and a client of Kubernetes that sends something meanwhile reads no more of it.
    UntilHostCloses,
}

/// What the command is still to read.
#[derive(Debug, Default)]
struct Inbox {
    bytes: VecDeque<u8>,
    /// Whether the input ends after them.
    is_last: bool,
    /// Bytes that are not in the host's window.
    owed: usize,
}

/// What is to be done now.
#[derive(Debug, Default)]
struct Ready {
    hear: bool,
    feed: bool,
    rejoin: bool,
    read: bool,
}

impl Carrier {
    pub(super) fn new(
        child: Child,
        host: Host,
        when_abandoned: WhenAbandoned,
        linger: Linger,
    ) -> io::Result<Self> {
        Ok(Self {
            pidfd: pidfd_open(child.pid, PidfdFlags::empty()).ok(),
            left: child.outputs.iter().map(|_| None).collect(),
            child,
            host,
            inbox: Inbox::default(),
            when_abandoned,
            let_go: None,
            code: None,
            linger,
        })
    }

    /// Carries until the command has ended and the host knows, and returns its exit code.
    ///
    /// # Errors
    /// When the host says something else than frames; the command is ended then.
    pub(super) fn run(mut self) -> io::Result<u8> {
        let mut refused = None;
        let mut give_up = None;
        let mut leave_at = None;
        let mut has_said_exit = false;
        let mut ready = Ready::default();
        loop {
            if let Err(error) = self.obey() {
                self.host.is_gone = true;
                refused.get_or_insert(error);
            }
            self.feed(ready.feed);
            if self.code.is_none() {
                self.code = self.child.code()?;
            }
            if ready.read || self.code.is_some() {
                self.read_outputs();
            }
            if self.host.is_gone && self.when_abandoned == WhenAbandoned::End {
                let leader = self.child.pid;
                self.let_go.get_or_insert_with(|| LetGo::new(leader));
            }
            let is_ending = self.let_go.as_mut().is_some_and(LetGo::go_on);
            if let Some(code) = self.code
                && self.child.outputs.is_empty()
                && !has_said_exit
            {
                has_said_exit = true;
                self.host.say(FromSeat::Exit(code));
            }
            self.host.send();
            if let Some(code) = self.code.filter(|_| has_said_exit) {
                let waited = self.host.is_gone.then(|| {
                    *give_up.get_or_insert_with(|| Instant::now() + LAST_WORDS) <= Instant::now()
                });
                let is_heard = !self.host.lacks_something() || waited == Some(true);
                if is_heard && !is_ending && self.may_leave(&mut leave_at) {
                    return refused.map_or(Ok(code), Err);
                }
            }
            ready = self.wait()?;
            if ready.rejoin {
                self.host.rejoin();
            }
            self.host.give_up_if_late();
            if ready.hear {
                self.host.hear();
            }
        }
    }

    /// Whether the seat may end, now that everything is said.
    fn may_leave(&self, leave_at: &mut Option<Instant>) -> bool {
        match self.linger {
            Linger::No => true,
            Linger::UntilHostCloses => {
                let leave_at = leave_at.get_or_insert_with(|| Instant::now() + LINGER);
                self.host.is_gone || *leave_at <= Instant::now()
            }
        }
    }

    /// Waits until something can be done.
    fn wait(&self) -> io::Result<Ready> {
        let has_room = self.host.has_room();
        let mut polled = Vec::new();
        let mut places = [None; 5];
        let mut add = |place: usize, fd, flags| {
            places[place] = Some(polled.len());
            polled.push(PollFd::from_borrowed_fd(fd, flags));
        };
        if let Some(input) = self.host.input() {
            add(0, input, PollFlags::IN);
        }
        if let Some(output) = self.host.output() {
            add(1, output, PollFlags::OUT);
        }
        if let Some(stdin) = &self.child.stdin
            && !self.inbox.bytes.is_empty()
        {
            add(2, stdin.as_fd(), PollFlags::OUT);
        }
        if let Some(pidfd) = self.pidfd.as_ref().filter(|_| self.code.is_none()) {
            add(3, pidfd.as_fd(), PollFlags::IN);
        }
        if let Some(socket) = self.host.rejoin_socket() {
            add(4, socket, PollFlags::IN);
        }
        let first_output = polled.len();
        if has_room {
            let outputs = self.child.outputs.iter();
            polled.extend(outputs.map(|(_, file)| PollFd::new(file, PollFlags::IN)));
        }
        let is_waiting =
            (self.host.is_gone || self.linger == Linger::UntilHostCloses) && self.code.is_some();
        let needs_tick = self.pidfd.is_none() || self.let_go.is_some() || is_waiting;
        let limit = match needs_tick {
            true => Some(TICK),
            false => self.host.patience(),
        };
        let limit = limit.map(Timespec::try_from).transpose();
        let limit = limit.map_err(io::Error::other)?;
        match poll(&mut polled, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |index: usize| {
            let found = polled.get(index);
            found.is_some_and(|polled| !polled.revents().is_empty())
        };
        let at = |place: usize| places[place].is_some_and(is_ready);
        Ok(Ready {
            hear: at(0),
            feed: at(2),
            rejoin: at(4),
            read: (first_output..polled.len()).any(is_ready),
        })
    }

    /// Does what the host has said.
    fn obey(&mut self) -> io::Result<()> {
        let nonsense = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        while let Some(frame) = self.host.frames.next_frame().map_err(nonsense)? {
            let length = frame.length();
            match ToSeat::parse(frame).map_err(nonsense)? {
                ToSeat::Data(bytes) => {
                    self.inbox.owed += bytes.len();
                    if self.inbox.owed > WINDOW || self.inbox.is_last {
                        return Err(io::Error::other("more data than was asked for"));
                    }
                    self.inbox.bytes.extend(bytes);
                }
                ToSeat::Eof => self.inbox.is_last = true,
                ToSeat::Resize(size) => {
                    if let Some(terminal) = self.child.terminal() {
                        // One that is gone needs no size.
                        let _gone = child::resize(terminal, size);
                    }
                }
                ToSeat::Signal(signal) => {
                    let leader = self.child.pid.as_raw_nonzero().get();
                    signal_session(leader, signal.into());
                }
                ToSeat::Hangup => self.host.is_gone = true,
                ToSeat::Keep(_) => return Err(io::Error::other("a second ticket")),
                ToSeat::Received(count) => self.host.acknowledge(count)?,
            }
            self.host.note_arrived(length);
        }
        Ok(())
    }

    /// Passes input on, and gives the host its window back.
    fn feed(&mut self, is_ready: bool) {
        if let Some(stdin) = &mut self.child.stdin {
            let inbox = &mut self.inbox;
            if is_ready && !inbox.feed(stdin) {
                self.child.stdin = None;
            } else if inbox.bytes.is_empty() && inbox.is_last {
                if let Some(end) = self.child.terminal().and_then(child::end_of_file) {
                    // A terminal that takes no more has input to end already.
                    let _full = self.child.terminal().map(|mut to| to.write_all(&[end]));
                }
                self.child.stdin = None;
            }
        }
        if self.child.stdin.is_none() {
            // The command reads no more; the host may go on.
            self.inbox.bytes.clear();
        }
        let owed = self.inbox.owed - self.inbox.bytes.len();
        if owed >= CREDIT || (owed > 0 && self.inbox.bytes.is_empty()) {
            self.inbox.owed -= owed;
            self.host
                .say(FromSeat::Credit(u32::try_from(owed).unwrap_or(u32::MAX)));
        }
    }

    /// Reads what the command has written, as far as the host takes it.
    fn read_outputs(&mut self) {
        let mut chunk = vec![0; MAX_PAYLOAD];
        let mut index = 0;
        while index < self.child.outputs.len() {
            let has_ended = self.code.is_some();
            let (Some((source, file)), Some(left)) =
                (self.child.outputs.get_mut(index), self.left.get_mut(index))
            else {
                return;
            };
            if has_ended {
                // What it wrote, it wrote before it ended. Others may have its streams for longer.
                left.get_or_insert_with(|| child::capacity(*source, file));
            }
            match read(&mut self.host, *source, file, &mut chunk, left) {
                true => index += 1,
                false => {
                    self.child.outputs.swap_remove(index);
                    self.left.swap_remove(index);
                }
            }
        }
    }
}

impl Inbox {
    /// Writes what the command takes without a wait. Returns false if it reads no more.
    fn feed(&mut self, stdin: &mut File) -> bool {
        while !self.bytes.is_empty() {
            let (bytes, _) = self.bytes.as_slices();
            match stdin.write(bytes) {
                Ok(length) => drop(self.bytes.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

/// Reads an output while it has something and the host has room. Returns false at its end.
fn read(
    host: &mut Host,
    source: Source,
    file: &mut File,
    chunk: &mut [u8],
    left: &mut Option<usize>,
) -> bool {
    while host.has_room() {
        let most = left.map_or(chunk.len(), |left| left.min(chunk.len()));
        if most == 0 {
            return false;
        }
        match file.read(chunk.get_mut(..most).unwrap_or_default()) {
            Ok(0) => return false,
            Ok(length) => {
                if let Some(left) = left {
                    *left -= length;
                }
                let bytes = chunk.get(..length).unwrap_or_default();
                host.say(match source {
                    Source::Stdout | Source::Terminal => FromSeat::Stdout(bytes),
                    Source::Stderr => FromSeat::Stderr(bytes),
                });
                if left.is_none() {
                    // The other streams have their turn.
                    return true;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // With the command gone, nothing of its own comes any more.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return left.is_none(),
            // A terminal that no process has open (EIO).
            Err(_) => return false,
        }
    }
    true
}

//! `Pump`: carries the bytes of all tunnels after their judgement.
//!
//! A few threads, each with an epoll of its own, so that a thousand idle tunnels cost
//! nothing while one is busy: with poll(2) every wakeup looked at all of them, and 500
//! idle ones slowed a download to 170 MB/s. Nothing is kept for a tunnel but what its
//! slower side has not taken yet, and as long as that is so, its faster side isn't read.

mod line;
mod tunnel;
mod worker;

use std::fmt;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use lazaret_egress::{Denied, EntryPoint, HostPort, Policy};

use worker::{Command, Worker};

/// Looks at the bytes of one direction before they are passed on.
pub trait Filter: Send {
    /// Takes all of `input` and appends to `output` what may be passed on.
    ///
    /// # Errors
    ///
    /// The tunnel is closed, and nothing of this `input` is passed on.
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Then, Denied>;
}

/// What becomes of the bytes after those that a filter has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The filter sees them as well.
    Filter,
    /// They are passed on as they are.
    Raw,
    /// They are not read: this direction has had all that it may have.
    Deaf,
}

/// A filter, or none.
pub type Watch = Option<Box<dyn Filter>>;

/// One side of a tunnel.
#[derive(Debug)]
pub enum End {
    /// A unix socket.
    Unix(UnixStream),
    /// A TCP connection.
    Tcp(TcpStream),
}

impl End {
    fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => {
                // What comes is passed on at once; waiting for more is the sender's business.
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)
            }
        }
    }

    fn end_writing(&self) {
        // It may be closed already: then there is nobody to tell.
        let _told = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// What a tunnel was allowed for, to judge it again when the policy changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// By which door it came.
    pub via: EntryPoint,
    /// What it asked for.
    pub target: HostPort,
    /// Where it leads.
    pub address: IpAddr,
}

/// How a tunnel ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Bytes that the client sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
    /// How long it was open.
    pub lasted: Duration,
    /// The cap or judgement that ended it, when it was not an end of its own.
    pub reason: Option<Denied>,
}

/// Two connections that belong together.
pub struct Tunnel {
    /// Who asked for it.
    pub client: End,
    /// Where it leads.
    pub server: End,
    /// What the client has sent already.
    pub first: Vec<u8>,
    /// Looks at what the client sends, [`Tunnel::first`] included.
    pub sent: Watch,
    /// Looks at what the server sends.
    pub received: Watch,
    /// What the client is told when its greeting closes the tunnel.
    pub farewell: &'static [u8],
    /// What it was allowed for; `None` when it is not judged again.
    pub label: Option<Label>,
    /// Called once when it is over, by a thread of the pump.
    pub ended: Box<dyn FnOnce(Ended) + Send>,
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel")
            .field("client", &self.client)
            .field("server", &self.server)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// How much all tunnels together may carry, and how long one may carry nothing.
#[derive(Debug)]
pub struct Budget {
    /// The longest time without a byte in either direction.
    pub idle: Duration,
    /// Bytes that clients may still send.
    pub sent: AtomicU64,
    /// Bytes that they may still receive.
    pub received: AtomicU64,
}

impl Budget {
    /// No limit at all: somebody else has one.
    pub fn unlimited() -> Self {
        Self {
            idle: Duration::MAX,
            sent: AtomicU64::new(u64::MAX),
            received: AtomicU64::new(u64::MAX),
        }
    }

    /// Takes some of what is left.
    ///
    /// # Errors
    ///
    /// [`Denied::Bytes`] when that is less; then nothing is left for anybody.
    pub fn take(left: &AtomicU64, count: usize) -> Result<(), Denied> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(count)
        });
        match taken {
            Ok(_) => Ok(()),
            Err(_) => {
                left.store(0, Ordering::Relaxed);
                Err(Denied::Bytes)
            }
        }
    }
}

/// The threads that carry.
#[derive(Debug)]
pub struct Pump {
    workers: Vec<Arc<Worker>>,
    next: AtomicUsize,
}

impl Pump {
    /// Starts `threads` threads.
    ///
    /// # Errors
    ///
    /// When there is no descriptor or no thread to be had.
    pub fn start(threads: usize, budget: Arc<Budget>) -> io::Result<Self> {
        let mut pump = Self {
            workers: Vec::new(),
            next: AtomicUsize::new(0),
        };
        for number in 0..threads {
            let worker = Arc::new(Worker::new(Arc::clone(&budget))?);
            pump.workers.push(Arc::clone(&worker));
            let thread = std::thread::Builder::new().name(format!("pump-{number}"));
            thread.spawn(move || worker.run())?;
        }
        Ok(pump)
    }

    /// Hands a tunnel over.
    pub fn add(&self, tunnel: Tunnel) {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.workers[next % self.workers.len()].tell(Command::Add(tunnel));
    }

    /// Closes every tunnel, and those that are still handed over.
    pub fn stop(&self) {
        for worker in &self.workers {
            worker.tell(Command::Stop);
        }
    }

    /// Closes every tunnel that a policy would not allow any more.
    pub fn judge_again(&self, policy: &Policy) {
        let policy = Arc::new(policy.clone());
        for worker in &self.workers {
            worker.tell(Command::Judge(Arc::clone(&policy)));
        }
    }
}

/// Closes every tunnel, those that are still handed over too.
impl Drop for Pump {
    fn drop(&mut self) {
        self.stop();
    }
}
